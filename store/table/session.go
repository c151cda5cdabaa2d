package table

import (
	"context"
	"fmt"
	"time"

	"holdfast/store"
)

var sessions = nounOf[store.Session]("sessions", "id")

// Session implements store.SessionReader.
func (r Reads) Session(ctx context.Context, id string) (store.Session, error) {
	return sessions.one(ctx, r.source, `WHERE id = ?`, id)
}

// Sessions implements store.SessionReader.
func (r Reads) Sessions(ctx context.Context, f store.SessionFilter) ([]store.Session, error) {
	var where Conditions
	if len(f.Statuses) > 0 {
		// All statuses are one argument, so that the SQL text does not depend on their number.
		wanted, err := jsonOf(f.Statuses)
		if err != nil {
			return nil, err
		}
		where.And("status IN ({each}(?))", wanted)
	}
	if f.SpecialistID != "" {
		where.And("specialist_id = ?", f.SpecialistID)
	}
	if f.Owner != "" {
		where.And("client_id = ? AND client_id <> ''", f.Owner) // the second condition allows the partial index
	}
	if !f.QuietSince.IsZero() {
		where.And("updated_at <= ?", f.QuietSince)
	}
	rest := where.SQL() + ` ORDER BY requested_at, id LIMIT +?`
	return sessions.list(ctx, r.source, rest, append(where.Args, Limit(f.Limit))...)
}

// Loads implements store.SessionReader.
func (r Reads) Loads(ctx context.Context) (map[string]int, error) {
	loads := map[string]int{}
	err := r.source.Query(ctx, func(r Row) { loads[r.Text()] = r.Int() }, `
		SELECT specialist_id, count(*) FROM sessions
		WHERE status IN ('active', 'pending_payment') AND specialist_id IS NOT NULL GROUP BY specialist_id`)
	if err != nil {
		return nil, err
	}
	return loads, nil
}

// InsertSession implements store.SessionWriter.
func (t *Tx) InsertSession(_ context.Context, s store.Session) error {
	if s.Version != 1 {
		return fmt.Errorf("%w: a new session has version 1, not %d", store.ErrInvalid, s.Version)
	}
	err := t.run(sessions.insert, sessions.values(&s)...)
	if err == nil {
		t.to.Changed(store.ChangeOfSession(&s))
	}
	return err
}

// UpdateSession implements store.SessionWriter.
func (t *Tx) UpdateSession(ctx context.Context, s store.Session) error {
	before := s.Version
	s.Version++
	n, err := t.count(sessions.update, append(sessions.values(&s)[1:], s.ID, before)...)
	if err != nil {
		return err
	}
	if n == 1 {
		t.to.Changed(store.ChangeOfSession(&s))
		return nil
	}
	if _, err := t.Session(ctx, s.ID); err != nil {
		return err
	}
	return store.ErrVersion
}

// ForgetSessions implements store.SessionWriter. It does not read sessions that were requested at or after before: none
// of them can have ended earlier.
func (t *Tx) ForgetSessions(_ context.Context, before time.Time, limit int) (int, error) {
	return t.count(`DELETE FROM sessions WHERE id IN (
		SELECT id FROM sessions
		WHERE requested_at < ?1 AND status IN ('ended', 'expired', 'cancelled') AND COALESCE(ended_at, updated_at) < ?1
		ORDER BY requested_at LIMIT +?2)`, before, limit)
}
