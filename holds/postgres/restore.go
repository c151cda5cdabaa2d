package postgres

import (
	"context"
	"errors"
	"time"

	"holdfast/holds"
	"holdfast/holds/node"
)

var _ holds.Restorer = (*Backend)(nil)

// Restore implements holds.Restorer. It keeps the id. What is left is reckoned on this node's clock, which has to agree with the
// server's as nodes' clocks do.
func (b *Backend) Restore(ctx context.Context, r holds.Remains) (holds.Hold, error) {
	pinned := int64(0)
	if r.Pinned {
		pinned = max(1, node.Milliseconds(time.Until(r.ExpiresAt)))
	}
	call := newCall()
	args := append([]any{r.ID, r.Owner.String()}, spanArgs(&r.Span)...)
	args = append(args, r.Seat, node.Milliseconds(time.Until(r.LapsesAt)), pinned, node.Milliseconds(time.Until(r.MaxExpiresAt)),
		node.Milliseconds(r.Life), r.Restarts, call, b.booked != nil)
	h, err := b.take(ctx, `SELECT word, until, COALESCE(hold::text, '') FROM holds_restore($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
		$15, $16)`, args)
	if errors.Is(err, holds.ErrUnavailable) {
		if h, last, look := b.readBack(ctx, r.ID, err); look == nil && last == call {
			return h, nil
		}
	}
	return h, err
}

// RestoreSelection implements holds.Restorer.
func (b *Backend) RestoreSelection(ctx context.Context, s holds.Selection) error {
	_, err := b.selectFor(ctx, s.Owner, s.Span, max(time.Millisecond, time.Until(s.ExpiresAt)))
	return err
}

// RestorePresent implements holds.Restorer.
func (b *Backend) RestorePresent(ctx context.Context, p holds.Present) error {
	return b.call(ctx, `SELECT holds_present_again($1, $2, $3, $4, $5) IS NULL`,
		[]any{p.SpecialistID, p.Online, p.Deactivated, node.Unix(p.HeartbeatAt), small(p.Max)}, new(bool))
}
