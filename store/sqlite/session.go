package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/store"
)

const sessionColumns = `id, client_id, specialist_id, status, outcome, requested_at, accepted_at, ended_at, expires_at,
	updated_at, version`

func scanSession(r *row) store.Session {
	return store.Session{ID: r.text(), Owner: r.text(), SpecialistID: r.text(), Status: store.SessionStatus(r.text()),
		Outcome: r.text(), RequestedAt: r.time(), AcceptedAt: r.time(), EndedAt: r.time(), ExpiresAt: r.time(),
		UpdatedAt: r.time(), Version: r.int64()}
}

func (r reads) Session(ctx context.Context, id string) (store.Session, error) {
	return one(ctx, r, scanSession, `SELECT `+sessionColumns+` FROM sessions WHERE id = ?`, id)
}

func (r reads) Sessions(ctx context.Context, f store.SessionFilter) ([]store.Session, error) {
	var where conditions
	if len(f.Statuses) > 0 {
		// One argument, so that the text of the query does not depend on how many there are.
		wanted, err := json.Marshal(f.Statuses)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
		}
		where.and("status IN (SELECT value FROM json_each(?))", string(wanted))
	}
	if f.SpecialistID != "" {
		where.and("specialist_id = ?", f.SpecialistID)
	}
	if f.Owner != "" {
		where.and("client_id = ? AND client_id <> ''", f.Owner) // the second half lets the partial index be used
	}
	if !f.QuietSince.IsZero() {
		where.and("updated_at <= ?", f.QuietSince)
	}
	return list(ctx, r, scanSession,
		`SELECT `+sessionColumns+` FROM sessions `+where.sql()+` ORDER BY requested_at, id LIMIT +?`,
		append(where.args, limit(f.Limit))...)
}

func (r reads) Loads(ctx context.Context) (map[string]int, error) {
	loads := map[string]int{}
	err := r.use(ctx, func(ctx context.Context, c *conn) error {
		return c.query(ctx, func(r *row) { loads[r.text()] = r.int() }, `
			SELECT specialist_id, count(*) FROM sessions
			WHERE status IN ('active', 'pending_payment') AND specialist_id IS NOT NULL GROUP BY specialist_id`)
	})
	if err != nil {
		return nil, err
	}
	return loads, nil
}

func (t *tx) InsertSession(_ context.Context, s store.Session) error {
	if s.Version != 1 {
		return fmt.Errorf("%w: a new session has version 1, not %d", store.ErrInvalid, s.Version)
	}
	err := t.run(`INSERT INTO sessions (`+sessionColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.Owner, textOrNull(s.SpecialistID), string(s.Status), s.Outcome, s.RequestedAt,
		orNull(s.AcceptedAt), orNull(s.EndedAt), orNull(s.ExpiresAt), s.UpdatedAt, s.Version)
	if err == nil {
		t.changed(store.ChangeOfSession(&s))
	}
	return err
}

func (t *tx) UpdateSession(ctx context.Context, s store.Session) error {
	n, err := t.exec(`
		UPDATE sessions SET client_id = ?, specialist_id = ?, status = ?, outcome = ?, requested_at = ?, accepted_at = ?,
			ended_at = ?, expires_at = ?, updated_at = ?, version = ?
		WHERE id = ? AND version = ?`,
		s.Owner, textOrNull(s.SpecialistID), string(s.Status), s.Outcome, s.RequestedAt, orNull(s.AcceptedAt),
		orNull(s.EndedAt), orNull(s.ExpiresAt), s.UpdatedAt, s.Version+1, s.ID, s.Version)
	if err != nil {
		return err
	}
	if n == 1 {
		s.Version++
		t.changed(store.ChangeOfSession(&s))
		return nil
	}
	if _, err := t.Session(ctx, s.ID); err != nil {
		return err
	}
	return store.ErrVersion
}

// ForgetSessions looks no further than a session that was asked for since: none of those is over long enough.
func (t *tx) ForgetSessions(_ context.Context, before time.Time, limit int) (int, error) {
	n, err := t.exec(`DELETE FROM sessions WHERE rowid IN (
		SELECT rowid FROM sessions
		WHERE requested_at < ?1 AND status IN ('ended', 'expired', 'cancelled') AND COALESCE(ended_at, updated_at) < ?1
		ORDER BY requested_at LIMIT +?2)`, before, limit)
	return int(n), err
}
