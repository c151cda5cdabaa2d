package record

import (
	"context"
	"errors"
	"time"

	"holdfast/engine/timed"
	"holdfast/holds"
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

// Owner returns the owner of the holds that a request without a client takes. It is the same at every node for one Idempotency-Key: a
// repeat that reaches another node while the first request runs finds its own hold, and not that of another client. Without a key the
// owner is new.
func (o *Once) Owner() holds.Owner {
	if o == nil {
		return NewOwner()
	}
	return holds.ClientID("once\x00" + o.Scope + "\x00" + o.Key).Owner()
}

type onceKey struct{}

// WithOnce hands o to a use case that has no argument for it: creating a specialist, an appointment type or a user,
// making an API key, importing a clinic, erasing a person, and whatever changes a session. The answer commits with the change.
func WithOnce(ctx context.Context, o *Once) context.Context {
	if o == nil {
		return ctx
	}
	return context.WithValue(ctx, onceKey{}, o)
}

// OnceOf is the one that WithOnce put into ctx, or nil.
func OnceOf(ctx context.Context) *Once {
	o, _ := ctx.Value(onceKey{}).(*Once)
	return o
}

// Recall returns the answer remembered for o, or nil if the request is new. ErrIdempotencyMismatch if the key was used
// with another body.
func (r *Records) Recall(ctx context.Context, o *Once) (*store.IdempotencyRecord, error) {
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

// RecallFromMemory is Recall that does not ask the database.
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

// Remember keeps the answer to a request that committed none with its change: to one about a hold or another live thing,
// which is gone when the process is, and to one whose effect is not in the database, such as an operation of the queue. It
// is kept in memory, costs no disk, and is forgotten early where there are very many.
func (r *Records) Remember(o *Once, result any, now time.Time) {
	status, body := o.Answer(result)
	r.answers.Put(answerKey{o.Scope, o.Key},
		store.IdempotencyRecord{Scope: o.Scope, Key: o.Key, Fingerprint: o.Fingerprint, Status: status, Body: body, CreatedAt: now}, now)
}

// Remember keeps the answer in the transaction that it answers. store.ErrDuplicate means that another request with the
// same key committed first, on another node; the write is undone and the caller asks Recall.
func (o *Once) Remember(ctx context.Context, tx store.Tx, result any, now time.Time) error {
	if o == nil {
		return nil
	}
	status, body := o.Answer(result)
	return tx.Remember(ctx, store.IdempotencyRecord{
		Scope: o.Scope, Key: o.Key, Fingerprint: o.Fingerprint, Status: status, Body: body, CreatedAt: now,
	})
}

// maxAnswerBytes bounds one half of the answers in memory. One about a hold is about 600 bytes with its keys.
const maxAnswerBytes = 8 << 20

type answerKey struct{ scope, key string }

func newAnswers() *timed.Map[answerKey, store.IdempotencyRecord] {
	return timed.NewWeighedMap(store.IdempotencyRetention, maxAnswerBytes, func(k answerKey, r store.IdempotencyRecord) int {
		return len(k.scope) + len(k.key) + len(r.Body) + 200
	})
}

// answered is the answer in memory to o, unless it is too old.
func (r *Records) answered(o *Once, now time.Time) (store.IdempotencyRecord, bool) {
	found, known := r.answers.Get(answerKey{o.Scope, o.Key})
	return found, known && now.Sub(found.CreatedAt) < store.IdempotencyRetention
}
