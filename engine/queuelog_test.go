package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
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

// TestQueueOutageIsOneLineInTheLog: every worker asks the queue once a second while it is unreachable for an hour.
func TestQueueOutageIsOneLineInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := &atomic.Bool{}
		p := newPractice(t, practiceOptions{upstream: &upstreamtest.Options{}, change: func(o *engine.Options) {
			o.Queue = lostQueue{o.Queue, lost}
		}})
		lost.Store(true)
		r := bookingOf(1, "cleaning") // wakes the workers
		r.SlotStart = p.slotAt(40)
		if _, err := p.Booking.Book(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		lost.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, line := range []string{"due operations not read; retrying", "due operations read again"} {
			if n := strings.Count(p.log.String(), line); n != 1 {
				t.Errorf("the log has %q %d times, want once", line, n)
			}
		}
	})
}
