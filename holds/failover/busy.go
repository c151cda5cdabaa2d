package failover

import (
	"context"
	"errors"
	"time"

	"holdfast/holds"
)

// FollowBusy implements holds.Busy. Both backends receive every change, whichever one is active. Neither call waits for
// the network.
func (b *Backend) FollowBusy(ctx context.Context, change int64, freed, taken holds.Booked) error {
	return errors.Join(b.fallback.FollowBusy(ctx, change, freed, taken),
		b.primary.FollowBusy(ctx, change, freed, taken))
}

// ClearBusy implements holds.Busy.
func (b *Backend) ClearBusy(ctx context.Context, specialistID string, from, to time.Time) error {
	return errors.Join(b.fallback.ClearBusy(ctx, specialistID, from, to),
		b.primary.ClearBusy(ctx, specialistID, from, to))
}
