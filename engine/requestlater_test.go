package engine_test

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
	"holdfast/engine/record"
	"holdfast/engine/request"
	"holdfast/engine/token"
	"holdfast/holds"
	"holdfast/store"
)

// In these tests something happens between a request and its decision: the clinic changes, people are erased, or the
// machine sleeps or is off.

// asks requests a time of an appointment type that needs the desk's approval.
func (c *testClinic) asks(n int, start time.Time) *store.BookingRequest {
	c.t.Helper()
	r := bookingOf(n, "checkup")
	r.SlotStart = start
	asked, err := c.Request.Book(context.Background(), r, request.Visitor{Unlimited: true})
	if err != nil || asked.Request == nil {
		c.t.Fatalf("got %+v, %v; want a request", asked, err)
	}
	return asked.Request
}

// free reports whether a client can hold a time.
func (c *testClinic) free(n int, start time.Time) bool {
	c.t.Helper()
	h, err := c.hold(n, "checkup", start, "")
	var held *holds.HeldError
	switch {
	case errors.As(err, &held):
		return false
	case err != nil:
		c.t.Fatal(err)
	}
	if _, err := c.Booking.ReleaseHold(context.Background(), h.ID, client(n)); err != nil {
		c.t.Fatal(err)
	}
	return true
}

func (c *testClinic) changeType(change func(*store.AppointmentType)) {
	c.t.Helper()
	if _, err := c.Clinic.UpdateAppointmentType(context.Background(), "system", "checkup", change); err != nil {
		c.t.Fatal(err)
	}
}

func TestErasedRequestFreesSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := noticeClinic(t)
		approved(c)
		theirs, others := c.asks(1, c.start), c.asks(2, c.start.Add(2*time.Hour))
		if c.free(3, theirs.SlotStart) || c.free(3, others.SlotStart) {
			t.Fatal("what is asked for is not held")
		}
		erased, err := c.Person.Erase(context.Background(), "user:desk", store.Person{Email: theirs.Patient.Email})
		if err != nil || erased.Requests != 1 {
			t.Fatalf("erased: got %+v, %v; want one request", erased, err)
		}
		if !c.free(3, theirs.SlotStart) {
			t.Error("the time of who was erased is still held")
		}
		if c.free(3, others.SlotStart) {
			t.Error("somebody else's time was given back, too")
		}
	})
}

// TestConfirmationKeepsRequest: a confirmation keeps the requested time, whatever the type's duration is by then, and
// after a restart as well.
func TestConfirmationKeepsRequest(t *testing.T) {
	for _, minutes := range []int{20, 30, 45, 60} {
		for _, restart := range []bool{false, true} {
			keys := token.Generate(time.Now())
			c, _ := noticeClinic(t, func(o *engine.Options) { o.Keyring = keys })
			approved(c)
			r := c.asks(1, c.start.Add(30*time.Minute)) // not a start if there is one every 45 minutes from nine on
			c.changeType(func(t *store.AppointmentType) { t.DurationMinutes, t.SlotStepMinutes = minutes, 45 })
			e := c.Engine
			if restart {
				e = restarted(t, c, keys)
			}
			a, err := e.Request.Confirm(context.Background(), r.ID, jo, nil)
			if err != nil || a.ID != r.ID || !a.SlotStart.Equal(r.SlotStart) || !a.SlotEnd.Equal(r.SlotEnd) {
				t.Errorf("30 minutes of a type that takes %d by now (restart: %v): got %s to %s, %v", minutes, restart, a.SlotStart, a.SlotEnd, err)
			}
		}
	}
}

