package outbound

import (
	"context"
	"sync"
	"time"

	"holdfast/engine/timed"
	"holdfast/store"
)

// # Waits and changes of the clock
//
// The queue stores wall-clock times, because they outlive the process. A wait, however, is a length of time. So when
// the wall clock is set, the queue reschedules the waiting operations, so that none of them is attempted too early or
// waits too long. Only operations that are due at a calendar time, such as reminders, do not change.

// clockEvery is how often the clock is checked. The clock is also checked before and after every attempt.
const clockEvery = 10 * time.Second

// queueClock detects changes to the wall clock.
type queueClock struct {
	mu sync.RWMutex // held for reading while a worker takes an operation, for writing while waits change
	// The readings at the first check or the last change: at has a monotonic reading, and shown is the wall clock.
	at, shown time.Time
}

// stepped returns how far the wall clock has been stepped. It returns 0 as long as the steps add up to at most one
// second.
func (c *queueClock) stepped(now, wall time.Time) time.Duration {
	step := wall.Round(0).Sub(c.shown) - now.Sub(c.at)
	if !c.at.IsZero() && step.Abs() <= time.Second {
		return 0
	}
	known := !c.at.IsZero()
	if c.at, c.shown = now, wall.Round(0); !known {
		return 0
	}
	return step
}

// wall returns the wall-clock time.
func (out *Outbound) wall() time.Time {
	if out.Options.Wall != nil {
		return out.Options.Wall()
	}
	return time.Now()
}

// Now returns the wall-clock time in the form in which it is stored: in UTC and whole milliseconds.
func (out *Outbound) Now() time.Time { return out.wall().UTC().Truncate(time.Millisecond) }

// watchClock checks the clock until ctx is done.
func (out *Outbound) watchClock(ctx context.Context) {
	timed.Every(ctx, clockEvery, func(time.Time) { out.heedClock(ctx) })
}

// heedClock reschedules the waiting operations if the wall clock has been set. It does not change a queue that several
// nodes share.
func (out *Outbound) heedClock(ctx context.Context) {
	out.clock.mu.Lock()
	defer out.clock.mu.Unlock()
	step := out.clock.stepped(time.Now(), out.wall())
	if step == 0 {
		return
	}
	if out.Options.Shared { // the clocks of the other nodes were not set
		out.log.Warn("node clock changed; queue unchanged", "by", step.Round(time.Millisecond))
		out.ringLanes()
		return
	}
	out.log.Warn("system clock changed; queue rescheduled", "by", step.Round(time.Millisecond))
	if err := out.shiftWaits(ctx, step); err != nil && ctx.Err() == nil {
		out.queueFailed(nil, "failed to reschedule the queue after a clock change", err)
	}
	out.ringLanes()
}

// shiftWaits moves the end of every wait by the step of the clock. It skips claimed operations, operations that wait
// for a calendar time and, if the clock was set forward, operations that were already due or were created since then.
func (out *Outbound) shiftWaits(ctx context.Context, by time.Duration) error {
	before := out.Now().Add(-by)
	return out.EachPending(ctx, func(op store.Operation) error {
		due, isNew := !op.NextAttemptAt.After(before), op.AttemptedAt.IsZero() && op.CreatedAt.After(before)
		if out.Outbox.Claimed(op.ID) || by > 0 && (due || isNew) || out.onTheDay(&op) {
			return nil
		}
		op.NextAttemptAt = op.NextAttemptAt.Add(by)
		if !op.AttemptedAt.IsZero() {
			op.AttemptedAt = op.AttemptedAt.Add(by) // after a restart, the quarantine is counted from AttemptedAt
		}
		return out.Queue.Change(ctx, op, "changed", "the system clock changed")
	})
}

// onTheDay reports whether op waits for a calendar time, not for a length of time.
func (out *Outbound) onTheDay(op *store.Operation) bool {
	asked := out.delivery(op.Kind).OnTheDay
	return asked != nil && asked(op)
}
