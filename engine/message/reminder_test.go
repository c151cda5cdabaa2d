package message_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine"
	"holdfast/engine/absence"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/notice"
	"holdfast/engine/notice/noticetest"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// reminding is like smsClinic, with an email reminder 24 hours before the start in addition to the text message
// reminders.
func reminding(t *testing.T, fake *noticetest.Gateway, change ...func(*engine.Options)) *enginetest.TestClinic {
	t.Helper()
	c := smsClinic(t, fake, change...)
	_, err := c.Clinic.UpdateSettings(context.Background(), "system", func(s *clinic.Settings) { s.ReminderHours = 24 })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wantEachReminderOnce waits for the start of the clinic's first appointment and checks its reminders.
func wantEachReminderOnce(c *enginetest.TestClinic, fake *noticetest.Gateway, appointmentID string) {
	c.T.Helper()
	time.Sleep(time.Until(c.Start))
	texts := 0
	for _, m := range fake.Texts() {
		if strings.Contains(m.Text, "reminder") {
			texts++
		}
	}
	if texts != 2 {
		c.T.Errorf("the gateway received %d reminders, want one 48 hours and one 2 hours before the start", texts)
	}
	list, err := c.Record.Deliveries(context.Background(), appointmentID)
	if err != nil {
		c.T.Fatal(err)
	}
	emails := 0
	for _, d := range list {
		if d.Channel == "email" && d.Notice == "reminder" && d.State == outbound.DeliveryDelivered {
			emails++
		}
	}
	if emails != 1 {
		c.T.Errorf("%d reminders were sent by email, want 1: %+v", emails, list)
	}
}

// TestReminderIsSentOnceAfterMoveBack: an appointment that was moved away and back has two reminders for the same time
// in the queue. Only one of them is sent.
func TestReminderIsSentOnceAfterMoveBack(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c, ctx := reminding(t, fake), context.Background()
		a := c.MustBook(texting(c))
		for _, start := range []time.Time{c.Start.Add(time.Hour), c.Start} {
			r := booking.RescheduleRequest{ID: a.ID, SlotStart: start, Actor: "manage"}
			if _, err := c.Booking.Reschedule(ctx, r); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		wantEachReminderOnce(c, fake, a.ID)
	})
}

// TestLaterContactIsReminded: the desk enters an email address and the consent to text messages after the booking. The
// patient gets the same reminders as a patient who provided both when booking, and each only once, even if the consent
// is withdrawn and given again.
func TestLaterContactIsReminded(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c, ctx := reminding(t, fake), context.Background()
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
		wantEachReminderOnce(c, fake, a.ID)
	})
}

// TestVisitIsRemindedWithoutDisplacedAppointment: an absence displaces the first appointment of a group visit. The
// server sends the reminder for the second one, because no reminder for the first one covers it.
func TestVisitIsRemindedWithoutDisplacedAppointment(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c, ctx := reminding(t, fake), context.Background()
		visit := c.MustVisit(enginetest.Family(c.Start, "checkup", "checkup"))
		time.Sleep(time.Minute)
		if _, err := c.Absence.Create(ctx, absence.Request{Away: absence.Away{SpecialistID: "ada",
			Start: c.Start.Add(-time.Hour), End: visit[0].SlotEnd}, Actor: enginetest.Jo,
			Choices: []absence.Choice{{AppointmentID: visit[0].ID, By: store.DisplacedCall}}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(c.Start))
		first, second := c.States(visit[0].ID)["reminder"], c.States(visit[1].ID)["reminder"]
		if first != outbound.DeliveryNotNeeded || second != outbound.DeliveryDelivered {
			t.Errorf("the reminders are %q and %q, want only the second one delivered", first, second)
		}
	})
}

// TestRetriedReminderEndsAfterStart: no message can be sent until an appointment has started. When staff then retry all
// failed messages, the booking is confirmed, but the patient gets no reminder and no request to move it.
func TestRetriedReminderEndsAfterStart(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, folder := context.Background(), filepath.Join(t.TempDir(), "mail")
		if err := os.WriteFile(folder, nil, 0o600); err != nil { // not a folder, so no email can be written
			t.Fatal(err)
		}
		c := reminding(t, fake, func(o *engine.Options) {
			mailer, err := notice.NewMailer(notice.MailOptions{Dir: folder})
			if err != nil {
				t.Fatal(err)
			}
			o.Notices.Mailer = mailer
		})
		fake.Answer(func(noticetest.Text) (int, string) { return 400, "" })
		a := c.MustBook(texting(c))
		time.Sleep(time.Until(c.Start.Add(-time.Hour)))
		if err := c.Message.AskToMove(ctx, a.ID, enginetest.Jo, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(c.Start.Add(time.Minute)))

		if err := os.Remove(folder); err != nil {
			t.Fatal(err)
		}
		sentTexts := len(fake.Texts())
		fake.Answer(func(noticetest.Text) (int, string) { return 200, "" })
		if r, err := c.Outbound.RetryFailed(ctx, enginetest.Jo); err != nil || r != (outbound.Retried{Retried: 7}) {
			t.Fatalf("retried: %+v, %v; want 3 emails and 4 text messages", r, err)
		}
		time.Sleep(time.Hour)
		list, err := c.Record.Deliveries(ctx, a.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			want := outbound.DeliveryDelivered
			if d.Notice != "confirmation" {
				want = outbound.DeliveryNotNeeded
			}
			if d.State != want || want == outbound.DeliveryNotNeeded && d.Detail != "the appointment has already started" {
				t.Errorf("the %s by %s is %s (%s), want %s", d.Notice, d.Channel, d.State, d.Detail, want)
			}
		}
		if n := len(fake.Texts()) - sentTexts; n != 1 {
			t.Errorf("the gateway received %d messages after the retry, want the confirmation", n)
		}
	})
}