// TestRefusedConfirmationKeepsRequest: the request stays open, and no other client gets its time.
func TestRefusedConfirmationKeepsRequest(t *testing.T) {
	c, _ := noticeClinic(t)
	approved(c)
	r := c.asks(1, c.start)
	closed, err := c.Clinic.PutOverride(context.Background(), jo, store.Override{SpecialistID: r.SpecialistID, Date: store.DateOf(c.start), Closed: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var not *availability.NotBookableError
	if _, err := c.Request.Confirm(context.Background(), r.ID, jo, nil); !errors.As(err, &not) {
		t.Fatalf("on a day that was closed meanwhile: got %v", err)
	}
	if list, err := c.Booking.Holds(context.Background(), r.SpecialistID); err != nil || len(list) != 1 || list[0].ExpiresAt.Before(r.ExpiresAt.Add(-time.Second)) {
		t.Errorf("what is held afterwards: %+v, %v; want the time of the request, until it lapses", list, err)
	}
	if err := c.Clinic.DeleteOverride(context.Background(), jo, closed.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Request.Confirm(context.Background(), r.ID, jo, nil); err != nil {
		t.Errorf("on the same day, opened again: %v", err)
	}
}

// TestConfirmationIgnoresCooldown: several concurrent confirmations of one request all return its appointment, and
// the desk may approve a second request of the same family.
func TestConfirmationIgnoresCooldown(t *testing.T) {
	c, _ := noticeClinic(t, byServer(t))
	c.changeType(func(t *store.AppointmentType) { t.CooldownMinutes = 60 })
	c.settle(func(p *clinic.PublicBookings) { p.Confirm = true })
	r := c.asks(1, c.start)
	var confirming sync.WaitGroup
	for range 6 {
		confirming.Go(func() {
			if a, err := c.Request.Confirm(context.Background(), r.ID, "manage", nil); err != nil || a.ID != r.ID {
				t.Errorf("got %+v, %v; want the appointment", a.ID, err)
			}
		})
	}
	confirming.Wait()

	c.settle(func(p *clinic.PublicBookings) { p.Confirm = false })
	approved(c)
	first, second := c.asks(2, c.start.Add(2*time.Hour)), c.asks(2, c.start.Add(3*time.Hour))
	for _, r := range []*store.BookingRequest{first, second} {
		if _, err := c.Request.Confirm(context.Background(), r.ID, jo, nil); err != nil {
			t.Errorf("the desk approves: %v", err)
		}
	}
}

// TestRequestExpiresDuringDowntime: a request that expires while the server is off gets its answer after the next
// start, even after a long weekend.
func TestRequestExpiresDuringDowntime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, folder := noticeClinic(t)
		approved(c)
		ctx, now := context.Background(), record.Now()
		asked := store.BookingRequest{
			ID: record.NewID(), AppointmentTypeID: "checkup", SpecialistID: "ada", HoldOwner: record.NewOwner().String(), Status: store.RequestOpen,
			SlotStart: c.start, SlotEnd: c.start.Add(30 * time.Minute), Patient: store.Patient{Name: "Rosa Winter", Email: "rosa@example.org"},
			Approval: true, CreatedAt: now.Add(-6 * 24 * time.Hour), ExpiresAt: now.Add(-4 * 24 * time.Hour),
		}
		if err := c.store.Write(ctx, func(tx store.Tx) error { return tx.InsertBookingRequest(ctx, asked) }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(12 * time.Minute) // old requests are deleted every ten minutes
		if got, err := c.Request.Get(ctx, asked.ID); err != nil || got.Status != store.RequestDeclined {
			t.Errorf("the request: got %+v, %v; want it ended", got.Status, err)
		}
		if mails := c.mails(folder, asked.ID); !strings.Contains(mails["request_declined"], "Not possible") {
			t.Errorf("its mails are %v, want one that says that it came to nothing", mails)
		}
	})
}

// TestExpiredRequestFreesSlot: the slot is free although the hold has not expired, because the clock of holds stopped
// while the machine slept.
func TestExpiredRequestFreesSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := noticeClinic(t)
		c.settle(func(p *clinic.PublicBookings) { p.Confirm = true })
		r := c.asks(1, c.start)
		at := booking.RequestedSlot{AppointmentTypeID: r.AppointmentTypeID, SpecialistID: r.SpecialistID, Start: r.SlotStart}
		if _, err := c.Booking.HoldForRequest(context.Background(), at, record.SpelledOwner(r.HoldOwner), r.ExpiresAt.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(r.ExpiresAt) - time.Second)
		if c.free(2, r.SlotStart) {
			t.Error("before it lapses the time is free")
		}
		time.Sleep(2 * time.Minute)
		if !c.free(2, r.SlotStart) {
			t.Error("after it has lapsed the time is held")
		}
	})
}
