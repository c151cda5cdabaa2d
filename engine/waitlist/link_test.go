package waitlist_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
)

// TestOfferLinkExpires: a patient who has not received the response accepts again with the link, and gets the same
// appointment. Two minutes later, the link in an old email is refused.
func TestOfferLinkExpires(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c, _, noon := waitingRoom(t)
		ctx := context.Background()
		e := waits(c, 1, wish(c, c.Start))
		c.MustCancel(noon.ID)
		offer := openOffer(c, e)
		a, err := c.Waitlist.Accept(ctx, offer.ID, "manage", nil)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := c.Waitlist.Accept(ctx, offer.ID, "manage", nil); err != nil || again.ID != a.ID {
			t.Errorf("immediate repeat: got %+v, %v", again, err)
		}
		time.Sleep(2 * time.Minute)
		if _, err := c.Waitlist.Accept(ctx, offer.ID, "manage", nil); !isEnded(err, "booked") {
			t.Errorf("two minutes later: got %v, want an error that it is booked", err)
		}
		if again, err := c.Waitlist.Accept(ctx, offer.ID, "user:desk", nil); err != nil || again.ID != a.ID {
			t.Errorf("the desk: got %+v, %v", again, err)
		}
	})
}
