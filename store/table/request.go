package table

import (
	"context"
	"time"

	"holdfast/store"
)

var requests = nounOf[store.BookingRequest]("booking_requests", "id",
	derived("patient_search", func(q *store.BookingRequest) any { return store.SearchText(q.Patient) }),
)

// BookingRequest implements store.RequestReader.
func (r Reads) BookingRequest(ctx context.Context, id string) (store.BookingRequest, error) {
	return requests.one(ctx, r.source, `WHERE id = ?`, id)
}

// BookingRequests implements store.RequestReader.
func (r Reads) BookingRequests(ctx context.Context, now time.Time) ([]store.BookingRequest, error) {
	return requests.list(ctx, r.source, `WHERE expires_at > ? AND status = 'open' ORDER BY slot_start, id`, now)
}

// InsertBookingRequest implements store.RequestWriter.
func (t *Tx) InsertBookingRequest(_ context.Context, q store.BookingRequest) error {
	return t.run(requests.insert, requests.values(&q)...)
}

// DeclineBookingRequest implements store.RequestWriter.
func (t *Tx) DeclineBookingRequest(_ context.Context, id string) error {
	return t.mustChange(`UPDATE booking_requests SET status = 'declined' WHERE id = ? AND status = 'open'`, id)
}

// DeleteBookingRequest implements store.RequestWriter.
func (t *Tx) DeleteBookingRequest(_ context.Context, id, holdOwner string) error {
	return t.mustChange(`DELETE FROM booking_requests WHERE id = ? AND hold_owner = ? AND status = 'open'`, id, holdOwner)
}

// ProposeBookingRequest implements store.RequestWriter.
func (t *Tx) ProposeBookingRequest(_ context.Context, r store.BookingRequest, holdOwner string) error {
	return t.mustChange(`
		UPDATE booking_requests SET wanted_start = ?, slot_start = ?, slot_end = ?, specialist_id = ?, hold_owner = ?,
			approval = ?, expires_at = ?
		WHERE id = ? AND hold_owner = ? AND status = 'open'`,
		r.WantedStart, r.SlotStart, r.SlotEnd, r.SpecialistID, r.HoldOwner, r.Approval, r.ExpiresAt, r.ID, holdOwner)
}

// ForgetBookingRequests implements store.RequestWriter.
func (t *Tx) ForgetBookingRequests(_ context.Context, approval bool, before time.Time, limit int) (int, error) {
	return t.count(`DELETE FROM booking_requests WHERE id IN (
		SELECT id FROM booking_requests WHERE expires_at < ? AND approval = ? ORDER BY expires_at LIMIT +?)`,
		before, approval, limit)
}

// eraseRequests removes the requests of a person and returns their ids.
func (t *Tx) eraseRequests(ctx context.Context, p store.Person, known []store.Identity) ([]string, error) {
	ids, err := rowsOf(ctx, t.source, requests.name, p, known)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := t.run(`DELETE FROM booking_requests WHERE id = ?`, id); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// Tally implements store.TallyReader.
func (r Reads) Tally(ctx context.Context, key string, after time.Time) (n int, first time.Time, err error) {
	err = r.source.Query(ctx, func(r Row) { n, first = r.Int(), r.Time() },
		`SELECT CAST(COALESCE(sum(n), 0) AS BIGINT), min(at) FROM tallies WHERE key = ? AND at > ?`, key, after)
	return n, first, err
}

// AddTally implements store.TallyWriter.
func (t *Tx) AddTally(_ context.Context, key string, at time.Time) error {
	return t.run(`
		INSERT INTO tallies (key, at, n) VALUES (?, ?, 1)
		ON CONFLICT (key, at) DO UPDATE SET n = tallies.n + 1`, key, at)
}

// ForgetTallies implements store.TallyWriter.
func (t *Tx) ForgetTallies(_ context.Context, before time.Time, limit int) (int, error) {
	return t.count(`DELETE FROM tallies WHERE (key, at) IN (
		SELECT key, at FROM tallies WHERE at < ? ORDER BY at LIMIT +?)`, before, limit)
}
