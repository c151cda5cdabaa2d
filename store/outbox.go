package store

import (
	"context"
	"iter"
)

// OutboxReader reads the outbox: the outbound operations that are not finished. The database and the queue cannot
// commit together. The outbox is committed with the appointment, and the queue can always be rebuilt from the outbox.
type OutboxReader interface {
	// Outbox lists unfinished operations with an id greater than after, by id, at most limit.
	Outbox(ctx context.Context, after string, limit int) ([]Operation, error)

	// Promised returns one unfinished operation. It returns ErrNotFound if the outbox has no operation with this id.
	Promised(ctx context.Context, id string) (Operation, error)
}

// AllOutbox returns every operation in the outbox, by id. It reads 500 at a time, so an operation that is added or
// finished during the iteration may be missing. An error of the storage is the last element.
func AllOutbox(ctx context.Context, r OutboxReader) iter.Seq2[Operation, error] {
	return func(yield func(Operation, error) bool) {
		const page = 500
		for after, n := "", page; n == page; {
			list, err := r.Outbox(ctx, after, page)
			if err != nil {
				yield(Operation{}, err)
				return
			}
			n = len(list)
			for _, op := range list {
				if after = op.ID; !yield(op, nil) {
					return
				}
			}
		}
	}
}

// OutboxWriter changes the outbox.
type OutboxWriter interface {
	// Promise adds op to the outbox. It returns ErrDuplicate if the id already exists.
	Promise(ctx context.Context, op Operation) error

	// Fulfil removes an operation that reached a final state. It is idempotent.
	Fulfil(ctx context.Context, id string) error
}
