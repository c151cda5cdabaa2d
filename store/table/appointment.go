package table

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"holdfast/store"
)

// appointments has one column for each field of an appointment. Its insert is the server's most frequent write, so it
// is a plain prepared INSERT without RETURNING.
var appointments = nounOf[store.Appointment]("appointments", "id",
	derived("patient_search", func(a *store.Appointment) any { return store.SearchText(a.Patient) }),
)

// Appointment implements store.AppointmentReader.
func (r Reads) Appointment(ctx context.Context, id string) (store.Appointment, error) {
	a, err := appointments.one(ctx, r.source, `WHERE id = ?`, id)
	if r.tx != nil {
		r.tx.read = a
	}
	return a, err
}

// Appointments implements store.AppointmentReader.
func (r Reads) Appointments(ctx context.Context, f store.AppointmentFilter) ([]store.Appointment, string, error) {
	var where Conditions
	if !f.From.IsZero() {
		// The first condition selects the appointments. The second is for the index: it skips slots that start too
		// early to reach From.
		where.And("slot_end > ?", f.From)
		where.And("slot_start > CAST(? AS BIGINT) - (SELECT COALESCE(max(reach_after_ms), 0) FROM specialists)", f.From)
	}
	if !f.To.IsZero() {
		where.And("slot_start < ?", f.To)
	}
	if f.SpecialistID != "" {
		where.And("specialist_id = ?", f.SpecialistID)
	}
	if f.ResourceID != "" {
		where.And("id IN (SELECT appointment_id FROM appointment_resources WHERE resource_id = ?)", f.ResourceID)
	}
	if f.Owner != "" {
		where.And("client_id = ? AND client_id <> ''", f.Owner)
	}
	if f.Status != "" {
		where.And("status = ?", string(f.Status))
	}
	switch {
	case f.Upstream == store.UpstreamNone:
		where.And("upstream_state = 'none'")
	case f.Upstream != "":
		where.And("upstream_state = ? AND upstream_state <> 'none'", string(f.Upstream))
	}
	if f.SeriesID != "" {
		where.And("series_id = ? AND series_id <> ''", f.SeriesID)
	}
	if f.VisitID != "" {
		where.And("visit_id = ? AND visit_id <> ''", f.VisitID)
	}
	if !f.RecallAfter.IsZero() {
		where.And("recall_at > ?", f.RecallAfter)
	}
	if f.UpstreamPatient != "" {
		where.And("lower(upstream_patient_id{ascii}) = lower(?{ascii})", f.UpstreamPatient)
	}
	switch text, number := store.SearchTerms(f.Query); {
	case number != "":
		where.And("({instr}(patient_search, ?) > 0 OR {instr}(patient_search, ?) > 0)", text, number)
	case text != "":
		where.And("{instr}(patient_search, ?) > 0", text)
	}
	if f.Cursor != "" {
		at, id, err := store.ParseCursor(f.Cursor)
		if err != nil {
			return nil, "", err
		}
		where.And("(slot_start, id) > (?, ?)", at, id)
	}
	n := Limit(f.Limit)
	rest := where.SQL() + ` ORDER BY slot_start, id LIMIT +?`
	all, err := appointments.list(ctx, r.source, rest, append(where.Args, n+1)...)
	if err != nil || len(all) <= n {
		return all, "", err
	}
	last := all[n-1]
	return all[:n], store.Cursor(last.SlotStart, last.ID), nil
}

// Taken implements store.AppointmentReader.
func (r Reads) Taken(ctx context.Context, specialistIDs []string, from, to time.Time) ([]store.Taken, error) {
	return r.source.Taken(ctx, specialistIDs, from, to)
}

// LatestWebBooking implements store.AppointmentReader.
func (r Reads) LatestWebBooking(ctx context.Context, owner, typeID string, since time.Time) (store.WebBooking, error) {
	return one(ctx, r.source, func(r Row) store.WebBooking {
		return store.WebBooking{AppointmentID: r.Text(), SlotStart: r.Time(), CreatedAt: r.Time()}
	}, `
		SELECT id, slot_start, created_at FROM appointments
		WHERE client_id = ? AND client_id <> '' AND appointment_type_id = ? AND status = 'confirmed' AND source = 'web'
		  AND created_at >= ? ORDER BY created_at DESC, id DESC LIMIT 1`, owner, typeID, since)
}

