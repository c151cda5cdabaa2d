package sqlite

import (
	"context"
	"fmt"
	"time"

	"holdfast/store"
)

func (r reads) Recall(ctx context.Context, scope, key string, notBefore time.Time) (store.IdempotencyRecord, error) {
	return one(ctx, r, func(r *row) store.IdempotencyRecord {
		return store.IdempotencyRecord{Scope: r.text(), Key: r.text(), Fingerprint: r.hash(), Status: r.int(),
			Body: r.bytes(), CreatedAt: r.time()}
	}, `SELECT scope, key, fingerprint, status, body, created_at FROM idempotency_records
		WHERE scope = ? AND key = ? AND created_at > ?`, scope, key, notBefore)
}

func (t *tx) Remember(_ context.Context, r store.IdempotencyRecord) error {
	body := r.Body
	if body == nil {
		body = []byte{}
	}
	n, err := t.exec(`
		INSERT INTO idempotency_records (scope, key, fingerprint, status, body, created_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (scope, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = excluded.status,
			body = excluded.body, created_at = excluded.created_at
		WHERE created_at <= ?`,
		r.Scope, r.Key, r.Fingerprint, r.Status, body, r.CreatedAt, r.CreatedAt.Add(-store.IdempotencyRetention))
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: this key was answered before", store.ErrDuplicate)
	}
	return err
}

func (t *tx) ForgetAnswers(_ context.Context, before time.Time, limit int) (int, error) {
	n, err := t.exec(`DELETE FROM idempotency_records WHERE rowid IN (
		SELECT rowid FROM idempotency_records WHERE created_at < ? ORDER BY created_at LIMIT +?)`, before, limit)
	return int(n), err
}
