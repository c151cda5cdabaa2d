package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"holdfast/engine/enginetest"
	"holdfast/store"
)

// TestWhoIsErasedWaitsNoMore: the entry goes, and what was offered passes to the next.
func TestWhoIsErasedWaitsNoMore(t *testing.T) {
	enginetest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c, _, noon := waitingRoom(t)
		ctx := context.Background()
		first, second := c.waits(1, c.wish(c.start)), c.waits(2, c.wish(c.start))
		c.mustCancel(noon.ID)
		c.wantOffered("before", first, "open waiting")
		erased, err := c.Erase(ctx, "user:desk", store.Person{Email: "P1@example.org"})
		if err != nil || erased.Waitlist != 1 {
			t.Fatalf("erased: got %+v, %v; want one entry", erased, err)
		}
		synctest.Wait()
		if _, err := c.WaitingOf(ctx, first.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the entry of who was erased: %v", err)
		}
		c.wantOffered("the next", second, "open waiting")
	})
}
