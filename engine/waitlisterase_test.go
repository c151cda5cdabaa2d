package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine/waitlist"
	"holdfast/store"
)

// TestErasedPersonLeavesWaitingList: the entry is deleted, and its offer passes to the next entry.
func TestErasedPersonLeavesWaitingList(t *testing.T) {
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c, _, noon := waitingRoom(t)
		ctx := context.Background()
		first, second := c.waits(1, c.wish(c.start)), c.waits(2, c.wish(c.start))
		c.mustCancel(noon.ID)
		c.wantOffered("before", first, "open waiting")
		erased, err := c.Person.Erase(ctx, "user:desk", store.Person{Email: "P1@example.org"})
		if err != nil || erased.Waitlist != 1 {
			t.Fatalf("erased: got %+v, %v; want one entry", erased, err)
		}
		synctest.Wait()
		if _, err := c.Waitlist.WaitingOf(ctx, first.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the entry of who was erased: %v", err)
		}
		c.wantOffered("the next", second, "open waiting")
	})
}

// TestCancelWithdrawsEarlierOffers: the offer of an earlier time ends when its appointment is cancelled.
func TestCancelWithdrawsEarlierOffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, noon := waitingRoom(t)
		r := bookingOf(1, "checkup")
		r.SlotStart = c.start.Add(2 * time.Hour)
		late := c.mustBook(r)
		e, err := c.Waitlist.Join(context.Background(), waitlist.JoinRequest{Sooner: &late, Wish: c.wish(c.start), Actor: "manage"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // entries of the same instant have no order
		next := c.waits(2, c.wish(c.start))
		c.mustCancel(noon.ID)
		c.wantOffered("before", e, "open waiting")
		c.mustCancel(late.ID)
		time.Sleep(time.Minute)
		c.wantOffered("who has cancelled", e, "withdrawn lapsed")
		c.wantOffered("the next", next, "open waiting")
	})
}
