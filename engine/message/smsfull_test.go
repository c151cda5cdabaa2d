package message_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine"
	"holdfast/engine/notice/noticetest"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// fullStore refuses every write while it is full, like a database on a full disk.
type fullStore struct {
	store.Store
	full *atomic.Bool
}

func (s fullStore) Write(ctx context.Context, fn func(store.Tx) error) error {
	if s.full.Load() {
		return store.ErrFull
	}
	return s.Store.Write(ctx, fn)
}

// TestLostTextMessageIsNotRepeatedAfterFullDisk: the gateway accepts a message and closes the connection, and the disk
// is full when the server records that the outcome is unknown.
func TestLostTextMessageIsNotRepeatedAfterFullDisk(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake, full := noticetest.NewGateway(t), &atomic.Bool{}
	synctest.Test(t, func(t *testing.T) {
		c := smsClinic(t, fake, func(o *engine.Options) { o.Store = fullStore{o.Store, full} })
		fake.Answer(func(noticetest.Text) (int, string) {
			full.Store(true)
			return 0, ""
		})
		a := c.MustBook(texting(c))
		time.Sleep(time.Minute)
		fake.Answer(nil)
		full.Store(false)
		time.Sleep(10 * time.Minute)
		if n := len(fake.Texts()); n != 1 {
			t.Errorf("the gateway received %d messages, want 1", n)
		}
		list, err := c.Record.Deliveries(context.Background(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			if d.Channel == "sms" && d.Notice == "confirmation" && d.State != outbound.DeliveryReview {
				t.Errorf("the delivery is %s (%s), want needs_review", d.State, d.Detail)
			}
		}
	})
}
