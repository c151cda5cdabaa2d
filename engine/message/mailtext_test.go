package message_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/request"
	"holdfast/store"
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

// TestEmailSaysHowToReachClinic: an email to a patient ends with the clinic's number or, without one, offers a reply to
// the clinic's address. An email to the clinic has neither.
func TestEmailSaysHowToReachClinic(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ phone, email, want string }{
		{"030 12345", "desk@clinic.example", "Questions? Call 030 12345."},
		{"", "desk@clinic.example", "Questions? Reply to this email."},
		{"", "", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, folder := enginetest.NoticeClinic(t)
			if _, err := c.Clinic.UpdateClinic(t.Context(), "system", func(to *store.Clinic) {
				to.Phone, to.Email = x.phone, x.email
			}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Clinic.UpdateAppointmentType(t.Context(), "system", "surgery",
				func(t *store.AppointmentType) { t.Page.Approval = true }); err != nil {
				t.Fatal(err)
			}
			r := enginetest.BookingOf(1, "checkup")
			r.SlotStart = c.Start
			one := c.MustBook(r)
			visit := c.MustVisit(enginetest.Family(c.Start.Add(time.Hour), "checkup", "checkup"))
			r = enginetest.BookingOf(2, "surgery")
			r.SlotStart = c.Start.Add(4 * time.Hour)
			asked, err := c.Request.Book(t.Context(), r, request.Visitor{Unlimited: true})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			preview, err := c.Message.PreviewMail("reminder", "en", clinic.MailText{})
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"one": c.Mails(folder, one.ID)["confirmation"],
				"several": c.Mails(folder, visit[0].ID)["series_confirmation"], "preview": preview.Text} {
				if text == "" || !strings.Contains(text, x.want) ||
					x.want == "" && strings.Contains(text, "Questions?") {
					t.Errorf("%s: the email does not contain %q:\n%s", name, x.want, text)
				}
			}
			if text := c.Mails(folder, asked.Request.ID)["staff_request"]; strings.Contains(text, "Questions?") ||
				(text == "") != (x.email == "") {
				t.Errorf("the email to the clinic is %q", text)
			}
		})
	}
}
