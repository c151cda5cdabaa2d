package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/store"
)

const appointmentColumns = `id, appointment_type_id, specialist_id, client_id, seat, overbook, overbook_reason,
	status, attendance, slot_start, slot_end, busy_start, busy_end,
	patient_name, patient_email, patient_phone, patient_birth_date, notes,
	source, upstream_state, upstream_id, upstream_patient_id, manage_epoch,
	created_at, updated_at, cancelled_at, cancel_reason, version, locale, arrived_at, series_id, place, intake, resources, visit_id`

func scanAppointment(r *row) store.Appointment {
	return store.Appointment{
		ID: r.text(), AppointmentTypeID: r.text(), SpecialistID: r.text(), Owner: r.text(),
		Seat: r.int(), Overbook: r.bool(), OverbookReason: r.text(),
		Status: store.Status(r.text()), Attendance: store.Attendance(r.text()),
		SlotStart: r.time(), SlotEnd: r.time(), BusyStart: r.time(), BusyEnd: r.time(),
		Patient: store.Patient{Name: r.text(), Email: r.text(), Phone: r.text(), BirthDate: r.text(), Notes: r.text()},
		Source:  store.Source(r.text()), UpstreamState: store.UpstreamState(r.text()),
		UpstreamID: r.text(), UpstreamPatientID: r.text(), ManageEpoch: r.int64(),
		CreatedAt: r.time(), UpdatedAt: r.time(), CancelledAt: r.time(), CancelReason: r.text(), Version: r.int64(),
		Locale: r.text(), ArrivedAt: r.time(), SeriesID: r.text(), Place: r.text(), Intake: store.Unpacked[store.Intake](r.text()),
		Resources: store.Unpacked[[]string](r.text()), VisitID: r.text(),
	}
}

func (r reads) Appointment(ctx context.Context, id string) (store.Appointment, error) {
	a, err := one(ctx, r, scanAppointment, `SELECT `+appointmentColumns+` FROM appointments WHERE id = $1`, id)
	if r.tx != nil {
		r.tx.read = a
	}
	return a, err
}

func (r reads) Appointments(ctx context.Context, f store.AppointmentFilter) ([]store.Appointment, string, error) {
	var where conditions
	if !f.From.IsZero() {
		// The first is what is asked; the second lets the index begin where no slot could still reach From.
		where.and("slot_end > ?", f.From)
		where.and("slot_start > ?::bigint - (SELECT COALESCE(max(reach_after_ms), 0) FROM specialists)", f.From)
	}
	if !f.To.IsZero() {
		where.and("slot_start < ?", f.To)
	}
	if f.SpecialistID != "" {
		where.and("specialist_id = ?", f.SpecialistID)
	}
	if f.ResourceID != "" {
		where.and("id IN (SELECT appointment_id FROM appointment_resources WHERE resource_id = ?)", f.ResourceID)
	}
	if f.Owner != "" {
		where.and("client_id = ? AND client_id <> ''", f.Owner)
	}
	if f.Status != "" {
		where.and("status = ?", string(f.Status))
	}
	switch {
	case f.Upstream == store.UpstreamNone:
		where.and("upstream_state = 'none'")
	case f.Upstream != "":
		where.and("upstream_state = ? AND upstream_state <> 'none'", string(f.Upstream))
	}
	if f.SeriesID != "" {
		where.and("series_id = ? AND series_id <> ''", f.SeriesID)
	}
	if f.VisitID != "" {
		where.and("visit_id = ? AND visit_id <> ''", f.VisitID)
	}
	if f.UpstreamPatient != "" {
		where.and("lower(upstream_patient_id COLLATE \"C\") = lower(? COLLATE \"C\")", f.UpstreamPatient)
	}
	switch text, number := store.SearchTerms(f.Query); {
	case number != "":
		where.and("(strpos(patient_search, ?) > 0 OR strpos(patient_search, ?) > 0)", text, number)
	case text != "":
		where.and("strpos(patient_search, ?) > 0", text)
	}
	if f.Cursor != "" {
		at, id, err := store.ParseCursor(f.Cursor)
		if err != nil {
			return nil, "", err
		}
		where.and("(slot_start, id) > (?, ?)", at, id)
	}
	n := limit(f.Limit)
	text := `SELECT ` + appointmentColumns + ` FROM appointments ` + where.sql() + ` ORDER BY slot_start, id LIMIT ` + where.arg(n+1)
	all, err := list(ctx, r, scanAppointment, text, where.args...)
	if err != nil || len(all) <= n {
		return all, "", err
	}
	last := all[n-1]
	return all[:n], store.Cursor(last.SlotStart, last.ID), nil
}

