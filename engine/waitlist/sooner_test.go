package waitlist_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/waitlist"
	"holdfast/store"
)

// TestEntryEndsWithItsAppointment: an entry for an earlier time ends when its appointment was cancelled or has started,
// although no time became free. It stays if the cancellation is undone.
func TestEntryEndsWithItsAppointment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := waitingRoom(t)
		ctx := context.Background()
		waitsSooner := func(n int, start time.Time) (a store.Appointment, e store.WaitlistEntry) {
			r := enginetest.BookingOf(n, "checkup")
			r.SlotStart = start
			a = c.MustBook(r)
			e, err := c.Waitlist.Join(ctx, waitlist.JoinRequest{Sooner: &a, Wish: wish(c, c.Start), Actor: "manage"})
			if err != nil {
				t.Fatal(err)
			}
			return a, e
		}
		cancelled, gone := waitsSooner(1, c.Start.Add(24*time.Hour))
		undone, stays := waitsSooner(2, c.Start.Add(25*time.Hour))
		_, starts := waitsSooner(3, c.Start.Add(time.Hour))
		time.Sleep(59 * time.Second)
		c.DeskCancels(undone.ID)
		time.Sleep(2 * time.Second)
		c.MustCancel(cancelled.ID) // starts a round, which checks the entries
		time.Sleep(time.Second)
		if _, err := c.Booking.Undo(ctx, booking.UndoRequest{ID: undone.ID, Actor: enginetest.Jo}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		wantOffered(c, "whose appointment was cancelled", gone, "lapsed")
		wantOffered(c, "whose cancellation was undone", stays, "waiting")
		wantOffered(c, "whose appointment is still to come", starts, "waiting")
		time.Sleep(time.Until(c.Start.Add(time.Hour + 2*time.Minute)))
		wantOffered(c, "whose appointment has started", starts, "lapsed")
	})
}
