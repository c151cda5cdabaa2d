package redis

import (
	"errors"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/redis/redistest"
)

// TestOneDatabaseToARedis: a second node with a database of its own is refused until the first has left.
func TestOneDatabaseToARedis(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		ctx := t.Context()
		first, second := open(t, s, Options{Lease: "one"}), open(t, s, Options{Lease: "two"})
		shared := open(t, s, Options{})
		for range 2 {
			if err := first.Ping(ctx); err != nil {
				t.Fatal(err)
			}
		}
		var taken *LeaseError
		err := second.Ping(ctx)
		if !errors.As(err, &taken) || taken.Holder != "one" || taken.Left <= 0 || taken.Left > leaseTime || !errors.Is(err, holds.ErrUnavailable) {
			t.Errorf("got %v, want a LeaseError of one, within %v", err, leaseTime)
		}
		if err := shared.Ping(ctx); err != nil {
			t.Errorf("a node whose database is shared: got %v", err)
		}
		again := open(t, s, Options{Lease: "one"}) // the same node, started anew after a crash
		if err := again.Ping(ctx); err != nil {
			t.Errorf("the same node: got %v", err)
		}
		if left, err := first.client.PTTL(ctx, leaseKey).Result(); err != nil || left <= 0 || left > 30*time.Second {
			t.Errorf("the lease ends in %v, %v, want within 30 s", left, err)
		}
		if err := first.Close(); err != nil {
			t.Error(err)
		}
		if err := second.Ping(ctx); err != nil {
			t.Errorf("after the first has left: got %v", err)
		}
	})
}
