package engine_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/agent"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/words/wordstest"
	"holdfast/store"
)

// figures matches English ordinal numbers and times. The invented language derives its own forms from them.
var figures = regexp.MustCompile(`\d+(st|nd|rd|th)|\b(AM|PM)\b`)

// TestNewLanguageReachesEveryText adds an invented language, which requires one folder and one registration. Emails and
// agent texts must then contain no word of any other language.
func TestNewLanguageReachesEveryText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		catalog := wordstest.Catalog(t, os.DirFS("words"))
		c, folder := enginetest.NoticeClinic(t, func(o *engine.Options) { o.Words = catalog })
		ctx := context.Background()
		if _, err := c.Clinic.UpdateClinic(ctx, "system", func(x *store.Clinic) {
			x.Locale, x.Phone = wordstest.Pseudo, "555"
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Message.PreviewMail("confirmation", wordstest.Pseudo, clinic.MailText{}); err != nil {
			t.Errorf("the clinic's own text in the new language: %v", err)
		}
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart, r.Locale, r.Patient.Name = c.Start, wordstest.Pseudo, "Jo Doe"
		a := c.MustBook(r)
		time.Sleep(time.Minute)
		known := []string{"Jo Doe", c.Clinic.Schedule().Clinic.Name, "UTC"}
		for _, x := range c.Clinic.Current().AppointmentTypes {
			known = append(known, x.Name)
		}
		for _, x := range c.Clinic.Current().Specialists {
			known = append(known, x.Name)
		}
		mails := c.Mails(folder, a.ID)
		if len(mails) == 0 {
			t.Fatal("no email was written")
		}
		for name, raw := range mails {
			_, text, _ := strings.Cut(strings.ReplaceAll(raw, "\r", ""), "text/plain")
			_, text, _ = strings.Cut(text, "\n\n")
			text, _, _ = strings.Cut(text, "\n--")
			text = regexp.MustCompile(`https?://\S+`).ReplaceAllString(text, "")
			if !strings.Contains(text, catalog.Find(wordstest.Pseudo).Day(a.SlotStart.UTC())) {
				t.Errorf("%s has no date in the language:\n%s", name, text)
			}
			if found := wordstest.Untranslated(text, known...); len(found) > 0 {
				t.Errorf("%s has untranslated words %q:\n%s", name, found, text)
			}
		}
		says := []string{c.Agent.StateSentence(&a), c.Agent.MovedSentence(&a), c.Agent.Spoken(a.SlotStart)}
		for _, state := range []store.UpstreamState{store.UpstreamPending, store.UpstreamFailed, store.UpstreamReview} {
			x := a
			x.UpstreamState = state
			says = append(says, c.Agent.StateSentence(&x))
		}
		for _, p := range []agent.Problem{agent.ProblemRequest, agent.ProblemKey, agent.ProblemBusy,
			agent.ProblemUnreachable, agent.ProblemOpen, agent.ProblemNoOperation} {
			says = append(says, c.Agent.ProblemGuidance(p).VoiceResponse)
		}
		for _, text := range says {
			if found := wordstest.Untranslated(figures.ReplaceAllString(text, ""), known...); text == "" ||
				len(found) > 0 {
				t.Errorf("the guidance %q has untranslated words %q", text, found)
			}
		}
	})
}
