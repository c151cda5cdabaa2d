package postgres

import (
	"context"
	"time"

	"holdfast/holds"
)

// FollowBusy implements holds.Busy. It does nothing: holds_claim reads the appointments, which are in the same
// database.
func (b *Backend) FollowBusy(context.Context, int64, holds.Booked, holds.Booked) error {
	return b.alive()
}

// ClearBusy implements holds.Busy. Like FollowBusy, it does nothing.
func (b *Backend) ClearBusy(context.Context, string, time.Time, time.Time) error { return b.alive() }

func (b *Backend) alive() error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	return nil
}