// TestMissedReminderIsNotNeeded: the server is off from the booking until after the visit. Its reminders are then not
// needed. The confirmations fail, because nothing else has told the patient.
func TestMissedReminderIsNotNeeded(t *testing.T) {
	t.Parallel()
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		c := remindingClinic(t, fake, enginetest.Database(t), enginetest.Queue(t))
		a := c.MustBook(texting(c))
		time.Sleep(time.Until(c.Start.Add(2 * time.Hour)))
		enginetest.Run(t, c.Run)
		time.Sleep(time.Minute)
		list, err := c.Record.Deliveries(ctx, a.ID)
		if err != nil {
			t.Fatal(err)
		}
		count := make(map[string]int)
		for _, d := range list {
			count[d.Notice+" "+d.State+": "+d.Detail]++
		}
		want := map[string]int{
			"confirmation failed: the message could not be delivered in time":                2,
			"reminder not_needed: the appointment started before the reminder could be sent": 3,
		}
		if !maps.Equal(count, want) {
			t.Errorf("the messages are %v, want %v", count, want)
		}
	})
}

// remindingClinic returns a clinic that reminds its patients by email and text message. It is not running yet.
func remindingClinic(t *testing.T, fake *noticetest.Gateway, db store.Store, queue store.Queue) *enginetest.TestClinic {
	t.Helper()
	ctx := t.Context()
	mailer, err := notice.NewMailer(notice.MailOptions{Dir: filepath.Join(t.TempDir(), "mail")})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(ctx, engine.Options{Store: db, Holds: enginetest.Holds(t, db), Queue: queue,
		Notices: message.Transport{Mailer: mailer, Texter: enginetest.TexterTo(t, fake)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Clinic.Import(ctx, "system", enginetest.ClinicFile(map[string]int{"ada": 1})); err != nil {
		t.Fatal(err)
	}
	_, err = e.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) {
		s.ReminderHours, s.SMS.CountryCode = 24, "49"
	})
	if err != nil {
		t.Fatal(err)
	}
	return &enginetest.TestClinic{Engine: e, T: t, Start: enginetest.Noon(time.UTC, 4)}
}

// TestReminderOfErasedPersonIsNotNeeded: a patient is erased, and then the server is off until after the visit. The
// reminders do not fail, because there is no recipient. The same applies if the queue was lost, such as in a restore.
func TestReminderOfErasedPersonIsNotNeeded(t *testing.T) {
	t.Parallel()
	fake := noticetest.NewGateway(t)
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, db, queue := t.Context(), enginetest.Database(t), enginetest.Queue(t)
			c := remindingClinic(t, fake, db, queue)
			stop := enginetest.Run(t, c.Run)
			a := c.MustBook(texting(c))
			time.Sleep(time.Minute)
			if _, err := c.Person.EraseOf(ctx, enginetest.Jo, a.ID); err != nil {
				t.Fatal(err)
			}
			stop()
			time.Sleep(time.Until(c.Start.Add(2 * time.Hour)))
			if lost {
				queue = enginetest.Queue(t)
			}
			c = remindingClinic(t, fake, db, queue)
			enginetest.Run(t, c.Run)
			time.Sleep(time.Minute)
			list, err := c.Record.Deliveries(ctx, a.ID)
			if err != nil {
				t.Fatal(err)
			}
			count := make(map[string]int)
			for _, d := range list {
				if d.State == outbound.DeliveryDelivered {
					d.Detail = ""
				}
				count[d.State+": "+d.Detail]++
			}
			want := map[string]int{"delivered: ": 2, "not_needed: the recipient was erased": 3}
			if !maps.Equal(count, want) {
				t.Errorf("queue lost %v: the messages are %v, want %v", lost, count, want)
			}
		})
	}
}
