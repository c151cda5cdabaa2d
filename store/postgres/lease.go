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

// heldSet is the ids of the operations that this node attempts, as far as it knows. One whose Take was never answered is not in
// it, so its lease lapses.
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

// clock is the server's, in milliseconds: leases and pacers are shared by nodes whose own clocks differ.
const clock = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

const (
	renew = `UPDATE operations SET lease_until = ` + clock + ` + $2
		WHERE id IN (
			SELECT id FROM operations
			WHERE owner = $1 AND status = 'processing' AND id IN (SELECT json_array_elements_text($3::json))
			ORDER BY id FOR UPDATE)`

	letGo = `UPDATE operations SET owner = '', lease_until = 0 WHERE owner = $1`

	letGoAll = `UPDATE operations SET owner = '', lease_until = 0 WHERE owner <> ''`

	// What lapsed, and with $1 what is this node's or nobody's too, is pending again, its outcome unknown; a write to the practice
	// system not before $5 after its node was last heard of, for until then it may be in flight. When that was, its lease says, by the
	// server's clock: the attempt's own instant is of the clock of a node that may have been wrong.
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

// keepLeases renews what this node attempts and takes over what other nodes let lapse, until ctx ends.
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
			q.log.Warn("queue: leases not renewed; retrying", "error", err)
		}
		over := stmt(takeOver, false, q.owner, time.Now(), "the node that attempted it is gone", q.settle.Milliseconds(), q.lease.Milliseconds())
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

// Recover implements store.Queue. What another node attempts at this moment is left to it.
func (q *Queue) Recover(ctx context.Context, now time.Time) (int, error) {
	over := stmt(takeOver, true, q.owner, now, "the program stopped during the attempt", 0, q.lease.Milliseconds())
	if err := q.write(ctx, over); err != nil {
		return 0, err
	}
	q.held.clear()
	return int(over.changed), nil
}

// Pace reserves the next instant at which a call of the far side called name may go out, spacing after the one reserved
// before by whichever node, and says how long that is from now, and which turn it is, for PaceAgain. If it is longer than most,
// nothing is reserved, and turn is 0. ErrUnavailable: then nothing may go out.
func (q *Queue) Pace(ctx context.Context, name string, spacing, most time.Duration) (wait time.Duration, turn int64, err error) {
	if spacing < 0 {
		return 0, 0, fmt.Errorf("%w: a spacing of %v", store.ErrInvalid, spacing)
	}
	var ms int64
	err = q.write(ctx,
		stmt(`INSERT INTO pacers (name, next_at) VALUES ($1, 0) ON CONFLICT DO NOTHING`, name),
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

// PaceReturn gives back the turn given if it was the last one that anybody reserved: it was not used.
func (q *Queue) PaceReturn(ctx context.Context, name string, spacing time.Duration, turn int64) error {
	return q.write(ctx, stmt(`UPDATE pacers SET next_at = next_at - $2::bigint WHERE name = $1 AND next_at = $3::bigint`,
		name, spacing.Milliseconds(), turn))
}

// PaceAgain reserves the instant of now if the turn given was the last one that anybody reserved, and reports false if not.
func (q *Queue) PaceAgain(ctx context.Context, name string, spacing time.Duration, turn int64) (reserved bool, err error) {
	err = q.write(ctx, asks(func(*row) { reserved = true },
		`UPDATE pacers SET next_at = `+clock+` + $2::bigint WHERE name = $1 AND next_at = $3::bigint RETURNING 1`,
		name, spacing.Milliseconds(), turn))
	return reserved, err
}
