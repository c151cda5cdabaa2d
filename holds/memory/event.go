package memory

import (
	"context"

	"holdfast/holds"
)

// Epoch implements holds.Table.
func (b *Backend) Epoch() string { return b.log.Epoch() }

// Publish implements holds.Table. If At is zero, the event gets the time of the call.
func (b *Backend) Publish(_ context.Context, e holds.Event) error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	if e.At.IsZero() {
		e.At = b.clock.now().wall
	}
	b.log.Publish(&e)
	return nil
}

// Watch implements holds.Table.
func (b *Backend) Watch(_ context.Context, specialistIDs ...string) (holds.Watch, error) {
	return b.log.Watch(specialistIDs...)
}
