package outbound_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/enginetest"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// lostQueue can be read only while it is reachable.
type lostQueue struct {
	store.Queue
	lost *atomic.Bool
}

func (q lostQueue) NextDue(ctx context.Context, kinds ...store.OperationKind) (time.Time, error) {
	if q.lost.Load() {
		return time.Time{}, fmt.Errorf("%w: connection refused", store.ErrUnavailable)
	}
	return q.Queue.NextDue(ctx, kinds...)
}

// TestQueueOutageIsOneLineInTheLog: every worker calls the queue once a second while it is unreachable for an hour.
func TestQueueOutageIsOneLineInTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost := &atomic.Bool{}
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{},
			Change: func(o *engine.Options) {
				o.Queue = lostQueue{o.Queue, lost}
			}})
		lost.Store(true)
		r := enginetest.BookingOf(1, "cleaning") // this wakes the workers
		r.SlotStart = p.SlotAt(40)
		if _, err := p.Booking.Book(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait() // no worker is about to report a failure
		lost.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, line := range []string{"failed to read due operations; retrying", "reading of due operations resumed"} {
			if n := strings.Count(p.Log.String(), line); n != 1 {
				t.Errorf("the log has %q %d times, want once", line, n)
			}
		}
	})
}
