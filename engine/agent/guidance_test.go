package agent

import (
	"strings"
	"testing"
	"time"
)

func TestSpoken(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for local, want := range map[string]string{
		"2026-11-23 10:00": "Monday, November 23rd at 10 AM",
		"2026-11-01 09:30": "Sunday, November 1st at 9:30 AM",
		"2026-11-02 12:00": "Monday, November 2nd at 12 PM",
		"2026-11-11 00:05": "Wednesday, November 11th at 12:05 AM",
		"2026-11-12 23:59": "Thursday, November 12th at 11:59 PM",
		"2026-11-13 13:00": "Friday, November 13th at 1 PM",
		"2026-12-21 08:00": "Monday, December 21st at 8 AM",
		"2026-12-22 08:00": "Tuesday, December 22nd at 8 AM",
		"2026-12-31 08:00": "Thursday, December 31st at 8 AM",
	} {
		at, err := time.ParseInLocation("2006-01-02 15:04", local, zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := spoken(at.UTC(), zone); got != want {
			t.Errorf("%s: got %q, want %q", local, got, want)
		}
	}
}

// Guidance has something to say for every outcome, fills in nothing but the date, and never promises what is not so.
func TestGuidance(t *testing.T) {
	for _, of := range []string{
		sayPatient, saySlots, sayNoSlots, sayConfirmed, sayQueued, sayRejected, sayTaken, sayNoPatient, sayNotAccepted, sayOfferLapsed, sayInvalid,
		sayPatientOpen, sayUnreachable, sayStillQueued, sayFailed, sayReview, sayCancelled, sayNoOperation, sayPatientRefused, sayKey, sayBusy, sayOpen,
		sayAskBirthDate, sayAskPhone, sayAskEmail, sayAskPerson, sayNoMatch,
	} {
		g := guidances(of)
		for _, lang := range []string{"de", "es"} {
			if say := Voices[lang][of]; say == "" && of != sayConfirmed || strings.Contains(say, theDate) != strings.Contains(g.VoiceResponse, theDate) && of != sayConfirmed {
				t.Errorf("%s in %s: %q for %q", of, lang, say, g.VoiceResponse)
			}
		}
		if g.VoiceResponse == "" {
			t.Errorf("%s: nothing to say", of)
		}
		if strings.Contains(strings.ReplaceAll(g.VoiceResponse, theDate, ""), "{") {
			t.Errorf("%s: something else than the date is filled in: %q", of, g.VoiceResponse)
		}
		if says := strings.ToLower(g.VoiceResponse); of != sayConfirmed && strings.Contains(says, "confirmed") && !strings.Contains(says, "not yet confirmed") && !strings.Contains(says, "whether it is confirmed") {
			t.Errorf("%s: promises a confirmation: %q", of, g.VoiceResponse)
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
