package table

import (
	"context"
	"encoding/json"
	"time"

	"holdfast/store"
)

var outbox = nounOf("outbox", 1, cols(
	text("id", func(o *store.Operation) *string { return &o.ID }),
	word("kind", func(o *store.Operation) *store.OperationKind { return &o.Kind }),
	text("appointment_id", func(o *store.Operation) *string { return &o.AppointmentID }),
	word("status", func(o *store.Operation) *store.OperationStatus { return &o.Status }),
	truth("needs_review", func(o *store.Operation) *bool { return &o.NeedsReview }),
	truth("unknown", func(o *store.Operation) *bool { return &o.Unknown }),
	integer("attempts", func(o *store.Operation) *int { return &o.Attempts }),
	integer("lookups", func(o *store.Operation) *int { return &o.Lookups }),
	integer("max_attempts", func(o *store.Operation) *int { return &o.MaxAttempts }),
	maybe("created_at", func(o *store.Operation) *time.Time { return &o.CreatedAt }),
	maybe("next_attempt_at", func(o *store.Operation) *time.Time { return &o.NextAttemptAt }),
	maybe("attempted_at", func(o *store.Operation) *time.Time { return &o.AttemptedAt }),
	maybe("finished_at", func(o *store.Operation) *time.Time { return &o.FinishedAt }),
	maybe("deadline", func(o *store.Operation) *time.Time { return &o.Deadline }),
	maybe("start_time", func(o *store.Operation) *time.Time { return &o.StartTime }),
	text("last_error", func(o *store.Operation) *string { return &o.LastError }),
	text("result", func(o *store.Operation) *string { return &o.Result }),
	document("payload", func(o *store.Operation) *json.RawMessage { return &o.Payload }),
))

// OperationColumns are the columns of an operation, in the outbox and in the queue of a backend.
var OperationColumns = outbox.names

// ScanOperation reads OperationColumns.
func ScanOperation(r Row) store.Operation { return outbox.scan(r) }

// Outbox implements store.OutboxReader.
func (r Reads) Outbox(ctx context.Context, after string, limit int) ([]store.Operation, error) {
	return outbox.list(ctx, r.source, `WHERE id > ? ORDER BY id LIMIT +?`, after, limit)
}

// Promised implements store.OutboxReader.
func (r Reads) Promised(ctx context.Context, id string) (store.Operation, error) {
	return outbox.one(ctx, r.source, `WHERE id = ?`, id)
}

// Promise implements store.OutboxWriter.
func (t *Tx) Promise(_ context.Context, op store.Operation) error {
	return t.to.Later(outbox.insert, outbox.values(&op)...)
}

// Fulfil implements store.OutboxWriter.
func (t *Tx) Fulfil(_ context.Context, id string) error {
	return t.to.Later(`DELETE FROM outbox WHERE id = ?`, id)
}
