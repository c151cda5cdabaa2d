package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"holdfast/store"
)

// heldSet holds the ids of the operations that this node is attempting. It does not include an operation whose Take got
// no response, so the lease of that operation expires.
type heldSet struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (h *heldSet) add(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ids == nil {
		h.ids = map[string]bool{}
	}
	h.ids[id] = true
}

func (h *heldSet) has(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ids[id]
}

func (h *heldSet) remove(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.ids, id)
}

func (h *heldSet) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.ids)
}

func (h *heldSet) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.ids))
}

// clock is the server's time in milliseconds. Leases and pacers use it, because the clocks of the nodes can differ.
const clock = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

const (
	renew = `UPDATE operations SET lease_until = ` + clock + ` + $2
		WHERE id IN (
			SELECT id FROM operations
			WHERE owner = $1 AND status = 'processing' AND id IN (SELECT json_array_elements_text($3::json))
			ORDER BY id FOR UPDATE)`

	releaseLeases = `UPDATE operations SET owner = '', lease_until = 0 WHERE owner = $1`

	releaseAllLeases = `UPDATE operations SET owner = '', lease_until = 0 WHERE owner <> ''`

	// takeOver sets operations with an expired lease to pending, with an unknown outcome. If $1 is true, it also does
	// so for those of this node ($2) and those without an owner. An upstream write is due no earlier than $5 after the
	// last renewal of its lease, because it may be in flight until then. The statement computes the last renewal from
	// the lease, which uses the server's clock. It does not use the instant of the attempt, which is from the clock of
	// a node and may be wrong.
	takeOver = `
		WITH lapsed AS (
			SELECT id FROM operations
			WHERE status = 'processing' AND ((owner <> '' AND lease_until <= ` + clock + `) OR ($1 AND owner IN ($2, '')))
			ORDER BY id FOR UPDATE),
		back AS (
			UPDATE operations SET status = 'pending', unknown = true,
				next_attempt_at = CASE WHEN kind LIKE 'upstream.%' THEN greatest($3, $3 + lease_until - $6::bigint + $5::bigint - ` + clock + `) ELSE $3 END, owner = '', lease_until = 0, version = version + 1
			WHERE id IN (SELECT id FROM lapsed) RETURNING id)
		INSERT INTO operation_activity (operation_id, at, event, detail)
		SELECT id, $3::bigint, 'recovered', $4 FROM back ORDER BY id`
)

// keepLeases renews the leases of this node and takes over operations whose leases have expired, until ctx ends.
func (q *Queue) keepLeases(ctx context.Context) {
	tick := time.NewTicker(q.lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := q.renew(ctx); err != nil && ctx.Err() == nil {
			q.log.Warn("queue: failed to renew leases; retrying", "error", err)
		}
		over := stmt(takeOver, false, q.owner, time.Now(), "the node that made the attempt is lost",
			q.settle.Milliseconds(), q.lease.Milliseconds())
		if _, err := q.pool.write(ctx, []*statement{over}); err == nil && over.changed > 0 {
			q.log.Warn("queue: operations of a lost node taken over; outcomes unknown", "operations", over.changed)
		}
	}
}

func (q *Queue) renew(ctx context.Context) error {
	ids := q.held.all()
	if len(ids) == 0 {
		return nil
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	_, err = q.pool.write(ctx, []*statement{stmt(renew, q.owner, q.lease.Milliseconds(), string(list))})
	return err
}

// Recover implements store.Queue. It does not change operations that another node is attempting.
func (q *Queue) Recover(ctx context.Context, now time.Time) (int, error) {
	over := stmt(takeOver, true, q.owner, now, "the program stopped during the attempt", 0, q.lease.Milliseconds())
	if err := q.write(ctx, over); err != nil {
		return 0, err
	}
	q.held.clear()
	return int(over.changed), nil
}

// Pace reserves the next instant for a call to the remote server with this name: spacing after the last instant
// reserved by any node. It returns the time until that instant, and its turn, which PaceAgain and PaceReturn need. If
// the wait would be longer than most, Pace reserves nothing and turn is 0. If it returns ErrUnavailable, do not send
// the call.
func (q *Queue) Pace(ctx context.Context, name string,
	spacing, most time.Duration) (wait time.Duration, turn int64, err error) {
	if spacing < 0 {
		return 0, 0, fmt.Errorf("%w: a spacing of %v", store.ErrInvalid, spacing)
	}
	var ms int64
	err = q.write(ctx, stmt(`INSERT INTO pacers (name, next_at) VALUES ($1, 0) ON CONFLICT DO NOTHING`, name),
		asks(func(r *row) { ms = r.Int64() },
			`SELECT greatest(0, next_at - `+clock+`) FROM pacers WHERE name = $1 FOR UPDATE`, name),
		asks(func(r *row) { turn = r.Int64() }, `
			UPDATE pacers SET next_at = greatest(next_at, `+clock+`) + $2::bigint
			WHERE name = $1 AND next_at - `+clock+` <= $3::bigint RETURNING next_at`, name, spacing.Milliseconds(), most.Milliseconds()))
	if err != nil {
		return 0, 0, err
	}
	return time.Duration(ms) * time.Millisecond, turn, nil
}

// PaceReturn releases an unused turn, if no node has reserved a later one.
func (q *Queue) PaceReturn(ctx context.Context, name string, spacing time.Duration, turn int64) error {
	return q.write(ctx, stmt(
		`UPDATE pacers SET next_at = next_at - $2::bigint WHERE name = $1 AND next_at = $3::bigint`, name,
		spacing.Milliseconds(), turn,
	))
}

// PaceAgain reserves the current instant, if no node has reserved a turn after this one, and reports whether it did.
func (q *Queue) PaceAgain(ctx context.Context, name string, spacing time.Duration,
	turn int64) (reserved bool, err error) {
	err = q.write(ctx, asks(func(*row) { reserved = true },
		`UPDATE pacers SET next_at = `+clock+` + $2::bigint WHERE name = $1 AND next_at = $3::bigint RETURNING 1`,
		name, spacing.Milliseconds(), turn))
	return reserved, err
}
