package sqlite

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
	return list(ctx, r, scanOperation,
		`SELECT `+operationColumns+` FROM outbox WHERE id > ? ORDER BY id LIMIT +?`, after, limit)
}

func (t *tx) Promise(_ context.Context, op store.Operation) error {
	return t.run(`INSERT INTO outbox (`+operationColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		op.ID, string(op.Kind), op.AppointmentID, string(op.Status), op.NeedsReview, op.Unknown,
		op.Attempts, op.Lookups, op.MaxAttempts,
		orNull(op.CreatedAt), orNull(op.NextAttemptAt), orNull(op.AttemptedAt), orNull(op.FinishedAt),
		orNull(op.Deadline), orNull(op.StartTime), op.LastError, op.Result, textOrNull(op.Payload))
}

func (t *tx) Fulfil(_ context.Context, id string) error {
	return t.run(`DELETE FROM outbox WHERE id = ?`, id)
}
