package holds

import (
	"context"
	"time"
)

// SelectionTTL is the lifetime of a selection that is not renewed.
const SelectionTTL = 10 * time.Second

// Selection records that a client is looking at a slot. It does not exclude other clients.
type Selection struct {
	Span
	Owner     Owner
	ExpiresAt time.Time // UTC
}

// Selections records which slots clients are looking at. A client has at most one selection.
type Selections interface {
	// Select marks a slot for SelectionTTL from now and publishes EventSelect unless the client had already selected
	// it. If the client had selected another slot, Select first ends that selection, with EventDeselect.
	Select(ctx context.Context, owner Owner, s Span) (Selection, error)

	// Deselect ends the client's selection with EventDeselect and reports whether there was one.
	Deselect(ctx context.Context, owner Owner) (bool, error)

	// Renew extends the client's selection to SelectionTTL from now and reports whether there was one. It publishes
	// nothing.
	Renew(ctx context.Context, owner Owner) (bool, error)

	// Selected lists the live selections of these specialists (all if none are given) whose slot overlaps [from, to),
	// by specialist and slot start. When a selection expires, the backend publishes EventDeselect with ReasonExpired.
	Selected(ctx context.Context, from, to time.Time, specialistIDs ...string) ([]Selection, error)
}
