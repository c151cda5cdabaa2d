package message_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/notice/noticetest"
	"holdfast/engine/outbound"
	"holdfast/engine/record"
	"holdfast/store"
)

// recallIn asks for a recall as the patient, a number of days from now.
func recallIn(c *enginetest.TestClinic, id string, days int) (store.Appointment, error) {
	day := store.DateOf(time.Now().In(c.Clinic.Zone())).AddDays(days)
	return c.Message.Recall(context.Background(),
		message.RecallRequest{ID: id, Date: day, ByPatient: true, Actor: "manage"})
}

func allowRecalls(c *enginetest.TestClinic) {
	c.T.Helper()
	_, err := c.Clinic.UpdateSettings(context.Background(), "system",
		func(s *clinic.Settings) { s.OnlineRecall = true })
	if err != nil {
		c.T.Fatal(err)
	}
}

// bookBefore books an appointment for the patient of a on the day before the recall.
func bookBefore(c *enginetest.TestClinic, a *store.Appointment, appointmentType string) {
	c.T.Helper()
	time.Sleep(time.Until(a.RecallAt.Add(-24 * time.Hour)))
	r := enginetest.BookingOf(1, appointmentType)
	r.SlotStart = enginetest.Noon(time.UTC, 4)
	c.MustBook(r)
}

// TestRecallIsSentOnItsDay: the message has the link to book the same type with the same specialist, and is sent once,
// at 10:00 in the clinic's time zone. Other messages about the appointment do not wait for it.
func TestRecallIsSentOnItsDay(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for days of virtual time")
	}
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start
		a := c.MustBook(r)
		if _, err := recallIn(c, a.ID, 9); !errors.Is(err, message.ErrRecallOff) {
			t.Fatalf("by default: %v, want ErrRecallOff", err)
		}
		allowRecalls(c)
		a, err := recallIn(c, a.ID, 9)
		if err != nil {
			t.Fatal(err)
		}
		if local := a.RecallAt.In(c.Clinic.Zone()); local.Hour() != 10 || local.Minute() != 0 {
			t.Errorf("the recall is due at %s, want 10:00", local)
		}
		if _, err := c.Booking.Reschedule(context.Background(), booking.RescheduleRequest{ID: a.ID,
			SlotStart: c.Start.Add(time.Hour), Actor: "manage"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(a.RecallAt) - time.Minute)
		if got := c.States(a.ID); got["reschedule"] != outbound.DeliveryDelivered ||
			got["recall"] != booking.DeliveryQueued {
			t.Fatalf("a minute before: %v", got)
		}
		time.Sleep(2 * time.Minute)
		_, parts := enginetest.Parts(t, c.Messages(folder, a.ID)["recall"])
		for _, want := range []string{"time for your next appointment",
			"https://book.example.org/?specialist=" + a.SpecialistID + "&type=checkup"} {
			if !strings.Contains(parts[0].Text, want) {
				t.Errorf("the email does not contain %q:\n%s", want, parts[0].Text)
			}
		}
		if strings.Contains(parts[0].Text, "When:") {
			t.Errorf("the email states a time:\n%s", parts[0].Text)
		}
		if got := c.States(a.ID)["recall"]; got != outbound.DeliveryDelivered {
			t.Errorf("the recall is %q, want delivered", got)
		}
	})
}

// TestRecallOffersWhatCanBeBooked: the email asks the patient to call if the type cannot be booked online by then. It
// does not name a specialist who no longer serves the type.
func TestRecallOffersWhatCanBeBooked(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for days of virtual time")
	}
	t.Parallel()
	for name, test := range map[string]struct {
		change     func(c *enginetest.TestClinic, a *store.Appointment) error
		want, lack []string
	}{
		"type is for the desk": {func(c *enginetest.TestClinic, a *store.Appointment) error {
			if _, err := c.Clinic.UpdateSettings(context.Background(), "system", func(s *clinic.Settings) {
				s.MailTexts = clinic.MailTexts{"recall": {"en": {Text: "Book online with the link below."}}}
			}); err != nil {
				return err
			}
			_, err := c.Clinic.UpdateAppointmentType(context.Background(), enginetest.Jo, "checkup",
				func(t *store.AppointmentType) { t.Page.DeskOnly = true })
			return err
		}, []string{"Please call us to arrange it.", "With: "}, []string{"online", "https://"}},
		"specialist has left": {func(c *enginetest.TestClinic, a *store.Appointment) error {
			_, err := c.Clinic.UpdateSpecialist(context.Background(), enginetest.Jo, a.SpecialistID,
				func(p *store.Specialist) { p.Active = false })
			return err
		}, []string{"You can book it online", "https://book.example.org/?type=checkup\n"}, []string{"With: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, folder := enginetest.NoticeClinic(t)
				allowRecalls(c)
				r := enginetest.BookingOf(1, "checkup")
				r.SlotStart = c.Start
				a, err := recallIn(c, c.MustBook(r).ID, 7)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Until(a.RecallAt) - time.Hour)
				if err := test.change(c, &a); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Hour)
				_, parts := enginetest.Parts(t, c.Messages(folder, a.ID)["recall"])
				text := strings.ReplaceAll(parts[0].Text, "\r\n", "\n")
				for _, want := range test.want {
					if !strings.Contains(text, want) {
						t.Errorf("the email does not contain %q:\n%s", want, text)
					}
				}
				for _, lack := range test.lack {
					if strings.Contains(text, lack) {
						t.Errorf("the email contains %q:\n%s", lack, text)
					}
				}
			})
		})
	}
}

