package postgres

import (
	"context"

	"holdfast/store"
)

const operationColumns = `id, kind, appointment_id, status, needs_review, unknown, attempts, lookups, max_attempts,
	created_at, next_attempt_at, attempted_at, finished_at, deadline, start_time, last_error, result, payload`

func scanOperation(r *row) store.Operation {
	return store.Operation{
		ID: r.text(), Kind: store.OperationKind(r.text()), AppointmentID: r.text(), Status: store.OperationStatus(r.text()),
		NeedsReview: r.bool(), Unknown: r.bool(), Attempts: r.int(), Lookups: r.int(), MaxAttempts: r.int(),
		CreatedAt: r.time(), NextAttemptAt: r.time(), AttemptedAt: r.time(), FinishedAt: r.time(), Deadline: r.time(),
		StartTime: r.time(), LastError: r.text(), Result: r.text(), Payload: r.json(),
	}
}

func (r reads) Outbox(ctx context.Context, after string, limit int) ([]store.Operation, error) {
	return r.outbox(ctx, after, limit)
}

// outbox is Outbox without a limit where that is nil.
func (r reads) outbox(ctx context.Context, after string, limit any) ([]store.Operation, error) {
	return list(ctx, r, scanOperation,
		`SELECT `+operationColumns+` FROM outbox WHERE id > $1 ORDER BY id LIMIT $2`, after, limit)
}

func (t *tx) Promise(_ context.Context, op store.Operation) error {
	return t.later(`INSERT INTO outbox (`+operationColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
		op.ID, string(op.Kind), op.AppointmentID, string(op.Status), op.NeedsReview, op.Unknown,
		op.Attempts, op.Lookups, op.MaxAttempts,
		orNull(op.CreatedAt), orNull(op.NextAttemptAt), orNull(op.AttemptedAt), orNull(op.FinishedAt),
		orNull(op.Deadline), orNull(op.StartTime), op.LastError, op.Result, textOrNull(op.Payload))
}

func (t *tx) Fulfil(_ context.Context, id string) error {
	return t.later(`DELETE FROM outbox WHERE id = $1`, id)
}
