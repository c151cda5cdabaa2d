package failover

import (
	"context"
	"time"

	"holdfast/holds"
)

// MarkBusy implements holds.Busy. It does not wait for the primary: whoever follows the feed marks what was booked, in the
// turn of the writer.
func (b *Backend) MarkBusy(ctx context.Context, specialistID string, from, to time.Time) error {
	return b.mark(func(ctx context.Context, at holds.Backend) error { return at.MarkBusy(ctx, specialistID, from, to) }, ctx)
}

// ClearBusy implements holds.Busy.
func (b *Backend) ClearBusy(ctx context.Context, specialistID string, from, to time.Time) error {
	return b.mark(func(ctx context.Context, at holds.Backend) error { return at.ClearBusy(ctx, specialistID, from, to) }, ctx)
}

func (b *Backend) mark(mark func(ctx context.Context, at holds.Backend) error, ctx context.Context) error {
	err := mark(ctx, b.fallback)
	b.mu.RLock()
	defer b.mu.RUnlock()
	if err == nil && !b.onFallback {
		select {
		case b.behind <- func(ctx context.Context) error { return mark(ctx, b.primary) }:
		default: // nobody reads it there
		}
	}
	return err
}

// IsBusy implements holds.Busy.
func (b *Backend) IsBusy(ctx context.Context, specialistID string, from, to time.Time) (bool, error) {
	return b.fallback.IsBusy(ctx, specialistID, from, to)
}

// writeBehind writes what no caller waits for: busy ticks to the primary, for people who look there. It runs until Close.
func (b *Backend) writeBehind() {
	for {
		select {
		case <-b.done.Done():
			return
		case write := <-b.behind:
			if err := write(b.done); err != nil {
				b.logger.Debug("what may wait is not written", "error", err)
			}
		}
	}
}
