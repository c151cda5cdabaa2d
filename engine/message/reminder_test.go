package message_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/notice/noticetest"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// The desk enters an email address and the consent to text messages after the booking. The patient is reminded like one
// who gave both while booking, and once, even if the consent is withdrawn and given again.
func TestLaterContactIsReminded(t *testing.T) {
	t.Parallel()
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c, ctx := smsClinic(t, fake), context.Background()
		if _, err := c.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) { s.ReminderHours = 24 }); err != nil {
			t.Fatal(err)
		}
		r := texting(c)
		r.Patient.Email, r.Said.SMS = "", false
		a := c.MustBook(r)
		for _, agrees := range []bool{true, false, true} {
			if _, err := c.Booking.ChangePatient(ctx, booking.PatientRequest{
				ID: a.ID, Actor: "user:1", SMS: &agrees, Edit: func(p *store.Patient) { p.Email = "lena@example.org" },
			}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Until(c.Start))
		reminders := 0
		for _, m := range fake.Texts() {
			if strings.Contains(m.Text, "reminder") {
				reminders++
			}
		}
		if reminders != 2 {
			t.Errorf("the gateway received %d reminders, want one 48 hours and one 2 hours before the start", reminders)
		}
		list, err := c.Record.Deliveries(ctx, a.ID)
		if err != nil {
			t.Fatal(err)
		}
		emails := 0
		for _, d := range list {
			if d.Channel == "email" && d.Notice == "reminder" && d.State == outbound.DeliveryDelivered {
				emails++
			}
		}
		if emails != 1 {
			t.Errorf("%d reminders were sent by email, want 1: %+v", emails, list)
		}
	})
}
