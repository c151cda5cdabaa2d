package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"holdfast/store"
	"holdfast/store/table"
)

// pruneLimit is the maximum number of operations that one transaction of Prune removes, so that other writes do not
// wait long for it.
const pruneLimit = 500

// queued reads a row of the table operations, which has the same columns as the outbox.
func queued(r *row) store.Operation { return table.ScanOperation(r) }

const note = `INSERT INTO operation_activity (operation_id, at, event, detail) `

// addAll inserts the missing operations in one statement, in the order of their ids. Then the trigger changes the
// counts, also in a fixed order. With one statement for each operation, two nodes that add the same operations could
// deadlock.
//
// The wait of an operation starts at its creation. If the clock of the node that created it was ahead of the server's,
// the wait starts at the server's time instead.
var addAll = `
	WITH wanted AS (SELECT x FROM json_array_elements($1::json) AS list(x) ORDER BY (x->>0) COLLATE "C"),
	added AS (
		INSERT INTO operations (` + table.OperationColumns + `)
		SELECT x->>0, x->>1, x->>2, x->>3, (x->>4)::boolean, (x->>5)::boolean, (x->>6)::bigint, (x->>7)::bigint, (x->>8)::bigint,
			(x->>9)::bigint,
			(x->>10)::bigint - CASE WHEN x->>3 = 'pending' THEN greatest(0, (x->>9)::bigint - ` + clock + `) ELSE 0 END,
			(x->>11)::bigint, (x->>12)::bigint, (x->>13)::bigint, (x->>14)::bigint,
			x->>15, x->>16, x->>17
		FROM wanted
		ON CONFLICT (id) DO NOTHING RETURNING id, kind)
	` + note + `SELECT id, $2::bigint, 'added', kind FROM added`

// Add implements store.Queue.
func (q *Queue) Add(ctx context.Context, ops ...store.Operation) error {
	all := make([][]*string, len(ops))
	for i, op := range ops {
		if err := op.Validate(); err != nil {
			return err
		}
		values, _, err := bind(fields(op))
		if err != nil {
			return err
		}
		for _, v := range values {
			var text *string
			if v != nil {
				text = new(string(v))
			}
			all[i] = append(all[i], text)
		}
	}
	if len(all) == 0 {
		return ctx.Err()
	}
	list, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return q.repeat(ctx, stmt(addAll, string(list), time.Now()))
}

// fields returns the columns of op in the order of table.OperationColumns.
func fields(op store.Operation) []any {
	var payload any // NULL if there is none
	if len(op.Payload) > 0 {
		payload = string(op.Payload)
	}
	return []any{
		op.ID, string(op.Kind), op.AppointmentID, string(op.Status), op.NeedsReview, op.Unknown, op.Attempts,
		op.Lookups, op.MaxAttempts, op.CreatedAt, op.NextAttemptAt, op.AttemptedAt, op.FinishedAt, op.Deadline,
		op.StartTime, op.LastError, op.Result, payload,
	}
}

// kindList returns the argument for kinds; NULL for all.
func kindList(kinds []store.OperationKind) (any, error) {
	if len(kinds) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(kinds)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return string(list), nil
}

// Take implements store.Queue.
func (q *Queue) Take(ctx context.Context, now time.Time,
	kinds ...store.OperationKind) (taken store.Operation, err error) {
	list, err := kindList(kinds)
	if err != nil {
		return taken, err
	}
	found := false
	err = q.write(ctx, asks(func(r *row) { taken, found = queued(r), true }, `
		WITH due AS (
			SELECT id AS due_id FROM operations
			WHERE status = 'pending' AND next_attempt_at <= $1 AND ($2::json IS NULL OR kind IN (SELECT json_array_elements_text($2::json)))
			ORDER BY next_attempt_at, id LIMIT 1 FOR UPDATE SKIP LOCKED),
		taken AS (
			UPDATE operations SET status = 'processing', attempts = attempts + 1, attempted_at = $1, version = version + 1,
				owner = $3, lease_until = `+clock+` + $4
			FROM due WHERE id = due_id RETURNING `+table.OperationColumns+`),
		noted AS (`+note+`SELECT id, $1::bigint, 'attempted', '' FROM taken)
		SELECT `+table.OperationColumns+` FROM taken`, now, list, q.owner, q.lease.Milliseconds()))
	if err == nil && !found {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Operation{}, err
	}
	q.held.add(taken.ID)
	return taken, nil
}

// skewAllowed is the number of milliseconds by which the clock of a node may be ahead of the server's. If it is further
// ahead, Change corrects the waits that the node stores.
const skewAllowed = `2000`

