package booking_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/holds"
)

// forgetful is a live state that loses some holds as soon as they are created, as if it had failed over at that moment.
type forgetful struct {
	holds.Backend
	left int
}

func (f *forgetful) Claim(ctx context.Context, c holds.Claim) (holds.Hold, error) {
	h, err := f.Backend.Claim(ctx, c)
	if err == nil && f.left > 0 {
		f.left--
		_, err = f.Release(ctx, h.ID, h.Owner, holds.ReasonReleased)
	}
	return h, err
}

// TestBookingOutlivesLostHold: a client books or moves without naming a hold. If the live state fails and loses the
// hold that the server claimed for this, the client does not get an error about an expired hold.
func TestBookingOutlivesLostHold(t *testing.T) {
	t.Parallel()
	db := enginetest.Database(t)
	live := &forgetful{Backend: enginetest.Holds(t, db)}
	e, err := engine.New(t.Context(), engine.Options{Store: db, Holds: live})
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Run(t, e.Run)
	if _, err := e.Clinic.Import(t.Context(), "system", enginetest.ClinicFile(map[string]int{"ada": 1})); err != nil {
		t.Fatal(err)
	}
	start := enginetest.Noon(time.UTC, 2)
	live.left = 1
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart = start
	a, err := e.Booking.Book(t.Context(), r)
	if err != nil {
		t.Fatalf("booking: got %v, want success", err)
	}
	live.left = 1
	if _, err := e.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: a.ID,
		SlotStart: start.Add(time.Hour), Actor: "system"}); err != nil {
		t.Errorf("moving: got %v, want success", err)
	}
	live.left = 1000
	r = enginetest.BookingOf(2, "checkup")
	r.SlotStart = start
	if _, err := e.Booking.Book(t.Context(), r); !errors.Is(err, holds.ErrUnavailable) {
		t.Errorf("without live state: got %v, want ErrUnavailable", err)
	}
	live.left = 0
}