// The three parts are each one range of one index for each specialist. A slot lies within its busy time, so whatever overlaps
// either overlaps the busy time.
const taken = `
	SELECT a.specialist_id, a.id, appointment_type_id, seat, overbook, slot_start, slot_end, busy_start, busy_end
	FROM specialists AS s JOIN appointments AS a ON a.specialist_id = s.id AND a.status = 'confirmed' AND NOT a.overbook
	WHERE s.id IN (SELECT json_array_elements_text($1::json))
	  AND slot_start > $2 - reach_after_ms AND slot_start < $3 + reach_before_ms AND busy_start < $3 AND busy_end > $2
	UNION ALL
	SELECT a.specialist_id, a.id, appointment_type_id, seat, overbook, slot_start, slot_end, busy_start, busy_end
	FROM specialists AS s JOIN appointments AS a ON a.specialist_id = s.id AND a.status = 'confirmed' AND a.overbook
	WHERE s.id IN (SELECT json_array_elements_text($1::json))
	  AND slot_start > $2 - reach_after_ms AND slot_start < $3 + reach_before_ms AND busy_start < $3 AND busy_end > $2
	UNION ALL
	SELECT r.resource_id, a.id, appointment_type_id, seat, overbook, r.slot_start, r.slot_end, r.busy_start, r.busy_end
	FROM specialists AS s JOIN appointment_resources AS r ON r.resource_id = s.id JOIN appointments AS a ON a.id = r.appointment_id
	WHERE s.id IN (SELECT json_array_elements_text($1::json))
	  AND r.slot_start > $2 - reach_after_ms AND r.slot_start < $3 + reach_before_ms AND r.busy_start < $3 AND r.busy_end > $2
	ORDER BY specialist_id, slot_start, seat`

func (r reads) Taken(ctx context.Context, specialistIDs []string, from, to time.Time) ([]store.Taken, error) {
	if from.UnixMilli() >= to.UnixMilli() || len(specialistIDs) == 0 {
		return nil, nil
	}
	ids, err := json.Marshal(specialistIDs)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return list(ctx, r, func(r *row) store.Taken {
		return store.Taken{
			SpecialistID: r.text(), AppointmentID: r.text(), AppointmentTypeID: r.text(), Seat: r.int(), Overbook: r.bool(),
			SlotStart: r.time(), SlotEnd: r.time(), BusyStart: r.time(), BusyEnd: r.time(),
		}
	}, taken, string(ids), from, to)
}

func (r reads) LatestWebBooking(ctx context.Context, owner, appointmentTypeID string, since time.Time) (store.WebBooking, error) {
	return one(ctx, r, func(r *row) store.WebBooking {
		return store.WebBooking{AppointmentID: r.text(), SlotStart: r.time(), CreatedAt: r.time()}
	}, `
		SELECT id, slot_start, created_at FROM appointments
		WHERE client_id = $1 AND client_id <> '' AND appointment_type_id = $2 AND status = 'confirmed' AND source = 'web'
		  AND created_at >= $3 ORDER BY created_at DESC, id DESC LIMIT 1`, owner, appointmentTypeID, since)
}

func (r reads) BookedOnline(ctx context.Context, since time.Time, specialistID string, n int) ([]store.Appointment, error) {
	return list(ctx, r, scanAppointment, `
		SELECT `+appointmentColumns+` FROM appointments
		WHERE id >= $1 AND created_at >= $2 AND (source = 'web' OR source = 'agent') AND ($3::text = '' OR specialist_id = $3)
		ORDER BY created_at DESC, id DESC LIMIT $4`, store.FirstIDOf(since), since, specialistID, limit(n))
}

