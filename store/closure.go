package store

import (
	"context"
	"time"
)

// Closure is a stretch of a specialist's time that the practice-management system refused because it is taken there. How long
// that is believed is the engine's to say; the store keeps it until it is deleted.
type Closure struct {
	ID           string // of the appointment that was refused
	SpecialistID string
	Start        time.Time // [Start, End)
	End          time.Time
	Since        time.Time // when it was refused
}

// ClosureReader asks about closures.
type ClosureReader interface {
	// Closures lists all of them, the oldest refusal first, then by id.
	Closures(ctx context.Context) ([]Closure, error)
}

// ClosureWriter changes the closures.
type ClosureWriter interface {
	// PutClosure inserts or replaces by id. ErrInvalid if it does not end after it starts or names no specialist.
	PutClosure(ctx context.Context, c Closure) error

	// DeleteClosure removes one; idempotent.
	DeleteClosure(ctx context.Context, id string) error
}
