package memory

import (
	"context"
	"time"

	"holdfast/holds"
)

// MarkBusy implements holds.Busy.
func (b *Backend) MarkBusy(_ context.Context, specialistID string, from, to time.Time) error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	b.busy.Mark(b.clock.now().wall, specialistID, from, to)
	return nil
}

// ClearBusy implements holds.Busy.
func (b *Backend) ClearBusy(_ context.Context, specialistID string, from, to time.Time) error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	b.busy.Clear(specialistID, from, to)
	return nil
}

// IsBusy implements holds.Busy.
func (b *Backend) IsBusy(_ context.Context, specialistID string, from, to time.Time) (bool, error) {
	if b.closed.Load() {
		return false, holds.ErrClosed
	}
	return b.busy.Is(specialistID, from, to), nil
}
