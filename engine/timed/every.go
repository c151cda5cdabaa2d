// Package timed contains helpers for work that depends on time: Every, a loop at an interval; Sleep, a wait that a
// signal can end; Outage, which logs a series of failures only once; and Map, which drops its oldest entries.
package timed

import (
	"context"
	"time"
)

// Every calls do at each interval, with the instant at which the call was due, until ctx is done. Calls do not overlap:
// a tick that is due while do is running is skipped. Every returns when the last call has returned.
func Every(ctx context.Context, interval time.Duration, do func(now time.Time)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if ctx.Err() != nil {
				return // the tick and ctx.Done were both ready
			}
			do(now)
		}
	}
}