func (t *tx) InsertAppointment(_ context.Context, a store.Appointment) error {
	if a.Version != 1 {
		return fmt.Errorf("%w: a new appointment has version 1, not %d", store.ErrInvalid, a.Version)
	}
	if err := a.CheckResources(); err != nil {
		return err
	}
	err := t.run(`
		INSERT INTO appointments (`+appointmentColumns+`, patient_search)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36)`,
		a.ID, a.AppointmentTypeID, a.SpecialistID, a.Owner, a.Seat, a.Overbook, a.OverbookReason,
		string(a.Status), string(a.Attendance), a.SlotStart, a.SlotEnd, a.BusyStart, a.BusyEnd,
		a.Patient.Name, a.Patient.Email, a.Patient.Phone, a.Patient.BirthDate, a.Patient.Notes,
		string(a.Source), string(a.UpstreamState), a.UpstreamID, a.UpstreamPatientID, a.ManageEpoch,
		a.CreatedAt, a.UpdatedAt, orNull(a.CancelledAt), a.CancelReason, a.Version, a.Locale, orNull(a.ArrivedAt), a.SeriesID, a.Place, a.Intake.Packed(), store.Packed(a.Resources), a.VisitID, store.SearchText(a.Patient))
	if err == nil {
		t.changed(store.ChangeOf(nil, truncated(&a)))
	}
	return err
}

// truncated is a as a reader will find it: the database keeps milliseconds.
func truncated(a *store.Appointment) *store.Appointment {
	for _, at := range []*time.Time{&a.SlotStart, &a.SlotEnd, &a.BusyStart, &a.BusyEnd} {
		*at = time.UnixMilli(at.UnixMilli()).UTC()
	}
	return a
}

func (t *tx) UpdateAppointment(ctx context.Context, a store.Appointment) error {
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
	n, err := t.exec(`
		UPDATE appointments SET
			appointment_type_id = $1, specialist_id = $2, client_id = $3, seat = $4, overbook = $5, overbook_reason = $6,
			status = $7, attendance = $8, slot_start = $9, slot_end = $10, busy_start = $11, busy_end = $12,
			patient_name = $13, patient_email = $14, patient_phone = $15, patient_birth_date = $16, notes = $17,
			source = $18, upstream_state = $19, upstream_id = $20, upstream_patient_id = $21, manage_epoch = $22,
			created_at = $23, updated_at = $24, cancelled_at = $25, cancel_reason = $26, version = $27, locale = $28, arrived_at = $29, series_id = $30, place = $31,
			intake = $32, resources = $33, visit_id = $34, patient_search = $35
		WHERE id = $36 AND version = $37`,
		a.AppointmentTypeID, a.SpecialistID, a.Owner, a.Seat, a.Overbook, a.OverbookReason,
		string(a.Status), string(a.Attendance), a.SlotStart, a.SlotEnd, a.BusyStart, a.BusyEnd,
		a.Patient.Name, a.Patient.Email, a.Patient.Phone, a.Patient.BirthDate, a.Patient.Notes,
		string(a.Source), string(a.UpstreamState), a.UpstreamID, a.UpstreamPatientID, a.ManageEpoch,
		a.CreatedAt, a.UpdatedAt, orNull(a.CancelledAt), a.CancelReason, a.Version+1, a.Locale, orNull(a.ArrivedAt), a.SeriesID, a.Place,
		a.Intake.Packed(), store.Packed(a.Resources), a.VisitID, store.SearchText(a.Patient),
		a.ID, a.Version)
	if err != nil {
		return err
	}
	if n == 0 {
		return store.ErrVersion
	}
	a.Version++
	t.changed(store.ChangeOf(&before, truncated(&a)))
	t.read = store.Appointment{}
	return nil
}

// conditions are the parts of a WHERE that a filter asks for.
type conditions struct {
	parts []string
	args  []any
}

// and adds a part, in whose text each ? stands for the next argument.
func (c *conditions) and(part string, args ...any) {
	for _, arg := range args {
		part = strings.Replace(part, "?", c.arg(arg), 1)
	}
	c.parts = append(c.parts, part)
}

// arg adds an argument and is what stands for it in the text.
func (c *conditions) arg(v any) string {
	c.args = append(c.args, v)
	return "$" + strconv.Itoa(len(c.args))
}

func (c *conditions) sql() string {
	if len(c.parts) == 0 {
		return ""
	}
	return "WHERE " + strings.Join(c.parts, " AND ")
}
