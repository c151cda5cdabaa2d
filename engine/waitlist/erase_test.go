package waitlist_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/waitlist"
	"holdfast/store"
)

// TestErasedPersonLeavesWaitingList: the entry is deleted, and its offer passes to the next entry.
func TestErasedPersonLeavesWaitingList(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c, _, noon := waitingRoom(t)
		ctx := context.Background()
		first, second := waits(c, 1, wish(c, c.Start)), waits(c, 2, wish(c, c.Start))
		c.MustCancel(noon.ID)
		wantOffered(c, "before", first, "open waiting")
		erased, err := c.Person.Erase(ctx, "user:desk", store.Person{Email: "P1@example.org"})
		if err != nil || erased.Waitlist != 1 {
			t.Fatalf("erased: got %+v, %v; want one entry", erased, err)
		}
		synctest.Wait()
		if _, err := c.Waitlist.WaitingOf(ctx, first.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the entry of the erased person: %v", err)
		}
		wantOffered(c, "the next", second, "open waiting")
	})
}

// TestCancelWithdrawsEarlierOffers: the offer of an earlier time ends when the appointment is cancelled.
func TestCancelWithdrawsEarlierOffers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, noon := waitingRoom(t)
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start.Add(2 * time.Hour)
		late := c.MustBook(r)
		e, err := c.Waitlist.Join(context.Background(), waitlist.JoinRequest{Sooner: &late,
			Wish: wish(c, c.Start), Actor: "manage"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // entries created at the same instant have no order
		next := waits(c, 2, wish(c, c.Start))
		c.MustCancel(noon.ID)
		wantOffered(c, "before", e, "open waiting")
		c.MustCancel(late.ID)
		time.Sleep(time.Minute)
		wantOffered(c, "the cancelled entry", e, "withdrawn lapsed")
		wantOffered(c, "the next", next, "open waiting")
	})
}

// TestLinkOfCorrectedAddressMovesNothing: the desk corrects the email address of an appointment with an open offer of
// an earlier time. The link in the email to the old address does not move anything, even before the next round ends the
// offer.
func TestLinkOfCorrectedAddressMovesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, noon := waitingRoom(t)
		ctx := context.Background()
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start.Add(2 * time.Hour)
		late := c.MustBook(r)
		e, err := c.Waitlist.Join(ctx, waitlist.JoinRequest{Sooner: &late, Wish: wish(c, c.Start), Actor: "manage"})
		if err != nil {
			t.Fatal(err)
		}
		c.MustCancel(noon.ID)
		wantOffered(c, "before", e, "open waiting")
		x, err := c.Waitlist.WaitingOf(ctx, e.ID)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if _, err := c.Booking.ChangePatient(ctx, booking.PatientRequest{ID: late.ID, Actor: "user:desk",
			Edit: func(p *store.Patient) { p.Email = "right@example.org" }}); err != nil {
			t.Fatal(err)
		}
		var ended *waitlist.EndedError
		if a, err := c.Waitlist.Accept(ctx, x.Offer().ID, "manage", nil); !errors.As(err, &ended) {
			t.Errorf("the old link: got %s at %s, %v; want that the offer has ended", a.Patient.Email, a.SlotStart, err)
		}
		if a, err := c.Booking.Appointment(ctx, late.ID); err != nil || !a.SlotStart.Equal(late.SlotStart) {
			t.Errorf("the appointment: got %s, %v; want %s", a.SlotStart, err, late.SlotStart)
		}
	})
}
