package message_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
)

// TestEmailUsesClinicTexts: emails use the clinic's texts in the patient's language, with the placeholders filled in.
// The details and the link are preserved.
func TestEmailUsesClinicTexts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		ctx := context.Background()
		_, err := c.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) {
			s.MailTexts = clinic.MailTexts{"confirmation": {"de": {Subject: "Bis {day}, {what}",
				Text: "Wir freuen uns.\n\nEs bleibt bei {when} mit {who}."}}}
		})
		if err != nil {
			t.Fatal(err)
		}
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart, r.Locale = c.Start, "de"
		german := c.MustBook(r)
		r = enginetest.BookingOf(2, "checkup")
		r.SlotStart, r.Locale = c.Start.Add(time.Hour), "es"
		spanish := c.MustBook(r)
		time.Sleep(time.Minute)
		text := c.Mails(folder, german.ID)["confirmation"]
		for _, want := range []string{"Wir freuen uns.", "Es bleibt bei ",
			"Ändern oder absagen: https://book.example.org/manage#"} {
			if !strings.Contains(text, want) {
				t.Errorf("the German email misses %q:\n%s", want, text)
			}
		}
		if strings.Contains(text, "Ihr Termin ist gebucht") || strings.Contains(text, "{") &&
			strings.Contains(text, "{when}") {
			t.Errorf("the German email is\n%s", text)
		}
		if text := c.Mails(folder, spanish.ID)["confirmation"]; !strings.Contains(text, "Su cita está reservada") {
			t.Errorf("the Spanish email is\n%s", text)
		}
	})
}
