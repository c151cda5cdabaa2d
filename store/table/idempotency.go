package table

import (
	"context"
	"fmt"
	"time"

	"holdfast/store"
)

var answers = nounOf[store.IdempotencyRecord]("idempotency_records", "scope, key")

// remember replaces a saved response that has expired, and no other.
var remember = answers.put + ` WHERE idempotency_records.created_at <= ?`

// Recall implements store.IdempotencyReader.
func (r Reads) Recall(ctx context.Context, scope, key string, notBefore time.Time) (store.IdempotencyRecord, error) {
	return answers.one(ctx, r.source, `WHERE scope = ? AND key = ? AND created_at > ?`, scope, key, notBefore)
}

// Remember implements store.IdempotencyWriter.
func (t *Tx) Remember(_ context.Context, r store.IdempotencyRecord) error {
	if r.Body == nil {
		r.Body = []byte{}
	}
	n, err := t.count(remember, append(answers.values(&r), r.CreatedAt.Add(-store.IdempotencyRetention))...)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: this key has already been answered", store.ErrDuplicate)
	}
	return err
}

// ForgetAnswers implements store.IdempotencyWriter.
func (t *Tx) ForgetAnswers(_ context.Context, before time.Time, limit int) (int, error) {
	return t.count(`DELETE FROM idempotency_records WHERE {row} IN (
		SELECT {row} FROM idempotency_records WHERE created_at < ? ORDER BY created_at LIMIT +?)`, before, limit)
}
