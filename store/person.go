package store

import (
	"context"
	"time"
)

// Person names somebody to be erased by any one of these; the others are empty.
type Person struct {
	Email string // compared without case
	Phone string // compared by its digits
	Owner string
}

// Erased counts what was blanked.
type Erased struct {
	Appointments int
	Operations   int // outbox rows whose payload was blanked
	Answers      int // idempotency records removed
	AuditEntries int
	Sessions     int
	// OperationIDs are those whose copies in the queue must be blanked as well.
	OperationIDs []string
}

// PersonWriter erases people.
type PersonWriter interface {
	// Erase blanks the personal columns of every appointment of this person (a confirmed one keeps its time), and
	// the person's traces in outbox payloads, idempotency answers, audit entries and sessions. What is blanked
	// cannot be read from the file afterwards.
	Erase(ctx context.Context, p Person, at time.Time) (Erased, error)
}
