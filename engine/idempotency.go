package engine

import (
	"context"
	"errors"
	"time"

	"holdfast/store"
)

// Once makes one request happen at most once. A nil *Once asks for nothing.
type Once struct {
	Scope       string   // hash of the credential or client, and the route
	Key         string   // the caller's Idempotency-Key
	Fingerprint [32]byte // SHA-256 of the request body
	// Answer renders the reply to a result (an appointment, a session …), so that it can be remembered in the same
	// transaction as the write it answers. It must be pure.
	Answer func(result any) (status int, body []byte)
}

// Recall returns the answer remembered for o, or nil if the request is new. ErrIdempotencyMismatch if the key was used
// with another body.
func (e *Engine) Recall(ctx context.Context, o *Once) (*store.IdempotencyRecord, error) {
	r, err := e.store.Recall(ctx, o.Scope, o.Key, time.Now().Add(-store.IdempotencyRetention))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case r.Fingerprint != o.Fingerprint:
		return nil, ErrIdempotencyMismatch
	}
	return &r, nil
}

// Remember keeps the answer to a request that wrote nothing durable, such as a hold.
func (e *Engine) Remember(ctx context.Context, o *Once, result any, now time.Time) error {
	return e.store.Write(ctx, func(tx store.Tx) error { return o.remember(ctx, tx, result, now) })
}

// remember keeps the answer in the transaction that it answers. store.ErrDuplicate means that another request with the
// same key committed first, on another node; the write is undone and the caller asks Recall.
func (o *Once) remember(ctx context.Context, tx store.Tx, result any, now time.Time) error {
	if o == nil {
		return nil
	}
	status, body := o.Answer(result)
	return tx.Remember(ctx, store.IdempotencyRecord{
		Scope: o.Scope, Key: o.Key, Fingerprint: o.Fingerprint, Status: status, Body: body, CreatedAt: now,
	})
}
