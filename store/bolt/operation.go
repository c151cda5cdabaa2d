package bolt

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"holdfast/store"
)

// pruneLimit is the maximum number of entries that one transaction of Prune removes, so that other writes do not wait
// long for it.
const pruneLimit = 500

func (q *Queue) Add(ctx context.Context, ops ...store.Operation) error {
	// The caller's goroutine validates and encodes the operations, because all requests wait for the writer's
	// goroutine.
	records := make([][]byte, len(ops))
	for i, op := range ops {
		if err := op.Validate(); err != nil {
			return err
		}
		var err error
		if records[i], err = (stored{Operation: op}).encode(); err != nil {
			return err
		}
	}
	if len(ops) == 0 && !q.rebuilt {
		return ctx.Err()
	}
	now := time.Now()
	return q.write(ctx, func(t *tables) error {
		if meta := t.bucket(metaTable, ""); meta.Get([]byte(unfilledKey)) != nil {
			t.changed = true
			if err := meta.Delete([]byte(unfilledKey)); err != nil {
				return err
			}
		}
		known := t.bucket(operationTable, "")
		for i, op := range ops {
			if known.Get([]byte(op.ID)) != nil {
				continue
			}
			if err := t.insert(op, records[i]); err != nil {
				return err
			}
			if err := t.note(op.ID, now, "added", string(op.Kind)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (q *Queue) Take(ctx context.Context, now time.Time,
	kinds ...store.OperationKind) (taken store.Operation, err error) {
	now = now.UTC().Truncate(time.Millisecond)
	err = q.write(ctx, func(t *tables) error {
		due, id, found := t.earliest(kinds)
		if !found || due.After(now) {
			return store.ErrNotFound
		}
		old, err := t.operation(id)
		if err != nil {
			return err
		}
		taken = old.Operation
		taken.Status = store.OperationProcessing
		taken.Attempts++
		taken.AttemptedAt = now
		return t.move(old, taken, now, "attempted", "")
	})
	if err != nil {
		return store.Operation{}, err
	}
	return taken, nil
}

func (q *Queue) Change(ctx context.Context, op store.Operation, event, detail string) error {
	if err := op.Validate(); err != nil {
		return err
	}
	now := time.Now()
	return q.write(ctx, func(t *tables) error {
		old, err := t.operation(op.ID)
		if err != nil {
			return err
		}
		return t.move(old, op, now, event, detail)
	})
}

func (q *Queue) Recover(ctx context.Context, now time.Time) (n int, err error) {
	now = now.UTC().Truncate(time.Millisecond)
	err = q.write(ctx, func(t *tables) error {
		n = 0
		processing := t.bucket(statusIndex, string(store.OperationProcessing))
		if processing == nil {
			return nil
		}
		var ids []string // collected first, because a change of the bucket invalidates a cursor
		c := processing.Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			ids = append(ids, string(k))
		}
		for _, id := range ids {
			old, err := t.operation(id)
			if err != nil {
				return err
			}
			op := old.Operation
			op.Status, op.Unknown, op.NextAttemptAt = store.OperationPending, true, now
			if err := t.move(old, op, now, "recovered", "the program stopped during the attempt"); err != nil {
				return err
			}
		}
		n = len(ids)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (q *Queue) Remove(ctx context.Context, id string) error {
	now := time.Now()
	return q.write(ctx, func(t *tables) error {
		old, err := t.operation(id)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := t.remove(old); err != nil {
			return err
		}
		if err := t.markRemoved(now, id); err != nil {
			return err
		}
		return t.note(id, now, "removed", "")
	})
}

func (q *Queue) Prune(ctx context.Context, before time.Time) (pruned int, err error) {
	for more := true; more; {
		var n int
		err := q.write(ctx, func(t *tables) (err error) {
			n, more, err = t.prune(before)
			return err
		})
		if err != nil {
			return pruned, err
		}
		pruned += n
	}
	err = q.await(ctx, &request{alone: func() error { return q.shrink(compactRunning) }, done: make(chan struct{})})
	return pruned, err
}

// prune removes at most pruneLimit operations and the activity of at most as many operations that were removed earlier.
// It returns the number of removed operations and reports whether there are more of either to remove.
func (t *tables) prune(before time.Time) (n int, more bool, err error) {
	finished, moreFinished := t.earlier(finishedIndex, before)
	for _, key := range finished {
		_, id := splitTimeKey([]byte(key))
		old, err := t.operation(id)
		if err != nil {
			return 0, false, err
		}
		if err := errors.Join(t.remove(old), t.forget(id)); err != nil {
			return 0, false, err
		}
	}
	removed, moreRemoved := t.earlier(removedTable, before)
	for _, key := range removed {
		_, id := splitTimeKey([]byte(key))
		if err := t.drop(entry{removedTable, "", key}); err != nil {
			return 0, false, err
		}
		t.delta[removedTable]--
		if t.bucket(operationTable, "").Get([]byte(id)) != nil {
			continue // it was added again, so its activity is kept
		}
		if err := t.forget(id); err != nil {
			return 0, false, err
		}
	}
	return len(finished), moreFinished || moreRemoved, nil
}

// earlier lists at most pruneLimit keys before an instant from a table that is sorted by instant. It reports whether
// there are more.
func (t *tables) earlier(table string, before time.Time) (list []string, more bool) {
	limit := timeKey(before, "")
	c := t.bucket(table, "").Cursor()
	for k, _ := c.First(); k != nil && string(k) < limit; k, _ = c.Next() {
		if len(list) == pruneLimit {
			return list, true
		}
		list = append(list, string(k))
	}
	return list, false
}

// markRemoved marks a removed operation, so that a later Prune finds its activity.
func (t *tables) markRemoved(at time.Time, id string) error {
	e := entry{removedTable, "", timeKey(at, id)}
	if t.bucket(removedTable, "").Get([]byte(e.key)) != nil {
		return nil // removed, added again and removed within one millisecond
	}
	t.delta[removedTable]++
	return t.put(e)
}

// move replaces old with op and adds an event to its activity.
func (t *tables) move(old stored, op store.Operation, at time.Time, event, detail string) error {
	if err := t.replace(old, op); err != nil {
		return err
	}
	return t.note(op.ID, at, event, detail)
}

func (q *Queue) Operation(ctx context.Context, id string) (op store.Operation, err error) {
	err = q.read(ctx, func(t *tables) error {
		found, err := t.operation(id)
		op = found.Operation
		return err
	})
	return op, err
}

func (q *Queue) Operations(ctx context.Context, f store.OperationFilter) (list []store.Operation, err error) {
	limit := min(f.Limit, 500)
	if limit <= 0 {
		limit = 100
	}
	narrowed := len(f.Kinds) > 0 || !f.Due.IsZero()
	err = q.read(ctx, func(t *tables) error {
		seen := 0
		return t.each(f, func(id string) (bool, error) {
			op, err := t.operation(id)
			if err != nil {
				return false, err
			}
			if suits(f, &op.Operation) {
				list = append(list, op.Operation)
			}
			seen++
			return len(list) < limit && !(narrowed && seen == scanLimit), nil
		})
	})
	return list, err
}

// scanLimit is the maximum number of operations that Operations reads if the filter has conditions without an index.
const scanLimit = 5000

// suits reports whether f selects op, which an index found.
func suits(f store.OperationFilter, op *store.Operation) bool {
	switch {
	case f.Status != "" && op.Status != f.Status:
		return false
	case len(f.Kinds) > 0 && !slices.Contains(f.Kinds, op.Kind):
		return false
	}
	return f.Due.IsZero() || !op.Scheduled(f.Due)
}

// each calls visit with the ids that may match f, in order, until visit returns false. It reads them from the narrowest
// index.
func (t *tables) each(f store.OperationFilter, visit func(id string) (bool, error)) error {
	b, prefix := t.bucket(operationTable, ""), []byte{}
	switch {
	case f.AppointmentID != "":
		b, prefix = t.bucket(appointmentIndex, ""), []byte(f.AppointmentID+"\x00")
	case f.Status != "":
		b = t.bucket(statusIndex, string(f.Status))
	}
	if b == nil {
		return nil
	}
	after := slices.Concat(prefix, []byte(f.After))
	c := b.Cursor()
	k, _ := c.Seek(after)
	if k != nil && bytes.Equal(k, after) {
		k, _ = c.Next()
	}
	for ; k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		if on, err := visit(string(k[len(prefix):])); !on || err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue) Counts(ctx context.Context, kinds ...store.OperationKind) (n store.OperationCounts, err error) {
	err = q.read(ctx, func(t *tables) error {
		n = store.OperationCounts{
			Pending:    t.countOf(store.OperationPending, kinds),
			Processing: t.countOf(store.OperationProcessing, kinds),
			Completed:  t.countOf(store.OperationCompleted, kinds),
			Failed:     t.countOf(store.OperationFailed, kinds),
		}
		return nil
	})
	return n, err
}

func (t *tables) countOf(status store.OperationStatus, kinds []store.OperationKind) int {
	if len(kinds) == 0 {
		return int(t.count(string(status)))
	}
	var n int64
	for _, kind := range kinds {
		n += t.count(kindCount(status, kind))
	}
	return int(n)
}

func (q *Queue) Scheduled(ctx context.Context, now time.Time, kinds ...store.OperationKind) (n int, err error) {
	err = q.read(ctx, func(t *tables) error {
		for _, kind := range store.Messages() {
			if len(kinds) > 0 && !slices.Contains(kinds, kind) {
				continue
			}
			more, err := t.scheduled(kind, now)
			if err != nil {
				return err
			}
			n += more
		}
		return nil
	})
	return n, err
}

// scheduled counts the operations of one kind that are Scheduled after now.
func (t *tables) scheduled(kind store.OperationKind, now time.Time) (n int, err error) {
	b := t.bucket(dueIndex, string(kind))
	if b == nil {
		return 0, nil
	}
	// far is later than any next attempt of an operation that is being retried: a text message can wait from the
	// evening until 8:00.
	c, far := b.Cursor(), now.Add(12*time.Hour)
	for k, _ := c.Seek([]byte(timeKey(now.Add(time.Millisecond), ""))); k != nil; k, _ = c.Next() {
		at, id := splitTimeKey(k)
		if at.Before(far) {
			op, err := t.operation(id)
			if err != nil {
				return 0, err
			}
			if !op.Scheduled(now) {
				continue
			}
		}
		n++
	}
	return n, nil
}

func (q *Queue) NextDue(ctx context.Context, kinds ...store.OperationKind) (at time.Time, err error) {
	err = q.read(ctx, func(t *tables) error {
		var found bool
		if at, _, found = t.earliest(kinds); !found {
			return store.ErrNotFound
		}
		return nil
	})
	return at, err
}

func (q *Queue) Activity(ctx context.Context, id string) (list []store.Activity, err error) {
	err = q.read(ctx, func(t *tables) error {
		list, err = t.story(id)
		return err
	})
	return list, err
}

// read runs fn on the last committed state. It does not wait for writes.
func (q *Queue) read(ctx context.Context, fn func(*tables) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.swap.RLock()
	defer q.swap.RUnlock()
	return translate(q.db.View(func(tx *bbolt.Tx) error { return fn(view(tx)) }))
}