// TestRecallIsNotNeeded: nothing is sent after a withdrawal, for an earlier day of a changed recall, or if the person
// has a coming appointment of the same type.
func TestRecallIsNotNeeded(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for days of virtual time")
	}
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(c *enginetest.TestClinic, a *store.Appointment)
		want    string
	}{
		"withdrawn": {func(c *enginetest.TestClinic, a *store.Appointment) {
			// the clinic no longer allows recalls, but the patient can still withdraw
			if _, err := c.Clinic.UpdateSettings(context.Background(), "system",
				func(s *clinic.Settings) { s.OnlineRecall = false }); err != nil {
				c.T.Fatal(err)
			}
			got, err := c.Message.Recall(context.Background(),
				message.RecallRequest{ID: a.ID, ByPatient: true, Actor: "manage"})
			if err != nil || !got.RecallAt.IsZero() {
				c.T.Fatalf("withdrawn: %s, %v", got.RecallAt, err)
			}
			if list, err := c.Store.Outbox(context.Background(), "", 500); err != nil {
				c.T.Fatal(err)
			} else {
				for _, op := range list {
					if strings.Contains(string(op.Payload), "recall") {
						c.T.Errorf("the outbox still contains %+v", op)
					}
				}
			}
		}, outbound.DeliveryNotNeeded},
		"booked again": {func(c *enginetest.TestClinic, a *store.Appointment) {
			bookBefore(c, a, "checkup")
		}, outbound.DeliveryNotNeeded},
		"another type booked": {func(c *enginetest.TestClinic, a *store.Appointment) {
			bookBefore(c, a, "surgery")
		}, outbound.DeliveryDelivered},
		"cancelled": {func(c *enginetest.TestClinic, a *store.Appointment) {
			if _, err := c.Booking.Cancel(context.Background(),
				booking.CancelRequest{ID: a.ID, Actor: "manage"}); err != nil {
				c.T.Fatal(err)
			}
		}, outbound.DeliveryDelivered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, _ := enginetest.NoticeClinic(t)
				allowRecalls(c)
				r := enginetest.BookingOf(1, "checkup")
				r.SlotStart = c.Start
				a := c.MustBook(r)
				a, err := recallIn(c, a.ID, 7)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				test.prepare(c, &a)
				time.Sleep(time.Until(a.RecallAt) + time.Hour)
				if got := c.States(a.ID)["recall"]; got != test.want {
					t.Errorf("the recall is %q, want %q", got, test.want)
				}
			})
		})
	}
}

// TestChangedRecallIsSentOnce: only the last day counts. A patient who loses the email address gets the recall as a
// text message, which reveals neither the type nor the specialist. Its link opens the earlier appointment.
func TestChangedRecallIsSentOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for days of virtual time")
	}
	t.Parallel()
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c, ctx := smsClinic(t, fake), context.Background()
		allowRecalls(c)
		a := c.MustBook(texting(c))
		for _, days := range []int{7, 9, 8} {
			var err error
			if a, err = recallIn(c, a.ID, days); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		for _, email := range []string{"", "lena@example.org", ""} {
			if _, err := c.Booking.ChangePatient(ctx, booking.PatientRequest{ID: a.ID, Actor: "user:1",
				Edit: func(p *store.Patient) { p.Email = email }}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Until(c.Start.AddDate(0, 0, 6)))
		var recalls []string
		for _, m := range fake.Texts() {
			if strings.Contains(m.Text, "next appointment") {
				recalls = append(recalls, m.Text)
			}
		}
		if len(recalls) != 1 {
			t.Fatalf("the gateway received %q, want one recall", recalls)
		}
		text, token, _ := strings.Cut(recalls[0], "/m#")
		for _, secret := range []string{"checkup", "Check", "ada", "Ada"} {
			if strings.Contains(text, secret) {
				t.Errorf("the text contains the type or the specialist: %s", text)
			}
		}
		if opened, err := c.Booking.Managed(ctx, token); err != nil || opened.ID != a.ID {
			t.Errorf("the link opens %s, %v", opened.ID, err)
		}
		list, _ := c.Record.Deliveries(ctx, a.ID)
		for _, d := range list {
			if d.Notice == "recall" && d.Channel == "email" && d.State == outbound.DeliveryDelivered {
				t.Errorf("the recall was also sent by email: %+v", d)
			}
		}
	})
}

// TestRecallIsRefused: for a day that is not in the future or not after that of the appointment, for a cancelled
// appointment, and for a patient whom no message reaches.
func TestRecallIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := enginetest.NoticeClinic(t)
		allowRecalls(c)
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start
		a := c.MustBook(r)
		for _, days := range []int{-1, 0, 1, 2, 3*366 + 1} { // the appointment is in 2 days
			var invalid *record.ValidationError
			if _, err := recallIn(c, a.ID, days); !errors.As(err, &invalid) {
				t.Errorf("in %d days: %v, want a validation error", days, err)
			}
		}
		if _, err := c.Booking.ChangePatient(context.Background(), booking.PatientRequest{ID: a.ID, Actor: "user:1",
			Edit: func(p *store.Patient) { p.Email = "" }}); err != nil {
			t.Fatal(err)
		}
		if _, err := recallIn(c, a.ID, 90); !errors.Is(err, message.ErrNoMail) {
			t.Errorf("without an address: %v, want ErrNoMail", err)
		}
		cancel := booking.CancelRequest{ID: a.ID, Actor: "manage"}
		if _, err := c.Booking.Cancel(context.Background(), cancel); err != nil {
			t.Fatal(err)
		}
		if _, err := recallIn(c, a.ID, 90); !errors.Is(err, record.ErrNotConfirmed) {
			t.Errorf("cancelled: %v, want ErrNotConfirmed", err)
		}
	})
}
