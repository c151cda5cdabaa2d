package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/store"
	"holdfast/store/storetest"
)

// What Erase blanked cannot be found in the bytes on the disk either, while the server runs on: neither in the log
// nor in what a page still holds of rows that were moved or replaced.
func TestEraseLeavesNothingInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { storetest.Verify(t, s) })
	ctx := context.Background()
	write := func(fn func(tx store.Tx) error) {
		t.Helper()
		if err := s.Write(ctx, fn); err != nil {
			t.Fatal(err)
		}
	}
	write(func(tx store.Tx) error {
		for n := range int64(benchSpecialists) {
			if err := tx.PutSpecialist(ctx, store.Specialist{ID: benchSpecialist(n)}); err != nil {
				return err
			}
		}
		return tx.PutAppointmentType(ctx, store.AppointmentType{ID: "checkup", DurationMinutes: 15, SlotStepMinutes: 15, Capacity: 1})
	})
	// Rows that grow and shrink make SQLite move their neighbours between pages.
	const rows = 600
	for n := range int64(rows) {
		a := benchAppointment(n)
		a.Patient.Name = "somebody else"
		if n%3 == 0 {
			a.Patient = store.Patient{Name: fmt.Sprintf("canary-name-%d", n), Email: "canary@example.org", Phone: "0170 2719828", Notes: strings.Repeat("canary-note ", int(n)%40)}
		}
		write(func(tx store.Tx) error {
			if err := tx.InsertAppointment(ctx, a); err != nil {
				return err
			}
			return tx.AppendAudit(ctx, store.AuditEntry{ID: fmt.Sprint(n), At: benchDay, Subject: "appointment:" + a.ID,
				After: []byte(fmt.Sprintf(`{"name":%q,"notes":%q}`, a.Patient.Name, a.Patient.Notes))})
		})
	}
	for n := range int64(rows) {
		if n%5 > 1 {
			continue
		}
		write(func(tx store.Tx) error {
			a, err := tx.Appointment(ctx, benchAppointment(n).ID)
			if err != nil {
				return err
			}
			a.CancelReason = strings.Repeat("x", int(n)%600)
			return tx.UpdateAppointment(ctx, a)
		})
	}
	if found := inFiles(t, path, "canary"); found == 0 {
		t.Fatal("the canary is not in the file before it is erased, so this test proves nothing")
	}
	var erased store.Erased
	write(func(tx store.Tx) (err error) {
		erased, err = tx.Erase(ctx, store.Person{Email: "canary@example.org"}, benchDay)
		return err
	})
	if erased.Appointments != rows/3 || erased.AuditEntries != rows/3 {
		t.Errorf("erased %+v, want %d appointments and as many audit entries", erased, rows/3)
	}
	for _, trace := range []string{"canary", "2719828"} {
		if found := inFiles(t, path, trace); found != 0 {
			t.Errorf("%q is still %d times in the file or its log", trace, found)
		}
	}
}

// inFiles counts in the database and its log. Another process reads them, because closing a descriptor of the live
// file in this one would drop SQLite's locks.
func inFiles(t *testing.T, path, text string) (count int) {
	t.Helper()
	for _, file := range []string{path, path + "-wal"} {
		content, err := exec.Command("cat", file).Output()
		if err != nil {
			t.Fatalf("reading %s: %v", file, err)
		}
		count += bytes.Count(content, []byte(text))
	}
	return count
}
