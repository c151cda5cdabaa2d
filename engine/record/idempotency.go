package record

import (
	"context"
	"errors"
	"time"

	"holdfast/engine/timed"
	"holdfast/store"
)

// Once makes one request take effect at most once. A nil *Once does nothing.
type Once struct {
	Scope       string   // hash of the credential or client, and the route
	Key         string   // the caller's Idempotency-Key
	Fingerprint [32]byte // SHA-256 of the request body
	// Answer renders the response for a result (an appointment, a session …), so that it can be saved in the
	// transaction of the write. It must be pure.
	Answer func(result any) (status int, body []byte)
}

type onceKey struct{}

// WithOnce passes o to an operation that has no parameter for it: creating a specialist, an appointment type, a user or
// an API key, importing a clinic, erasing a person, and any change to a session. The response is committed with the
// change.
func WithOnce(ctx context.Context, o *Once) context.Context {
	if o == nil {
		return ctx
	}
	return context.WithValue(ctx, onceKey{}, o)
}

// OnceOf returns the *Once that WithOnce put into ctx, or nil.
func OnceOf(ctx context.Context) *Once {
	o, _ := ctx.Value(onceKey{}).(*Once)
	return o
}

// Recall returns the saved response for o, or nil if the request is new or o is nil. Errors: ErrIdempotencyMismatch
// (the key was used with a different body), and the storage errors.
func (r *Records) Recall(ctx context.Context, o *Once) (*store.IdempotencyRecord, error) {
	if o == nil {
		return nil, nil
	}
	now := time.Now()
	found, known := r.answered(o, now)
	if !known {
		var err error
		found, err = r.store.Recall(ctx, o.Scope, o.Key, now.Add(-store.IdempotencyRetention))
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return o.matching(&found)
}

// RecallFromMemory is like Recall, but does not read the database.
func (r *Records) RecallFromMemory(_ context.Context, o *Once) (*store.IdempotencyRecord, error) {
	found, known := r.answered(o, time.Now())
	if !known {
		return nil, nil
	}
	return o.matching(&found)
}

func (o *Once) matching(found *store.IdempotencyRecord) (*store.IdempotencyRecord, error) {
	if found.Fingerprint != o.Fingerprint {
		return nil, ErrIdempotencyMismatch
	}
	return found, nil
}

// Remember saves a response in memory. Use it for requests whose response cannot be committed with their change:
// requests about a hold or other live state, which is lost when the process ends, and requests whose effect is not in
// the database, such as a queue operation. If there are very many responses, the oldest are deleted early.
func (r *Records) Remember(o *Once, result any, now time.Time) {
	status, body := o.Answer(result)
	r.answers.Put(answerKey{o.Scope, o.Key},
		store.IdempotencyRecord{Scope: o.Scope, Key: o.Key, Fingerprint: o.Fingerprint, Status: status, Body: body,
			CreatedAt: now}, now)
}

// Remember saves the response in the transaction of its change. It returns store.ErrDuplicate if another request with
// the same key was committed first, on another node. The write is then rolled back, and the caller calls Recall.
func (o *Once) Remember(ctx context.Context, tx store.Tx, result any, now time.Time) error {
	if o == nil {
		return nil
	}
	status, body := o.Answer(result)
	return tx.Remember(ctx, store.IdempotencyRecord{
		Scope: o.Scope, Key: o.Key, Fingerprint: o.Fingerprint, Status: status, Body: body, CreatedAt: now,
	})
}

// maxAnswerBytes is the maximum size of each half of the responses in memory. A response about a hold takes about 600
// bytes with its keys.
const maxAnswerBytes = 8 << 20

type answerKey struct{ scope, key string }

func newAnswers() *timed.Map[answerKey, store.IdempotencyRecord] {
	return timed.NewWeighedMap(store.IdempotencyRetention, maxAnswerBytes,
		func(k answerKey, r store.IdempotencyRecord) int {
			return len(k.scope) + len(k.key) + len(r.Body) + 200
		})
}

// answered returns the response for o from memory, unless it is too old.
func (r *Records) answered(o *Once, now time.Time) (store.IdempotencyRecord, bool) {
	found, known := r.answers.Get(answerKey{o.Scope, o.Key})
	return found, known && now.Sub(found.CreatedAt) < store.IdempotencyRetention
}
