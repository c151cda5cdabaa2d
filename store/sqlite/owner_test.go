package sqlite

import (
	"context"
	"maps"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"holdfast/store"
)

// TestMigrationKeepsOwnersForClients books with a client id under the previous schema, and opens the database with the
// current schema.
func TestMigrationKeepsOwnersForClients(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	files := migrationFiles(t)
	maps.DeleteFunc(files, func(name string, _ *fstest.MapFile) bool { return name >= "migrations/0003_owners.sql" })
	old := mustOpen(t, path, files)
	ctx := context.Background()
	const secret, owner = "a-browser-tab-0123456789", "ab27c2ca8723272bf7e5fcdf5e8ff1c3"
	booked := func(id, client string, source store.Source, n int64) store.Appointment {
		a := benchAppointment(n)
		a.ID, a.Owner, a.Source = id, client, source
		return a
	}
	err := old.Write(ctx, func(writing store.Tx) error {
		if err := clinicBeforePages(writing); err != nil {
			return err
		}
		for _, a := range []store.Appointment{
			booked("by-a-visitor", secret, store.SourceWeb, 0), booked("by-the-desk", "staff-0192", store.SourceStaff, 1), booked("by-nobody", "", store.SourceAPI, 2),
		} {
			if err := insertBeforeOwners(writing, &a); err != nil {
				return err
			}
		}
		return writing.(*tx).run(`INSERT INTO sessions (id, client_id, status, outcome, requested_at, expires_at, updated_at, version)
			VALUES ('asked', ?, 'requested', '', ?, ?, ?, 1)`, secret, benchDay, benchDay.Add(time.Minute), benchDay)
	})
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, old)
	now := mustOpen(t, path, migrations)
	defer mustClose(t, now)
	for id, want := range map[string]string{"by-a-visitor": owner, "by-the-desk": "", "by-nobody": ""} {
		if a, err := now.Appointment(ctx, id); err != nil || a.Owner != want {
			t.Errorf("%s: owner %q, %v; want %q", id, a.Owner, err, want)
		}
	}
	if s, err := now.Session(ctx, "asked"); err != nil || s.Owner != owner {
		t.Errorf("the session: owner %q, %v; want %q", s.Owner, err, owner)
	}
	if err := now.Check(ctx); err != nil {
		t.Error(err)
	}
}

// clinicBeforePages writes benchClinic's rows in the columns that existed before the booking page had its own
// texts.
func clinicBeforePages(t store.Tx) error {
	for n := range int64(benchSpecialists) {
		err := t.(*tx).run(`INSERT INTO specialists (id, name, timezone, active, email, max_sessions, position, upstream_schedule_view_id, upstream_column_id)
			VALUES (?, 'Dr', 'Europe/Berlin', 1, '', 0, 0, '', '')`, benchSpecialist(n))
		if err != nil {
			return err
		}
	}
	return t.(*tx).run(`INSERT INTO appointment_types (id, name, description, duration_minutes, slot_step_minutes, buffer_before_minutes, buffer_after_minutes,
		min_notice_minutes, horizon_days, cooldown_minutes, capacity, largest_capacity, hold_ttl_seconds, max_hold_seconds, hold_quota, active, position, upstream_type_id)
		VALUES ('checkup', 'Check-up', '', 15, 15, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, '')`)
}

// insertBeforeOwners writes the columns that existed when the database still stored client ids.
func insertBeforeOwners(t store.Tx, a *store.Appointment) error {
	return t.(*tx).run(`
		INSERT INTO appointments (id, appointment_type_id, specialist_id, client_id, seat, overbook, overbook_reason, status, attendance,
			slot_start, slot_end, busy_start, busy_end, patient_name, patient_email, patient_phone, patient_birth_date, notes, patient_search,
			source, upstream_state, upstream_id, upstream_patient_id, manage_epoch, created_at, updated_at, cancelled_at, cancel_reason, version)
		VALUES (?, ?, ?, ?, 0, 0, '', 'confirmed', 'expected', ?, ?, ?, ?, '', '', '', '', '', '', ?, 'none', '', '', 0, ?, ?, NULL, '', 1)`,
		a.ID, a.AppointmentTypeID, a.SpecialistID, a.Owner, a.SlotStart, a.SlotEnd, a.BusyStart, a.BusyEnd, string(a.Source), a.CreatedAt, a.UpdatedAt)
}
