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

// TestMigrationKeepsOwnersForClients books with a client's secret under the schema before, and opens the database with today's.
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
	err := old.Write(ctx, func(tx store.Tx) error {
		if err := benchClinic(ctx, tx); err != nil {
			return err
		}
		for _, a := range []store.Appointment{
			booked("by-a-visitor", secret, store.SourceWeb, 0), booked("by-the-desk", "staff-0192", store.SourceStaff, 1), booked("by-nobody", "", store.SourceAPI, 2),
		} {
			if err := insertBeforeOwners(tx, &a); err != nil {
				return err
			}
		}
		return tx.InsertSession(ctx, store.Session{ID: "asked", Owner: secret, Status: store.SessionRequested, RequestedAt: benchDay,
			ExpiresAt: benchDay.Add(time.Minute), UpdatedAt: benchDay, Version: 1})
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

// insertBeforeOwners writes the columns that there were when a client's secret was stored.
func insertBeforeOwners(t store.Tx, a *store.Appointment) error {
	return t.(*tx).run(`
		INSERT INTO appointments (id, appointment_type_id, specialist_id, client_id, seat, overbook, overbook_reason, status, attendance,
			slot_start, slot_end, busy_start, busy_end, patient_name, patient_email, patient_phone, patient_birth_date, notes, patient_search,
			source, upstream_state, upstream_id, upstream_patient_id, manage_epoch, created_at, updated_at, cancelled_at, cancel_reason, version)
		VALUES (?, ?, ?, ?, 0, 0, '', 'confirmed', 'expected', ?, ?, ?, ?, '', '', '', '', '', '', ?, 'none', '', '', 0, ?, ?, NULL, '', 1)`,
		a.ID, a.AppointmentTypeID, a.SpecialistID, a.Owner, a.SlotStart, a.SlotEnd, a.BusyStart, a.BusyEnd, string(a.Source), a.CreatedAt, a.UpdatedAt)
}
