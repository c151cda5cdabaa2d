package redis

import (
	"context"
	"time"

	"holdfast/holds/node"
)

// sweep ends expired holds and selections and returns the time until the next expiry, or less than 0 if nothing can
// expire or the time is unknown.
func (b *Backend) sweep(ctx context.Context, doubts int) (time.Duration, []string) {
	reply, err := b.run(ctx, sweepScript, []string{deadlinesKey, selectionsKey, doubtsKey}, node.SweepMost,
		node.Milliseconds(node.DoubtLease), doubts, b.booked != nil)
	if err != nil || len(reply) == 0 {
		return -1, nil
	}
	taken := make([]string, 0, len(reply)-1)
	for i := range reply[1:] {
		taken = append(taken, text(reply, i+1))
	}
	return time.Duration(number(reply, 0)) * time.Millisecond, taken
}

// resolve publishes how one in-doubt hold ended. If that fails, a later sweep hands the hold to a node again.
func (b *Backend) resolve(ctx context.Context, doubt string) {
	kind, reason := node.Verdict(doubt, b.booked)
	if _, err := b.run(ctx, resolveScript, []string{doubtsKey}, doubt, string(kind), string(reason)); err != nil {
		b.logger.Warn("failed to publish the expiry of a hold; retrying", "error", err)
	}
}
