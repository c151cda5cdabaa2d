package waitlist_test

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/store"
)

// TestLostOfferIsWithdrawn: the specialist's day is closed while one of its times is offered. The offer is withdrawn.
// The patient gets an email about that only if the email about the offer has been sent.
func TestLostOfferIsWithdrawn(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		after  time.Duration
		emails int // about the offer and its end
	}{
		"before its email": {5 * time.Second, 0},
		"after its email":  {time.Minute, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, folder, noon := waitingRoom(t)
				e := waits(c, 1, wish(c, c.Start))
				c.MustCancel(noon.ID)
				o := openOffer(c, e)
				time.Sleep(x.after)
				if _, err := c.Clinic.PutOverride(t.Context(), enginetest.Jo, store.Override{SpecialistID: "ada",
					Date: store.DateOf(c.Start), Closed: true}, nil); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Minute)
				wantOffered(c, name, e, "withdrawn waiting")
				mails := c.Mails(folder, o.ID)
				if len(mails) != x.emails || x.emails > 0 && mails["waitlist_withdrawn"] == "" {
					t.Errorf("the emails are %q, want %d", mails, x.emails)
				}
				c.WantNoHolds()
			})
		})
	}
}

// TestUndoKeepsOffersOfOtherTimes: an undo withdraws only the offer of the time that it needs.
func TestUndoKeepsOffersOfOtherTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, noon := waitingRoom(t)
		before, after := wish(c, c.Start.Add(-time.Hour)), wish(c, c.Start.Add(time.Hour))
		e := waits(c, 1, wish(c, c.Start))
		c.DeskCancels(noon.ID)
		earlier, later := waits(c, 2, before), waits(c, 3, after)
		wantOffered(c, "of the time, before the undo", e, "open waiting")
		if _, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: noon.ID, Actor: enginetest.Jo}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		wantOffered(c, "of the time", e, "withdrawn waiting")
		wantOffered(c, "of an earlier time", earlier, "open waiting")
		wantOffered(c, "of a later time", later, "open waiting")
	})
}
