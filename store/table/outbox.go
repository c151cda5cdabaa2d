package table

import (
	"context"

	"holdfast/store"
)

var outbox = nounOf[store.Operation]("outbox", "id")

// OperationColumns lists the columns of an operation, in the outbox and in the queue of a backend.
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
