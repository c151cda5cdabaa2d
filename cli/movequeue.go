package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"holdfast/store"
	"holdfast/store/bolt"
	"holdfast/store/disk"
	"holdfast/store/postgres"
)

// A move also copies operations of the queue, because only the queue records their attempts. Without these records, the
// next server cannot tell which writes were sent, and every one of them needs a look-up or a person. The operations
// arrive all at once or not at all: a server that finds an empty queue rebuilds it from the outbox. If the queue is not
// empty, the server adds the operations that were never attempted from the outbox.

// fewest is how many operations a move copies at least, if there are so many, so that the queue is not empty. More
// operations in one step are slow, and most of a queue are reminders that were never attempted.
const fewest = 500

// toMove returns the operations that a move copies: those that were attempted, and then others up to fewest.
func toMove(ops []store.Operation) []store.Operation {
	var attempted, others []store.Operation
	for _, op := range ops {
		if op.Status == store.OperationPending && op.Attempts == 0 && op.AttemptedAt.IsZero() && !op.Unknown {
			others = append(others, op)
		} else {
			attempted = append(attempted, op)
		}
	}
	return append(attempted, others[:max(0, min(len(others), fewest-len(attempted)))]...)
}

// unfinished returns the operations of a queue that were not completed.
func unfinished(ctx context.Context, q store.Queue) (ops []store.Operation, err error) {
	for _, status := range []store.OperationStatus{
		store.OperationPending, store.OperationProcessing, store.OperationFailed,
	} {
		for after := ""; ; {
			list, err := q.Operations(ctx, store.OperationFilter{Status: status, After: after, Limit: 500})
			if err != nil {
				return nil, err
			}
			ops = append(ops, list...)
			if len(list) < 500 {
				break
			}
			after = list[len(list)-1].ID
		}
	}
	return ops, nil
}

// growQueue adds the operations to the queue in PostgreSQL.
func (m *moving) growQueue(ctx context.Context, ops []store.Operation, url string) (err error) {
	to, err := postgres.OpenQueue(ctx, postgres.QueueOptions{URL: url, Logger: m.log, Alone: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if !to.Rebuilt() {
		// An interrupted move copied these operations. A server may have attempted them since then, at the source or at
		// the target, so the records of neither can be trusted.
		ops, err = unfinished(ctx, to)
		for i := 0; err == nil && i < len(ops); i++ {
			err = to.Remove(ctx, ops[i].ID)
		}
		return err
	}
	return m.add(ctx, to, ops)
}

// add adds the operations to move to the queue, in one step, and prints how many are unfinished.
func (m *moving) add(ctx context.Context, to store.Queue, ops []store.Operation) error {
	if len(ops) == 0 {
		return nil
	}
	if err := to.Add(ctx, toMove(ops)...); err != nil {
		return err
	}
	return m.say("%-20s %d\n", "queue", len(ops))
}

// queued returns the unfinished operations of the data directory. It returns none if the queue is missing or damaged,
// or does not belong to the database.
func (m *moving) queued(ctx context.Context, from store.Carrier) (ops []store.Operation, err error) {
	if disk.Size(m.dir.file(queueFile)) <= 0 {
		return nil, nil
	}
	id, err := from.ID(ctx)
	if err != nil {
		return nil, err
	}
	last, err := from.LastChange(ctx)
	if err != nil {
		return nil, err
	}
	q, err := bolt.Open(ctx, bolt.Options{Path: m.dir.file(queueFile), Logger: m.log, Check: bolt.Check})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	marker, err := q.Marker(ctx)
	if err != nil || marker.DatabaseID != id || marker.Change > last {
		return nil, err
	}
	return unfinished(ctx, q)
}

// queuedAt returns the unfinished operations of a queue in PostgreSQL.
func (m *moving) queuedAt(ctx context.Context, url string) (ops []store.Operation, err error) {
	q, err := postgres.OpenQueue(ctx, postgres.QueueOptions{URL: url, Logger: m.log, Alone: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	return unfinished(ctx, q)
}

// fillQueue writes the operations to the queue file of a directory, which has none. The file gets its name when it is
// complete.
func (m *moving) fillQueue(ctx context.Context, ops []store.Operation, dir *dataDir) error {
	if len(ops) == 0 {
		return nil
	}
	half := dir.file(halfDir)
	if err := errors.Join(os.RemoveAll(half), os.Mkdir(half, 0o700)); err != nil {
		return err
	}
	fresh := filepath.Join(half, queueFile)
	q, err := bolt.Open(ctx, bolt.Options{Path: fresh, Logger: m.log})
	if err != nil {
		return err
	}
	if err := errors.Join(m.add(ctx, q, ops), q.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(fresh, dir.file(queueFile)), disk.Sync(dir.path), os.RemoveAll(half))
}
