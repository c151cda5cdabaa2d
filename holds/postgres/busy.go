package postgres

import (
	"context"
	"time"

	"holdfast/holds"
)

// MarkBusy implements holds.Busy. Busy time is this process's: every node follows every appointment, and does so in the writer's
// turn, which must not wait for the network.
func (b *Backend) MarkBusy(_ context.Context, specialistID string, from, to time.Time) error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	b.busy.Mark(time.Now(), specialistID, from, to)
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
