package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/holds"
	"holdfast/holds/node"
)

// TestEarWaitsForEvents: a call waits while events are not being received. It returns when they are, when its own
// context is done, or when the backend is closed.
func TestEarWaitsForEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := context.Background()
		ear := node.NewEar("Redis")
		wait := func(ctx, closed context.Context) chan error {
			done := make(chan error, 1)
			go func() { done <- ear.Wait(ctx, closed) }()
			synctest.Wait()
			return done
		}
		ended := func(done chan error) bool {
			synctest.Wait()
			return len(done) == 1
		}

		first, second := wait(open, open), wait(open, open)
		if ended(first) || ended(second) {
			t.Fatal("a call did not wait for the first events")
		}
		ear.Set(true)
		ear.Set(true) // again, which must change nothing
		if !ended(first) || !ended(second) || <-first != nil || <-second != nil {
			t.Fatal("the waiting calls failed after events arrived")
		}
		if err := ear.Wait(open, open); err != nil {
			t.Errorf("while events arrive: %v", err)
		}

		ear.Set(false)
		long := wait(open, open)
		ear.Set(false) // again, which must not lose a waiting call
		limited, cancel := context.WithTimeout(open, time.Second)
		defer cancel()
		if err := ear.Wait(limited, open); !errors.Is(err, holds.ErrUnavailable) ||
			!strings.Contains(err.Error(), "Redis") {
			t.Errorf("without events for a second: got %v, want ErrUnavailable of Redis", err)
		}
		closed, closing := context.WithCancel(open)
		waiting := wait(open, closed)
		closing()
		if !ended(waiting) {
			t.Fatal("the call still waits after Close")
		}
		if err := <-waiting; !errors.Is(err, holds.ErrClosed) {
			t.Errorf("after Close: got %v, want ErrClosed", err)
		}
		ear.Set(true)
		if !ended(long) {
			t.Fatal("the call still waits after events arrive again")
		}
		if err := <-long; err != nil {
			t.Errorf("after events arrive again: %v", err)
		}
	})
}
