package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/clinic"
)

// TestEmailUsesClinicTexts: emails have the clinic's texts in the patient's language with the placeholders filled in.
// The details and the link stay.
func TestEmailUsesClinicTexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, folder := noticeClinic(t)
		ctx := context.Background()
		_, err := c.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) {
			s.MailTexts = clinic.MailTexts{"confirmation": {"de": {Subject: "Bis {day}, {what}", Text: "Wir freuen uns.\n\nEs bleibt bei {when} mit {who}."}}}
		})
		if err != nil {
			t.Fatal(err)
		}
		r := bookingOf(1, "checkup")
		r.SlotStart, r.Locale = c.start, "de"
		german := c.mustBook(r)
		r = bookingOf(2, "checkup")
		r.SlotStart, r.Locale = c.start.Add(time.Hour), "es"
		spanish := c.mustBook(r)
		time.Sleep(time.Minute)
		text := c.mails(folder, german.ID)["confirmation"]
		for _, want := range []string{"Wir freuen uns.", "Es bleibt bei ", "Ändern oder absagen: https://book.example.org/manage#"} {
			if !strings.Contains(text, want) {
				t.Errorf("the German mail has no %q:\n%s", want, text)
			}
		}
		if strings.Contains(text, "Ihr Termin ist gebucht") || strings.Contains(text, "{") && strings.Contains(text, "{when}") {
			t.Errorf("the German mail says\n%s", text)
		}
		if text := c.mails(folder, spanish.ID)["confirmation"]; !strings.Contains(text, "Su cita está reservada") {
			t.Errorf("the Spanish mail says\n%s", text)
		}
	})
}
