package store

import (
	"context"
	"time"
)

// IdempotencyRetention is how long an answer is remembered.
const IdempotencyRetention = 24 * time.Hour

// IdempotencyRecord is the answer to a successful write, kept so that a repeat gets it again. It commits with the
// write it answers.
type IdempotencyRecord struct {
	Scope       string   // hash of the credential or client, and the route
	Key         string   // as the caller sent it
	Fingerprint [32]byte // SHA-256 of the request body
	Status      int      // HTTP status of the answer
	Body        []byte
	CreatedAt   time.Time
}

// IdempotencyReader asks for remembered answers.
type IdempotencyReader interface {
	// Recall returns the record of (scope, key) if it was made after notBefore. ErrNotFound.
	Recall(ctx context.Context, scope, key string, notBefore time.Time) (IdempotencyRecord, error)
}

// IdempotencyWriter remembers answers.
type IdempotencyWriter interface {
	// Remember stores r, replacing a record of the same scope and key that is past IdempotencyRetention at
	// r.CreatedAt. ErrDuplicate if a live one exists: another request answered first, and this write must not happen.
	Remember(ctx context.Context, r IdempotencyRecord) error

	// ForgetAnswers removes up to limit records made before the instant and says how many.
	ForgetAnswers(ctx context.Context, before time.Time, limit int) (int, error)
}
