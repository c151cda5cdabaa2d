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
	Requests     int // booking requests removed, whole
	// OperationIDs are those whose copies in the queue must be blanked as well.
	OperationIDs []string
}

// PersonEraser erases people.
type PersonEraser interface {
	// Erase blanks the personal columns of every appointment of this person (a confirmed one keeps its time), and
	// the person's traces in outbox payloads, idempotency answers, audit entries and sessions; booking requests go whole. at
	// is now. A store in files of its own also takes what was blanked off them before it returns, and makes up later for what
	// it could not; in a database server no query finds it any more, and what the server's files hold is its operator's to let go.
	//
	// It is many transactions, each a bounded step, and other writes go on between them. The appointments are blanked
	// last: whoever repeats an erasure that did not get to its end finds everything that is left. last runs in the final
	// transaction with what was counted, so that whatever records the erasure commits with its end; the rules of
	// Store.Write are those of last.
	//
	// ErrInvalid unless p names somebody in exactly one way. ctx bounds the steps up to the final one.
	Erase(ctx context.Context, p Person, at time.Time, last func(Tx, Erased) error) (Erased, error)
}
