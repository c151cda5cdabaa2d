package request_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/engine/request"
	"holdfast/engine/token"
	"holdfast/holds"
	"holdfast/store"
)

// In these tests, something happens between a request and its decision: the clinic changes, people are erased, or
// the machine sleeps or is off.

// asks makes a request for a time, for an appointment type that needs the desk's approval.
func asks(c *enginetest.TestClinic, n int, start time.Time) *store.BookingRequest {
	c.T.Helper()
	r := enginetest.BookingOf(n, "checkup")
	r.SlotStart = start
	asked, err := c.Request.Book(context.Background(), r, request.Visitor{Unlimited: true})
	if err != nil || asked.Request == nil {
		c.T.Fatalf("got %+v, %v; want a request", asked, err)
	}
	return asked.Request
}

// free reports whether a client can hold a time.
func free(c *enginetest.TestClinic, n int, start time.Time) bool {
	c.T.Helper()
	h, err := c.Hold(n, "checkup", start, "")
	var held *holds.HeldError
	switch {
	case errors.As(err, &held):
		return false
	case err != nil:
		c.T.Fatal(err)
	}
	if _, err := c.Booking.ReleaseHold(context.Background(), h.ID, enginetest.Client(n)); err != nil {
		c.T.Fatal(err)
	}
	return true
}

func changeType(c *enginetest.TestClinic, change func(*store.AppointmentType)) {
	c.T.Helper()
	if _, err := c.Clinic.UpdateAppointmentType(context.Background(), "system", "checkup", change); err != nil {
		c.T.Fatal(err)
	}
}

func TestErasedRequestFreesSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := enginetest.NoticeClinic(t)
		approved(c, 0)
		theirs, others := asks(c, 1, c.Start), asks(c, 2, c.Start.Add(2*time.Hour))
		if free(c, 3, theirs.SlotStart) || free(c, 3, others.SlotStart) {
			t.Fatal("the requested time is not held")
		}
		erased, err := c.Person.Erase(context.Background(), "user:desk", store.Person{Email: theirs.Patient.Email})
		if err != nil || erased.Requests != 1 {
			t.Fatalf("erased: got %+v, %v; want one request", erased, err)
		}
		if !free(c, 3, theirs.SlotStart) {
			t.Error("the time of the erased person is still held")
		}
		if free(c, 3, others.SlotStart) {
			t.Error("the time of another request was released, too")
		}
	})
}

// TestConfirmationKeepsRequest: a confirmation keeps the requested time, whatever the type's duration is by then, and
// even after a restart.
func TestConfirmationKeepsRequest(t *testing.T) {
	t.Parallel()
	for _, minutes := range []int{20, 30, 45, 60} {
		for _, restart := range []bool{false, true} {
			keys := token.Generate(time.Now())
			c, _ := enginetest.NoticeClinic(t, func(o *engine.Options) { o.Keyring = keys })
			approved(c, 0)
			r := asks(c, 1, c.Start.Add(30*time.Minute)) // not a start time if there is one every 45 minutes
			changeType(c, func(t *store.AppointmentType) { t.DurationMinutes, t.SlotStepMinutes = minutes, 45 })
			e := c.Engine
			if restart {
				e = enginetest.Restarted(t, c, keys)
			}
			a, err := e.Request.Confirm(context.Background(), r.ID, time.Time{}, enginetest.Jo, nil)
			if err != nil || a.ID != r.ID || !a.SlotStart.Equal(r.SlotStart) || !a.SlotEnd.Equal(r.SlotEnd) {
				t.Errorf("30 minutes of a type that now takes %d (restart: %v): got %s to %s, %v", minutes, restart,
					a.SlotStart, a.SlotEnd, err)
			}
		}
	}
}

