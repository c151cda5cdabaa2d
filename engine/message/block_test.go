package message_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/record"
	"holdfast/store"
)

func TestBlockNotifiesPatient(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start
		a := c.MustBook(r)
		r = enginetest.BookingOf(2, "checkup")
		r.SlotStart, r.Patient.Email, r.Patient.Phone = c.Start.Add(time.Hour), "", "030 12345"
		b := c.MustBook(r)
		if err := c.Message.AskToMove(t.Context(), a.ID, "user:jo", nil); err != nil {
			t.Fatal(err)
		}
		if err := c.Message.AskToMove(t.Context(), b.ID, "user:jo", nil); !errors.Is(err, message.ErrNoMail) {
			t.Errorf("a patient without an address: %v", err)
		}
		time.Sleep(3 * time.Second)
		text := c.Mails(folder, a.ID)["must_move"]
		if !strings.Contains(text, "cannot take place as planned") ||
			!strings.Contains(text, "manage#"+c.Booking.ManageToken(&a)) {
			t.Errorf("the mail is %q", text)
		}
		if _, err := c.Clinic.UpdateSettings(t.Context(), "system", func(s *clinic.Settings) {
			s.ChangeCutoffHours = 24 * 60
		}); err != nil {
			t.Fatal(err)
		}
		r = enginetest.BookingOf(3, "checkup")
		r.SlotStart, r.Patient.Phone = c.Start.Add(2*time.Hour), "030 12346"
		late := c.MustBook(r)
		if err := c.Message.AskToMove(t.Context(), late.ID, "user:jo", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if text := c.Mails(folder, late.ID)["must_move"]; !strings.Contains(text,
			"We will call you to find another time") || strings.Contains(text, "manage#") {
			t.Errorf("where the link does not allow changes, the email is %q", text)
		}
		if told, err := c.Message.Told(t.Context(), []store.Appointment{a, b}); err != nil || !told[a.ID] ||
			told[b.ID] {
			t.Errorf("notified: %v, %v", told, err)
		}
		if now, _ := c.Booking.Appointment(t.Context(), a.ID); now.Version != a.Version {
			t.Error("the notification changed the appointment")
		}
		if _, err := c.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID, Actor: "user:jo"}); err != nil {
			t.Fatal(err)
		}
		if err := c.Message.AskToMove(t.Context(), a.ID, "user:jo", nil); !errors.Is(err, record.ErrNotConfirmed) {
			t.Errorf("a cancelled one: %v", err)
		}
	})
}
