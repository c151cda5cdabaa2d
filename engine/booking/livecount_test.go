package booking_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/holds"
	"holdfast/store"
)

// TestPollSeesTheHoldOfAVisit: a poll shows the hold of a visit immediately, even though no time has passed since the
// last poll.
func TestPollSeesTheHoldOfAVisit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		held := func() int {
			t.Helper()
			p, err := c.Booking.Poll(t.Context(), booking.PollRequest{AppointmentTypeID: "checkup",
				Date: store.DateOf(c.Start), Client: enginetest.Client(9)})
			if err != nil {
				t.Fatal(err)
			}
			return len(p.Locked)
		}
		before := held()
		if _, err := c.HoldVisit(1, c.Start, "ada", "checkup", "checkup"); err != nil {
			t.Fatal(err)
		}
		if got := held(); got <= before {
			t.Errorf("%d starts are marked after the visit's hold, and %d before", got, before)
		}
	})
}

// pausedPing is a live state whose ping returns only when the test supplies the result.
type pausedPing struct {
	holds.Backend
	answer chan error
}

func (p pausedPing) Ping(ctx context.Context) error {
	select {
	case err := <-p.answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestHealthWaitsForTheFirstCheck: callers that arrive during the first check wait for its result instead of assuming
// that the live state is healthy.
func TestHealthWaitsForTheFirstCheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.DatabaseAt(t, filepath.Join(t.TempDir(), "holdfast.db"))
		paused := pausedPing{enginetest.Holds(t, db), make(chan error)}
		c, err := engine.New(t.Context(), engine.Options{Store: db, Holds: paused})
		if err != nil {
			t.Fatal(err)
		}
		enginetest.Run(t, c.Run)
		answers := make(chan error, 2)
		for range 2 {
			go func() { answers <- c.Booking.LiveStateHealth(t.Context()) }()
		}
		synctest.Wait()
		select {
		case err := <-answers:
			t.Fatalf("an answer came before the first check: %v", err)
		default:
		}
		broken := errors.New("broken")
		paused.answer <- broken
		for range 2 {
			if err := <-answers; !errors.Is(err, broken) {
				t.Errorf("got %v, want the answer of the first check", err)
			}
		}
	})
}
