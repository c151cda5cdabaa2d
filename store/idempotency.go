package store

import (
	"context"
	"time"
)

// IdempotencyRetention is how long the store keeps a response.
const IdempotencyRetention = 24 * time.Hour

// IdempotencyRecord is the response to a successful write. It is committed with that write. If the client repeats the
// request, it gets the stored response.
type IdempotencyRecord struct {
	Scope       string   // hash of the credential or client, and the route
	Key         string   // as the caller sent it
	Fingerprint [32]byte // SHA-256 of the request body
	Status      int      // HTTP status of the response
	Body        []byte
	CreatedAt   time.Time
}

// IdempotencyReader reads stored responses.
type IdempotencyReader interface {
	// Recall returns the record of (scope, key) if it was created after notBefore. A record that it returns is as durable
	// as if its Write had just been acknowledged. Errors: ErrNotFound.
	Recall(ctx context.Context, scope, key string, notBefore time.Time) (IdempotencyRecord, error)
}

// IdempotencyWriter stores responses.
type IdempotencyWriter interface {
	// Remember stores r. It replaces a record with the same scope and key that is older than IdempotencyRetention at
	// r.CreatedAt. It returns ErrDuplicate if there already is a newer record: another request got a response first,
	// and this write must not take place.
	Remember(ctx context.Context, r IdempotencyRecord) error

	// ForgetAnswers removes up to limit records created before the instant and returns how many.
	ForgetAnswers(ctx context.Context, before time.Time, limit int) (int, error)
}
