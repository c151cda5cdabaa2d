package engine

import (
	"context"

	"holdfast/store"
)

// Audit lists who did what, newest first, a page at a time. store.ErrInvalid for a foreign cursor.
func (e *Engine) Audit(ctx context.Context, f store.AuditFilter) ([]store.AuditEntry, string, error) {
	return e.store.Audit(ctx, f)
}

// Deliveries says what became of the notices about one appointment, oldest first.
func (e *Engine) Deliveries(ctx context.Context, appointmentID string) ([]store.Delivery, error) {
	return e.store.Deliveries(ctx, appointmentID)
}
