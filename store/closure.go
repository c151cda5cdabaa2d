package store

import (
	"context"
	"time"
)

// Closure is an interval for which the practice-management system refused a booking with a specialist because the time
// is taken there. The engine decides how long a closure is valid. The store keeps it until it is deleted.
type Closure struct {
	ID           string // id of the refused appointment
	SpecialistID string
	Start        time.Time `column:"start_at"` // [Start, End)
	End          time.Time `column:"end_at"`
	Since        time.Time `column:"since_at"` // when it was refused
}

// ClosureReader reads closures.
type ClosureReader interface {
	// Closures lists all closures, ordered by the time of the refusal, then id.
	Closures(ctx context.Context) ([]Closure, error)
}

// ClosureWriter changes the closures.
type ClosureWriter interface {
	// PutClosure inserts or replaces by id. It returns ErrInvalid if c does not end after its start, or its specialist
	// does not exist.
	PutClosure(ctx context.Context, c Closure) error

	// DeleteClosure removes one closure. It is idempotent.
	DeleteClosure(ctx context.Context, id string) error
}
