package sqlite

import (
	"context"
	"time"

	"holdfast/store"
)

const requestColumns = `id, appointment_type_id, specialist_id, client_id, hold_owner, status, slot_start, slot_end,
	patient_name, patient_email, patient_phone, patient_birth_date, notes, created_at, expires_at, locale, intake, approval`

func scanRequest(r *row) store.BookingRequest {
	return store.BookingRequest{
		ID: r.text(), AppointmentTypeID: r.text(), SpecialistID: r.text(), Owner: r.text(), HoldOwner: r.text(), Status: store.RequestStatus(r.text()),
		SlotStart: r.time(), SlotEnd: r.time(),
		Patient:   store.Patient{Name: r.text(), Email: r.text(), Phone: r.text(), BirthDate: r.text(), Notes: r.text()},
		CreatedAt: r.time(), ExpiresAt: r.time(), Locale: r.text(),
		Intake: store.Unpacked[store.Intake](r.text()), Approval: r.bool(),
	}
}

func (r reads) BookingRequest(ctx context.Context, id string) (store.BookingRequest, error) {
	return one(ctx, r, scanRequest, `SELECT `+requestColumns+` FROM booking_requests WHERE id = ?`, id)
}

func (r reads) BookingRequests(ctx context.Context, now time.Time) ([]store.BookingRequest, error) {
	return list(ctx, r, scanRequest,
		`SELECT `+requestColumns+` FROM booking_requests WHERE expires_at > ? AND status = 'open' ORDER BY slot_start, id`, now)
}

func (t *tx) InsertBookingRequest(_ context.Context, r store.BookingRequest) error {
	return t.run(`INSERT INTO booking_requests (`+requestColumns+`, patient_search) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.AppointmentTypeID, r.SpecialistID, r.Owner, r.HoldOwner, string(r.Status), r.SlotStart, r.SlotEnd,
		r.Patient.Name, r.Patient.Email, r.Patient.Phone, r.Patient.BirthDate, r.Patient.Notes, r.CreatedAt, r.ExpiresAt, r.Locale, r.Intake.Packed(), r.Approval, store.SearchText(r.Patient))
}

func (t *tx) DeclineBookingRequest(_ context.Context, id string) error {
	return t.mustChange(`UPDATE booking_requests SET status = 'declined' WHERE id = ? AND status = 'open'`, id)
}

func (t *tx) DeleteBookingRequest(_ context.Context, id string) error {
	return t.mustChange(`DELETE FROM booking_requests WHERE id = ? AND status = 'open'`, id)
}

func (t *tx) ForgetBookingRequests(_ context.Context, approval bool, before time.Time, limit int) (int, error) {
	n, err := t.exec(`DELETE FROM booking_requests WHERE id IN (
		SELECT id FROM booking_requests WHERE expires_at < ? AND approval = ? ORDER BY expires_at LIMIT +?)`, before, approval, limit)
	return int(n), err
}

// eraseRequests removes the requests of a person. They are few, so they are looked through as a whole.
func (t *tx) eraseRequests(ctx context.Context, p store.Person, known []store.Identity) (ids []string, err error) {
	scan := func(r *row) string { return r.text() }
	switch {
	case len(p.Of) > 0:
		type asking struct {
			id string
			of store.Identity
		}
		var all []asking
		all, err = list(ctx, t.reads, func(r *row) asking { return asking{r.text(), scanIdentity(r)} }, `SELECT id, `+identityColumns+` FROM booking_requests`)
		for _, x := range all {
			if x.of.IsOneOf(p, known) {
				ids = append(ids, x.id)
			}
		}
	case p.Owner != "":
		ids, err = list(ctx, t.reads, scan, `SELECT id FROM booking_requests WHERE client_id = ? AND client_id <> ''`, p.Owner)
	case p.Email != "":
		ids, err = list(ctx, t.reads, scan, `SELECT id FROM booking_requests WHERE instr(patient_search, ?) > 0`, "\n"+store.Fold(p.Email)+"\n")
	default:
		line := "\n" + store.Digits(p.Phone)
		ids, err = list(ctx, t.reads, scan, `SELECT id FROM booking_requests WHERE substr(patient_search, ?) = ?`, -len(line), line)
	}
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

func (r reads) Tally(ctx context.Context, key string, after time.Time) (n int, first time.Time, err error) {
	type tally struct {
		n     int
		first time.Time
	}
	found, err := one(ctx, r, func(r *row) tally { return tally{r.int(), r.time()} },
		`SELECT COALESCE(sum(n), 0), min(at) FROM tallies WHERE key = ? AND at > ?`, key, after)
	return found.n, found.first, err
}

func (t *tx) AddTally(_ context.Context, key string, at time.Time) error {
	return t.run(`INSERT INTO tallies (key, at, n) VALUES (?, ?, 1) ON CONFLICT (key, at) DO UPDATE SET n = n + 1`, key, at)
}

func (t *tx) ForgetTallies(_ context.Context, before time.Time, limit int) (int, error) {
	n, err := t.exec(`DELETE FROM tallies WHERE (key, at) IN (SELECT key, at FROM tallies WHERE at < ? ORDER BY at LIMIT +?)`, before, limit)
	return int(n), err
}