// Change implements store.Queue. It returns ErrVersion if another node is attempting the operation, or has taken it
// over from this one. If the clock of this node is ahead, Change converts the time of the next attempt to the server's
// clock. Otherwise the operation would wait longer on every node, even after the clock of this node has been corrected.
func (q *Queue) Change(ctx context.Context, op store.Operation, event, detail string) error {
	if err := op.Validate(); err != nil {
		return err
	}
	var changed, known bool
	args := append(fields(op), q.now(), event, detail, q.owner, q.held.has(op.ID))
	all := []*statement{
		asks(func(*row) { changed = true }, `
			WITH changed AS (
				UPDATE operations SET kind = $2, appointment_id = $3, status = $4, needs_review = $5, unknown = $6, attempts = $7, lookups = $8,
					max_attempts = $9, created_at = $10,
					next_attempt_at = $11 - CASE WHEN $4 = 'pending' AND $19 > `+clock+` + `+skewAllowed+` THEN $19 - `+clock+` ELSE 0 END,
					attempted_at = $12, finished_at = $13, deadline = $14,
					start_time = $15, last_error = $16, result = $17, payload = CASE WHEN erased THEN NULL ELSE $18 END,
					version = version + 1, owner = CASE WHEN $4 = 'processing' THEN owner ELSE '' END
				WHERE id = $1 AND (owner = $22 OR (NOT $23::boolean AND (status <> 'processing' OR owner = '' OR lease_until <= `+clock+`)))
				RETURNING id),
			noted AS (`+note+`SELECT id, $19::bigint, $20, $21 FROM changed)
			SELECT 1 FROM changed`, args...),
		asks(func(*row) { known = true }, `SELECT 1 FROM operations WHERE id = $1`, op.ID),
	}
	cut, err := q.attempt(ctx, all)
	if cut { // the row shows whether the commit happened
		if kept, readErr := q.Operation(ctx, op.ID); readErr == nil && same(kept, op) {
			known, changed, err = true, true, nil
		} else if readErr == nil {
			_, err = q.attempt(ctx, all)
		}
	}
	switch {
	case err != nil:
		return err
	case !known:
		return fmt.Errorf("operation %s: %w", op.ID, store.ErrNotFound)
	case !changed && q.stored(ctx, op): // an earlier call stored it, and its response was lost
		q.held.remove(op.ID)
		return nil
	case !changed:
		q.held.remove(op.ID)
		return fmt.Errorf("operation %s: %w: another node has taken it", op.ID, store.ErrVersion)
	case op.Status != store.OperationProcessing:
		q.held.remove(op.ID)
	}
	return nil
}

// stored reports whether the queue contains exactly this version of op.
func (q *Queue) stored(ctx context.Context, op store.Operation) bool {
	kept, err := q.Operation(ctx, op.ID)
	return err == nil && same(kept, op)
}

// same reports whether a and b have the same stored form.
func same(a, b store.Operation) bool {
	kept, _, keptErr := bind(fields(a))
	given, _, givenErr := bind(fields(b))
	return keptErr == nil && givenErr == nil && slices.EqualFunc(kept, given, bytes.Equal)
}

// Remove implements store.Queue.
func (q *Queue) Remove(ctx context.Context, id string) error {
	err := q.repeat(ctx, stmt(`
		WITH gone AS (DELETE FROM operations WHERE id = $1 RETURNING id),
		marked AS (INSERT INTO operation_removals (operation_id, at) SELECT id, $2 FROM gone ON CONFLICT DO NOTHING)
		`+note+`SELECT id, $2::bigint, 'removed', '' FROM gone`, id, time.Now()))
	if err == nil {
		q.held.remove(id)
	}
	return err
}

// Erase implements store.Queue. The server's operator is responsible for data that remains in the server's files.
func (q *Queue) Erase(ctx context.Context, ids ...string) error {
	list, err := json.Marshal(ids)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	if len(ids) == 0 {
		return ctx.Err()
	}
	return q.repeat(ctx, stmt(`
		WITH named AS (
			SELECT id FROM operations WHERE id IN (SELECT json_array_elements_text($1::json)) AND NOT erased ORDER BY id FOR UPDATE),
		blank AS (
			UPDATE operations SET payload = NULL, erased = true, version = version + 1 WHERE id IN (SELECT id FROM named) RETURNING id)
		`+note+`SELECT id, $2::bigint, 'erased', '' FROM blank ORDER BY id`, string(list), time.Now()))
}

// Prune implements store.Queue.
func (q *Queue) Prune(ctx context.Context, before time.Time) (pruned int, err error) {
	for {
		var finished, stories int
		err := q.write(ctx, asks(func(r *row) { finished = r.Int() }, `
				WITH old AS (
					SELECT id FROM operations WHERE status = 'completed' AND finished_at < $1 ORDER BY finished_at LIMIT $2),
				locked AS (SELECT id FROM operations WHERE id IN (SELECT id FROM old) ORDER BY id FOR UPDATE),
				gone AS (DELETE FROM operations WHERE id IN (SELECT id FROM locked) RETURNING id),
				told AS (DELETE FROM operation_activity WHERE operation_id IN (SELECT id FROM gone))
				SELECT count(*) FROM gone`, before, pruneLimit), asks(func(r *row) { stories = r.Int() }, `
				WITH old AS (
					SELECT at, operation_id FROM operation_removals WHERE at < $1 ORDER BY at LIMIT $2),
				gone AS (
					DELETE FROM operation_removals USING old
					WHERE operation_removals.at = old.at AND operation_removals.operation_id = old.operation_id
					RETURNING operation_removals.operation_id),
				told AS (
					DELETE FROM operation_activity WHERE operation_id IN (
						SELECT operation_id FROM gone WHERE operation_id NOT IN (SELECT id FROM operations WHERE id IN (SELECT operation_id FROM gone))))
				SELECT count(*) FROM gone`, before, pruneLimit))
		if err != nil {
			return pruned, err
		}
		pruned += finished
		if finished < pruneLimit && stories < pruneLimit {
			return pruned, nil
		}
	}
}

