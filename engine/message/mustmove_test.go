package message_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/absence"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/notice/noticetest"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// TestMustMoveIsDroppedAfterMove: a patient must choose another time, but the appointment is moved before the message
// is sent. The message would name the new time as the one that cannot take place, so it is not sent.
func TestMustMoveIsDroppedAfterMove(t *testing.T) {
	t.Parallel()
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c, ctx := smsClinic(t, fake), context.Background()
		a := c.MustBook(texting(c))
		time.Sleep(time.Minute)
		if _, err := c.Absence.Create(ctx, absence.Request{Away: absence.Away{SpecialistID: "ada",
			Start: c.Start.Add(-time.Hour), End: c.Start.Add(time.Hour)}, Actor: enginetest.Jo,
			Choices: []absence.Choice{{AppointmentID: a.ID, By: store.DisplacedAsk}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID, SlotStart: c.Start.Add(24 * time.Hour),
			Actor: "manage"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		list, err := c.Record.Deliveries(ctx, a.ID)
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, d := range list {
			if d.Notice != message.MailMustMove {
				continue
			}
			if told++; d.State != outbound.DeliveryNotNeeded {
				t.Errorf("the %s that asks the patient to move is %s, want not needed", d.Channel, d.State)
			}
		}
		if told != 2 {
			t.Errorf("%d messages ask the patient to move, want an email and a text message", told)
		}
	})
}

// TestRetriedConfirmationEndsWithAppointment: no email can be sent until an appointment has begun, or until it is over.
// When staff then retry the failed emails, the patient gets the confirmation only while the appointment lasts. A
// cancellation is sent in any case.
func TestRetriedConfirmationEndsWithAppointment(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for days of virtual time")
	}
	t.Parallel()
	for _, test := range []struct {
		after time.Duration // the start
		want  string
	}{{time.Minute, outbound.DeliveryDelivered}, {31 * time.Minute, outbound.DeliveryNotNeeded}} {
		t.Run(test.want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				c, folder := enginetest.NoticeClinic(t)
				if err := os.WriteFile(folder, nil, 0o600); err != nil { // not a folder, so no email can be written
					t.Fatal(err)
				}
				lasts, cancelled := enginetest.BookingOf(1, "checkup"), enginetest.BookingOf(2, "checkup")
				lasts.SlotStart, cancelled.SlotStart = c.Start, c.Start.Add(time.Hour)
				a, b := c.MustBook(lasts), c.MustBook(cancelled)
				if _, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: b.ID, Actor: enginetest.Jo}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Until(c.Start.Add(test.after)))
				if err := os.Remove(folder); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Outbound.RetryFailed(ctx, enginetest.Jo); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				for id, want := range map[string]map[string]string{
					a.ID: {"confirmation": test.want},
					b.ID: {"cancellation": outbound.DeliveryDelivered},
				} {
					list, err := c.Record.Deliveries(ctx, id)
					if err != nil {
						t.Fatal(err)
					}
					for _, d := range list {
						if state, ok := want[d.Notice]; ok && d.State != state {
							t.Errorf("the %s is %s (%s), want %s", d.Notice, d.State, d.Detail, state)
						}
					}
				}
			})
		})
	}
}

// TestMustMoveOfVisitOffersLink: the specialist is away at the time of one person in a visit. The email offers the link
// if the patient can move the visit with it. Otherwise it says that the clinic will call.
func TestMustMoveOfVisitOffersLink(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		change func(context.Context, *enginetest.TestClinic, []store.Appointment) error
		noBase bool
		isCall bool
	}{
		"the same contact": {change: func(context.Context, *enginetest.TestClinic, []store.Appointment) error {
			return nil
		}},
		"another contact": {change: func(ctx context.Context, c *enginetest.TestClinic,
			visit []store.Appointment) error {
			_, err := c.Booking.ChangePatient(ctx, booking.PatientRequest{ID: visit[2].ID, Actor: enginetest.Jo,
				Edit: func(p *store.Patient) { p.Email = "other@example.org" }})
			return err
		}, isCall: true},
		"approval": {change: func(ctx context.Context, c *enginetest.TestClinic, _ []store.Appointment) error {
			_, err := c.Clinic.UpdateAppointmentType(ctx, enginetest.Jo, "checkup",
				func(t *store.AppointmentType) { t.Page.Approval = true })
			return err
		}, isCall: true},
		"no public address": {change: func(context.Context, *enginetest.TestClinic, []store.Appointment) error {
			return nil
		}, noBase: true, isCall: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, folder := enginetest.NoticeClinic(t, func(o *engine.Options) {
					if x.noBase {
						o.BaseURL = ""
					}
				})
				visit := c.MustVisit(enginetest.Family(c.Start, "checkup", "checkup", "checkup"))
				if err := x.change(t.Context(), c, visit); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if err := c.Message.AskToMove(t.Context(), visit[1].ID, enginetest.Jo, nil); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				text := c.Mails(folder, visit[1].ID)["must_move"]
				isCall := strings.Contains(text, "We will call you to find another time.")
				hasLink := strings.Contains(text, "/manage#")
				if text == "" || isCall != x.isCall || hasLink == isCall {
					t.Errorf("the email is\n%s", text)
				}
			})
		})
	}
}

// TestMustMovePromisesCallOnlyWithNumber: the email asks a patient without a telephone number to call the clinic.
func TestMustMovePromisesCallOnlyWithNumber(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ phone, base, want string }{
		{"030 12345", "https://book.example.org", "We will call you, or you can choose another time with the link"},
		{"030 12345", "", "We will call you to find another time."},
		{"", "https://book.example.org", "Please choose another time with the link below, or call us."},
		{"", "", "Please call us to find another time."},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, folder := enginetest.NoticeClinic(t, func(o *engine.Options) { o.BaseURL = x.base })
			r := enginetest.BookingOf(1, "checkup")
			r.SlotStart, r.Patient.Phone = c.Start, x.phone
			a := c.MustBook(r)
			time.Sleep(time.Minute)
			if err := c.Message.AskToMove(t.Context(), a.ID, enginetest.Jo, nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if text := c.Mails(folder, a.ID)["must_move"]; !strings.Contains(text, x.want) {
				t.Errorf("with the number %q and the address %q, the email is\n%s", x.phone, x.base, text)
			}
		})
	}
}
