package outbound

import (
	"context"
	"sync"
	"time"

	"holdfast/engine/timed"
	"holdfast/store"
)

// # Waits, and a clock that is set
//
// The queue keeps instants of the wall clock, since they outlive the process. A wait is a length of time all the same:
// when somebody sets the clock, whatever waits is planned anew, so that nothing is hurried and nothing stands still. Only
// what is due at an instant that people know, such as a reminder, stays where it is.

// clockEvery is how often the clock is looked at, besides before every attempt and after it.
const clockEvery = 10 * time.Second

// queueClock notices that the wall clock was set.
type queueClock struct {
	mu sync.RWMutex // held for reading while an operation is taken, for writing while waits are planned anew
	// The clocks when they were last taken for right: at with its monotonic reading, shown on the wall.
	at, shown time.Time
}

// stepped says by how much the wall clock was set. Steps of up to a second add up until they matter.
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

// wall is what the wall clock shows.
func (out *Outbound) wall() time.Time {
	if out.Options.Wall != nil {
		return out.Options.Wall()
	}
	return time.Now()
}

// Now is what the wall clock shows, as it is stored.
func (out *Outbound) Now() time.Time { return out.wall().UTC().Truncate(time.Millisecond) }

// watchClock looks at the clock until ctx ends.
func (out *Outbound) watchClock(ctx context.Context) {
	timed.Every(ctx, clockEvery, func(time.Time) { out.heedClock(ctx) })
}

// heedClock plans what waits anew if the clock was set.
func (out *Outbound) heedClock(ctx context.Context) {
	out.clock.mu.Lock()
	defer out.clock.mu.Unlock()
	step := out.clock.stepped(time.Now(), out.wall())
	if step == 0 {
		return
	}
	if out.Options.Shared { // the others' clocks were not set
		out.log.Warn("node clock changed; queue unchanged", "by", step.Round(time.Millisecond))
		out.ringLanes()
		return
	}
	out.log.Warn("system clock changed; queue rescheduled", "by", step.Round(time.Millisecond))
	if err := out.shiftWaits(ctx, step); err != nil && ctx.Err() == nil {
		out.queueFailed("queue not rescheduled after a clock change", err)
	}
	out.ringLanes()
}

// shiftWaits moves the end of every wait by what the clock was set by.
func (out *Outbound) shiftWaits(ctx context.Context, by time.Duration) error {
	before := out.Now().Add(-by)
	return out.EachPending(ctx, func(op store.Operation) error {
		due := !op.NextAttemptAt.After(before)
		if out.Outbox.Claimed(op.ID) || by > 0 && due || out.onTheDay(&op) {
			return nil
		}
		op.NextAttemptAt = op.NextAttemptAt.Add(by)
		if !op.AttemptedAt.IsZero() {
			op.AttemptedAt = op.AttemptedAt.Add(by) // a quarantine counts from it after a restart
		}
		return out.Queue.Change(ctx, op, "changed", "the clock was set")
	})
}

// onTheDay reports whether op waits for an instant of the calendar and not for a while.
func (out *Outbound) onTheDay(op *store.Operation) bool {
	asked := out.delivery(op.Kind).OnTheDay
	return asked != nil && op.AttemptedAt.IsZero() && asked(op)
}