// TestRefusedConfirmationKeepsRequest: the request stays open, and no other client can take its time.
func TestRefusedConfirmationKeepsRequest(t *testing.T) {
	t.Parallel()
	c, _ := enginetest.NoticeClinic(t)
	approved(c, 0)
	r := asks(c, 1, c.Start)
	closed, err := c.Clinic.PutOverride(context.Background(), enginetest.Jo,
		store.Override{SpecialistID: r.SpecialistID, Date: store.DateOf(c.Start), Closed: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var not *availability.NotBookableError
	if _, err := c.Request.Confirm(context.Background(), r.ID, time.Time{}, enginetest.Jo, nil); !errors.As(err, &not) {
		t.Fatalf("on a day that was closed in the meantime: got %v", err)
	}
	if list, err := c.Booking.Holds(context.Background(), r.SpecialistID); err != nil || len(list) != 1 ||
		list[0].ExpiresAt.Before(r.ExpiresAt.Add(-time.Second)) {
		t.Errorf("the holds afterwards: %+v, %v; want the time of the request until it expires", list, err)
	}
	if err := c.Clinic.DeleteOverride(context.Background(), enginetest.Jo, closed.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Request.Confirm(context.Background(), r.ID, time.Time{}, enginetest.Jo, nil); err != nil {
		t.Errorf("on the same day, reopened: %v", err)
	}
}

// TestConfirmationIgnoresCooldown: several concurrent confirmations of one request all return its appointment, and the
// desk can approve a second request from the same family.
func TestConfirmationIgnoresCooldown(t *testing.T) {
	t.Parallel()
	c, _ := enginetest.NoticeClinic(t, enginetest.BySMTP(t))
	changeType(c, func(t *store.AppointmentType) { t.CooldownMinutes = 60 })
	settle(c, func(p *clinic.PublicBookings) { p.Confirm = true })
	r := asks(c, 1, c.Start)
	var confirming sync.WaitGroup
	for range 6 {
		confirming.Go(func() {
			if a, err := c.Request.Confirm(context.Background(), r.ID, time.Time{}, "manage", nil); err != nil || a.ID != r.ID {
				t.Errorf("got %+v, %v; want the appointment", a.ID, err)
			}
		})
	}
	confirming.Wait()

	settle(c, func(p *clinic.PublicBookings) { p.Confirm = false })
	approved(c, 0)
	first, second := asks(c, 2, c.Start.Add(2*time.Hour)), asks(c, 2, c.Start.Add(3*time.Hour))
	for _, r := range []*store.BookingRequest{first, second} {
		if _, err := c.Request.Confirm(context.Background(), r.ID, time.Time{}, enginetest.Jo, nil); err != nil {
			t.Errorf("the desk approves: %v", err)
		}
	}
}

// TestRequestExpiresDuringDowntime: if a request expires while the server is off, the patient is notified after the
// next start, even after a long weekend.
func TestRequestExpiresDuringDowntime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		approved(c, 0)
		ctx, now := context.Background(), record.Now()
		asked := store.BookingRequest{
			ID: record.NewID(), AppointmentTypeID: "checkup", SpecialistID: "ada",
			HoldOwner: record.NewOwner().String(), Status: store.RequestOpen, SlotStart: c.Start,
			SlotEnd: c.Start.Add(30 * time.Minute), Patient: store.Patient{Name: "Rosa Winter",
				Email: "rosa@example.org"}, Approval: true, CreatedAt: now.Add(-6 * 24 * time.Hour),
			ExpiresAt: now.Add(-4 * 24 * time.Hour),
		}
		if err := c.Store.Write(ctx, func(tx store.Tx) error {
			return tx.InsertBookingRequest(ctx, asked)
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(12 * time.Minute) // old requests are deleted every ten minutes
		if got, err := c.Request.Get(ctx, asked.ID); err != nil || got.Status != store.RequestDeclined {
			t.Errorf("the request: got %+v, %v; want it closed", got.Status, err)
		}
		if mails := c.Mails(folder, asked.ID); !strings.Contains(mails["request_declined"], "Not available") {
			t.Errorf("its emails are %v, want one that it was declined", mails)
		}
	})
}

// TestExpiredRequestFreesSlot: the slot is free even though the hold has not expired, because the clock for holds was
// stopped while the machine slept.
func TestExpiredRequestFreesSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := enginetest.NoticeClinic(t)
		settle(c, func(p *clinic.PublicBookings) { p.Confirm = true })
		r := asks(c, 1, c.Start)
		at := booking.RequestedSlot{AppointmentTypeID: r.AppointmentTypeID, SpecialistID: r.SpecialistID,
			Start: r.SlotStart}
		if _, err := c.Booking.HoldForRequest(context.Background(), at, record.SpelledOwner(r.HoldOwner),
			r.ExpiresAt.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(r.ExpiresAt) - time.Second)
		if free(c, 2, r.SlotStart) {
			t.Error("before the expiry, the time is free")
		}
		time.Sleep(2 * time.Minute)
		if !free(c, 2, r.SlotStart) {
			t.Error("after the expiry, the time is held")
		}
	})
}
