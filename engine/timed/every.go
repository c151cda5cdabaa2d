// Package timed holds the parts that depend on passing time: Every, a loop that runs at an interval, Sleep, a wait that can be ended, and
// Map, which drops its oldest entries. Each of them exists once.
package timed

import (
	"context"
	"time"
)

// Every calls do each interval until ctx ends, with the instant at which it was due. One call ends before the next begins; what
// comes due meanwhile is left out. It returns when the last call has ended.
func Every(ctx context.Context, interval time.Duration, do func(now time.Time)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if ctx.Err() != nil {
				return // both were ready
			}
			do(now)
		}
	}
}
