package timed

import (
	"context"
	"time"
)

// Sleep waits until d has passed, woken sends a signal, or ctx is done, whichever comes first. A negative d means no
// time limit.
func Sleep(ctx context.Context, d time.Duration, woken <-chan struct{}) {
	if d == 0 {
		return
	}
	var after <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-ctx.Done():
	case <-woken:
	case <-after:
	}
}
