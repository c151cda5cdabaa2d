package agent

import (
	"strings"
	"testing"

	"holdfast/engine/words"
)

// TestGuidanceHasSentences checks every outcome in every language: a sentence exists, its only placeholder is the date,
// and it makes no false promises.
func TestGuidanceHasSentences(t *testing.T) {
	all := words.Embedded()
	for _, of := range []string{
		sayPatient, saySlots, sayNoSlots, sayQueued, sayRejected, sayTaken, sayNoPatient, sayNotAccepted,
		sayOfferLapsed, sayInvalid, sayPatientOpen, sayUnreachable, sayStillQueued, sayFailed, sayReview, sayCancelled,
		sayNoOperation, sayPatientRefused, sayKey, sayBusy, sayOpen, sayAskBirthDate, sayAskPhone, sayAskEmail,
		sayAskPerson, sayNoMatch,
	} {
		if g := guidances(of); g.Action == "" && g.Critical == "" {
			t.Errorf("%s: no instruction", of)
		}
		for _, lang := range all.Tags() {
			say := all.Find(lang).Text("agent." + of)
			if say == "" {
				t.Errorf("%s in %s: nothing to say", of, lang)
			}
			if strings.Contains(strings.ReplaceAll(say, "{date}", ""), "{") {
				t.Errorf("%s in %s: the text has a placeholder other than the date: %q", of, lang, say)
			}
		}
		says := strings.ToLower(all.Find("en").Text("agent." + of))
		if strings.Contains(says, "confirmed") && !strings.Contains(says, "not yet confirmed") &&
			!strings.Contains(says, "whether it is confirmed") {
			t.Errorf("%s: the text promises a confirmation: %q", of, says)
		}
	}
}

func TestNotes(t *testing.T) {
	for _, test := range []struct{ child, note, want string }{
		{"Mia Roe", "", "Child: Mia Roe"},
		{" Mia  Roe ", "DOB: 02/03/2015", "Child: Mia Roe | DOB: 02/03/2015"},
		{"Mia Roe", "Child: Mia Roe | DOB: 02/03/2015", "Child: Mia Roe | DOB: 02/03/2015"},
		{"", "child: Ben", "child: Ben"},
		{"", "rings twice", "rings twice"},
		{"", "", ""},
	} {
		if got := composeNote(test.child, test.note); got != test.want {
			t.Errorf("%q with %q: got %q, want %q", test.child, test.note, got, test.want)
		}
	}
}
