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

// TestEntryEndsWithItsAppointment: an entry for an earlier time ends when its appointment has been cancelled or has
// started, or belongs to another email address, even if no time has become free. It stays if the cancellation is
// undone.
func TestEntryEndsWithItsAppointment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := waitingRoom(t)
		ctx := context.Background()
		books := func(n int, start time.Time) store.Appointment {
			r := enginetest.BookingOf(n, "checkup")
			r.SlotStart = start
			return c.MustBook(r)
		}
		today := c.Start.Add(-50 * time.Hour) // 10:00; it is 9:00
		books(5, today)
		waitsSooner := func(n int, start time.Time) (a store.Appointment, e store.WaitlistEntry) {
			a = books(n, start)
			e, err := c.Waitlist.Join(ctx, waitlist.JoinRequest{Sooner: &a, Wish: wish(c, today), Actor: "manage"})
			if err != nil {
				t.Fatal(err)
			}
			return a, e
		}
		cancelled, gone := waitsSooner(1, c.Start.Add(24*time.Hour))
		undone, stays := waitsSooner(2, c.Start.Add(25*time.Hour))
		_, starts := waitsSooner(3, today.Add(time.Hour))
		corrected, others := waitsSooner(4, c.Start.Add(26*time.Hour))
		if _, err := c.Booking.ChangePatient(ctx, booking.PatientRequest{ID: corrected.ID, Actor: enginetest.Jo,
			Edit: func(p *store.Patient) { p.Email = "lena@example.org" }}); err != nil {
			t.Fatal(err)
		}
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
		wantOffered(c, "whose appointment has another email address", others, "lapsed")
		wantOffered(c, "whose appointment is still to come", starts, "waiting")
		time.Sleep(time.Until(today.Add(time.Hour + 2*time.Minute)))
		wantOffered(c, "whose appointment has started", starts, "lapsed")
	})
}

// TestUndoneCancellationKeepsOffer: while the desk can undo the cancellation of an appointment, its entry for an earlier
// time keeps its offer and gets no new one. The entry ends only if the desk does not undo the cancellation.
func TestUndoneCancellationKeepsOffer(t *testing.T) {
	t.Parallel()
	for name, isUndone := range map[string]bool{"undone": true, "final": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, noon := waitingRoom(t)
				ctx := context.Background()
				booked := func(n int, at time.Time) store.Appointment {
					r := enginetest.BookingOf(n, "checkup")
					r.SlotStart = at
					return c.MustBook(r)
				}
				one := booked(1, c.Start.Add(time.Hour)) // free during the undo time
				waitsSooner := func(n int, wanted time.Time) (store.Appointment, store.WaitlistEntry) {
					a := booked(n, c.Start.Add(time.Duration(n)*time.Hour))
					e, err := c.Waitlist.Join(ctx, waitlist.JoinRequest{Sooner: &a, Wish: wish(c, wanted), Actor: "manage"})
					if err != nil {
						t.Fatal(err)
					}
					return a, e
				}
				offeredOne, hasOffer := waitsSooner(2, noon.SlotStart)
				waitingOne, hasNone := waitsSooner(3, one.SlotStart)
				c.MustCancel(noon.ID)
				time.Sleep(time.Minute) // the email about the offer
				wantOffered(c, "before, with an offer", hasOffer, "open waiting")
				c.DeskCancels(offeredOne.ID)
				c.DeskCancels(waitingOne.ID)
				c.MustCancel(one.ID)
				time.Sleep(5 * time.Second)
				wantOffered(c, "with an offer, during the undo time", hasOffer, "open waiting")
				wantOffered(c, "without an offer, during the undo time", hasNone, "waiting")
				first, second := "withdrawn lapsed", "lapsed"
				if isUndone {
					for _, a := range []store.Appointment{offeredOne, waitingOne} {
						if _, err := c.Booking.Undo(ctx, booking.UndoRequest{ID: a.ID, Actor: enginetest.Jo}); err != nil {
							t.Fatal(err)
						}
					}
					first, second = "open waiting", "open waiting"
				}
				time.Sleep(30 * time.Second)
				wantOffered(c, "with an offer", hasOffer, first)
				wantOffered(c, "without an offer", hasNone, second)
			})
		})
	}
}
