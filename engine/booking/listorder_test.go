package booking_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/enginetest"
	"holdfast/holds"
)

// A confirmingBackend runs confirm once, at the start of the first List after confirm is set.
type confirmingBackend struct {
	holds.Backend
	mu      sync.Mutex
	confirm func()
}

func (b *confirmingBackend) List(ctx context.Context, ids ...string) ([]holds.Hold, error) {
	b.mu.Lock()
	confirm := b.confirm
	b.confirm = nil
	b.mu.Unlock()
	if confirm != nil {
		confirm()
	}
	return b.Backend.List(ctx, ids...)
}

// TestListReadsHoldsBeforeBookings books a held slot just before a listing reads the holds. If the listing read the
// bookings first, it would find neither the hold nor the booking, and would list the slot as free.
func TestListReadsHoldsBeforeBookings(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := enginetest.DatabaseAt(t, t.TempDir()+"/holdfast.db")
	live := &confirmingBackend{Backend: enginetest.Holds(t, db)}
	e, err := engine.New(ctx, engine.Options{Store: db, Holds: live})
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Run(t, e.Run)
	if _, err := e.Clinic.Import(ctx, "system", enginetest.ClinicFile(map[string]int{"ada": 1})); err != nil {
		t.Fatal(err)
	}
	c := &enginetest.TestClinic{Engine: e, T: t, Store: db, Start: enginetest.Noon(time.UTC, 2)}
	bookNow := func(n int, start time.Time) {
		h := c.MustHold(n, "checkup", start, "ada")
		live.mu.Lock()
		defer live.mu.Unlock()
		live.confirm = func() {
			r := enginetest.BookingOf(n, "checkup")
			r.HoldID = h.ID
			c.MustBook(r)
		}
	}
	t.Run("timeslots", func(t *testing.T) {
		bookNow(1, c.Start)
		if s := c.Slot(9, "checkup", c.Start, "ada"); s != nil && s.Available > s.Held {
			t.Errorf("got %+v, want the slot not listed as free", s)
		}
	})
	t.Run("explain", func(t *testing.T) {
		start := c.Start.Add(24 * time.Hour)
		bookNow(2, start)
		got, err := e.Booking.Explain(ctx, "checkup", "ada", start, "")
		if err != nil || len(got) != 1 || got[0].Bookable {
			t.Errorf("got %+v, %v, want it not bookable", got, err)
		}
	})
}
