package postgres

import (
	"context"
	"time"

	"holdfast/holds/node"
)

// sweep ends expired holds and selections and returns the time until the next expiry: less than 0 if it is unknown,
// node.Nothing if nothing can expire.
func (b *Backend) sweep(ctx context.Context, doubts int) (time.Duration, []string) {
	var next int64
	var taken []string
	err := b.call(ctx, `SELECT next, array_to_json(doubts) FROM holds_sweep($1, $2, $3, $4)`,
		[]any{node.SweepMost, node.Milliseconds(node.DoubtLease), doubts, b.booked != nil}, &next, &taken)
	if err != nil {
		return -1, nil
	}
	if next < 0 {
		return node.Nothing, taken
	}
	return time.Duration(next) * time.Millisecond, taken
}

// resolve publishes how one in-doubt hold ended. If that fails, a later sweep hands the hold to a node again.
func (b *Backend) resolve(ctx context.Context, doubt string) {
	kind, reason := node.Verdict(doubt, b.booked)
	err := b.call(ctx, `SELECT holds_resolve($1::text::json, $2, $3) IS NULL`,
		[]any{doubt, string(kind), string(reason)}, new(bool))
	if err != nil {
		b.logger.Warn("failed to publish the expiry of a hold; retrying", "error", err)
	}
}
