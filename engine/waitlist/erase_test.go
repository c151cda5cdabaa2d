package waitlist_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
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

// TestCancelWithdrawsEarlierOffers: the offer of an earlier time ends when its appointment is cancelled.
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
		time.Sleep(time.Second) // entries of the same instant have no order
		next := waits(c, 2, wish(c, c.Start))
		c.MustCancel(noon.ID)
		wantOffered(c, "before", e, "open waiting")
		c.MustCancel(late.ID)
		time.Sleep(time.Minute)
		wantOffered(c, "the cancelled entry", e, "withdrawn lapsed")
		wantOffered(c, "the next", next, "open waiting")
	})
}