// Operation implements store.Queue.
func (q *Queue) Operation(ctx context.Context, id string) (op store.Operation, err error) {
	found := false
	err = q.read(ctx, asks(func(r *row) { op, found = queued(r), true },
		`SELECT `+table.OperationColumns+` FROM operations WHERE id = $1`, id))
	if err == nil && !found {
		err = fmt.Errorf("operation %s: %w", id, store.ErrNotFound)
	}
	return op, err
}

// Operations implements store.Queue.
func (q *Queue) Operations(ctx context.Context, f store.OperationFilter) (list []store.Operation, err error) {
	var where table.Conditions
	where.And("id > ?", f.After)
	if f.Status != "" {
		where.And("status = ?", string(f.Status))
	}
	if f.AppointmentID != "" {
		where.And("appointment_id = ? AND appointment_id <> ''", f.AppointmentID)
	}
	if len(f.Kinds) > 0 {
		kinds, err := kindList(f.Kinds)
		if err != nil {
			return nil, err
		}
		where.And("kind IN ({each}(?))", kinds)
	}
	if !f.Due.IsZero() {
		where.And("NOT (kind IN ('email', 'sms') AND status = 'pending' AND attempted_at = ? AND next_attempt_at > ?)",
			time.Time{}, f.Due)
	}
	text := `SELECT ` + table.OperationColumns + ` FROM operations ` + where.SQL() + ` ORDER BY id LIMIT +?`
	err = q.read(ctx,
		asks(func(r *row) { list = append(list, queued(r)) }, text, append(where.Args, table.Limit(f.Limit))...))
	return list, err
}

// Counts implements store.Queue.
func (q *Queue) Counts(ctx context.Context, kinds ...store.OperationKind) (n store.OperationCounts, err error) {
	list, err := kindList(kinds)
	if err != nil {
		return n, err
	}
	err = q.read(ctx, asks(func(r *row) {
		of := map[store.OperationStatus]*int{
			store.OperationPending: &n.Pending, store.OperationProcessing: &n.Processing,
			store.OperationCompleted: &n.Completed, store.OperationFailed: &n.Failed,
		}
		if count := of[store.OperationStatus(r.Text())]; count != nil {
			*count = r.Int()
		}
	}, `SELECT status, sum(number)::bigint FROM operation_counts
		WHERE $1::json IS NULL OR kind IN (SELECT json_array_elements_text($1::json)) GROUP BY status`, list))
	return n, err
}

// Scheduled implements store.Queue.
func (q *Queue) Scheduled(ctx context.Context, now time.Time, kinds ...store.OperationKind) (n int, err error) {
	list, err := kindList(kinds)
	if err != nil {
		return 0, err
	}
	err = q.read(ctx, asks(func(r *row) { n = r.Int() }, `
		SELECT count(*) FROM operations
		WHERE status = 'pending' AND kind IN ('email', 'sms') AND attempted_at = $1 AND next_attempt_at > $2
		  AND ($3::json IS NULL OR kind IN (SELECT json_array_elements_text($3::json)))`, time.Time{}, now, list))
	return n, err
}

// NextDue implements store.Queue.
func (q *Queue) NextDue(ctx context.Context, kinds ...store.OperationKind) (at time.Time, err error) {
	found := false
	next := asks(func(r *row) { at, found = r.Time(), true },
		`SELECT next_attempt_at FROM operations WHERE status = 'pending' ORDER BY next_attempt_at, id LIMIT 1`)
	if len(kinds) > 0 {
		list, err := kindList(kinds)
		if err != nil {
			return at, err
		}
		// One index look-up for each kind.
		next.text, next.args = `
			SELECT first.next_attempt_at FROM json_array_elements_text($1::json) AS wanted(name), LATERAL (
				SELECT next_attempt_at FROM operations WHERE status = 'pending' AND kind = wanted.name
				ORDER BY next_attempt_at, id LIMIT 1) AS first
			ORDER BY 1 LIMIT 1`, []any{list}
	}
	if err = q.read(ctx, next); err == nil && !found {
		err = store.ErrNotFound
	}
	return at, err
}

// Activity implements store.Queue.
func (q *Queue) Activity(ctx context.Context, id string) (list []store.Activity, err error) {
	err = q.read(ctx, asks(func(r *row) {
		list = append(list, store.Activity{At: r.Time(), OperationID: id, Event: r.Text(), Detail: r.Text()})
	}, `SELECT at, event, detail FROM operation_activity WHERE operation_id = $1 ORDER BY sequence`, id))
	return list, err
}