// BookedOnline implements store.AppointmentReader.
func (r Reads) BookedOnline(
	ctx context.Context, since time.Time, specialistID string, n int,
) ([]store.Appointment, error) {
	return appointments.list(ctx, r.source, `
		WHERE id >= ?1 AND created_at >= ?2 AND (source = 'web' OR source = 'agent')
		  AND (CAST(?3 AS TEXT) = '' OR specialist_id = ?3)
		ORDER BY created_at DESC, id DESC LIMIT +?4`, store.FirstIDOf(since), since, specialistID, Limit(n))
}

// InsertAppointment implements store.AppointmentWriter.
func (t *Tx) InsertAppointment(_ context.Context, a store.Appointment) error {
	if a.Version != 1 {
		return fmt.Errorf("%w: a new appointment has version 1, not %d", store.ErrInvalid, a.Version)
	}
	if err := a.CheckResources(); err != nil {
		return err
	}
	err := t.run(appointments.insert, appointments.values(&a)...)
	if err == nil {
		t.to.Changed(store.ChangeOf(nil, truncated(&a)))
	}
	return err
}

// truncated truncates the instants of a to milliseconds, as the database stores them.
func truncated(a *store.Appointment) *store.Appointment {
	for _, at := range []*time.Time{&a.SlotStart, &a.SlotEnd, &a.BusyStart, &a.BusyEnd} {
		*at = time.UnixMilli(at.UnixMilli()).UTC()
	}
	return a
}

// UpdateAppointment implements store.AppointmentWriter.
func (t *Tx) UpdateAppointment(ctx context.Context, a store.Appointment) error {
	before := t.read
	if before.ID != a.ID || before.Version != a.Version {
		var err error
		if before, err = t.Appointment(ctx, a.ID); err != nil {
			return err
		}
	}
	if before.Version != a.Version {
		return store.ErrVersion
	}
	if err := a.CheckResources(); err != nil {
		return err
	}
	identity := a.Patient.Identity()
	identity = identity.Stored()
	if identity != before.Patient.Identity() || store.Recency(a.SlotStart) > store.Recency(before.SlotStart) {
		if err := t.reindex(ctx, a.ID, identity, a.SlotStart); err != nil {
			return err
		}
	}
	a.Version++
	n, err := t.count(appointments.update, append(appointments.values(&a)[1:], a.ID, before.Version)...)
	if err != nil {
		return err
	}
	if n == 0 {
		return store.ErrVersion
	}
	t.to.Changed(store.ChangeOf(&before, truncated(&a)))
	t.read = store.Appointment{}
	return nil
}

// AppointmentsNamed implements store.PersonReader.
func (r Reads) AppointmentsNamed(
	ctx context.Context, name, specialistID string, limit int,
) (all []store.Appointment, err error) {
	name = store.Text(name)
	const ofSpecialist = ` AND (CAST(?1 AS TEXT) = '' OR specialist_id = ?1) ORDER BY +slot_start, id LIMIT +?2`
	err = r.source.Moment(ctx, func(source Querier) error {
		indexed, err := appointments.list(ctx, source, `
			WHERE {row} {any}SELECT appointment_row FROM people_appointments
				WHERE person_id {any}SELECT id FROM people WHERE name_key = ?3{end}{end}`+ofSpecialist,
			specialistID, limit, store.Fold(name))
		if err != nil {
			return err
		}
		to, err := indexedTo(ctx, source)
		if err != nil {
			return err
		}
		rest, err := appointments.list(ctx, source, `
			WHERE {row} > ?3 AND substr(patient_search, 1, ?4) = ?5`+ofSpecialist,
			append([]any{specialistID, limit, to}, nameLine(name)...)...)
		all = slices.Concat(indexed, rest)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b store.Appointment) int {
		return cmp.Or(a.SlotStart.Compare(b.SlotStart), cmp.Compare(a.ID, b.ID))
	})
	return all[:min(limit, len(all))], nil
}
