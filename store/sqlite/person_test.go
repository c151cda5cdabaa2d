package sqlite

import (
	"bytes"
	"context"
	"errors"
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

// A checkpoint that happens to run does not keep the erasure from its end.
func TestEraseBesideCheckpoints(t *testing.T) {
	b := newTestStore(t, Options{checkpointPages: 1})
	t.Cleanup(func() { storetest.Verify(t, b.Store) })
	ctx := context.Background()
	for n := range int64(30) {
		for i := range int64(5) {
			if err := b.insert(ctx, 5*n+i); err != nil {
				t.Fatal(err)
			}
		}
		var due bool
		if err := b.Write(ctx, func(tx store.Tx) error {
			_, err := tx.Erase(ctx, store.Person{Owner: benchAppointment(5 * n).Owner}, benchDay)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		err := b.reads.use(ctx, func(ctx context.Context, c *conn) (err error) { due, err = needsScrub(ctx, c); return err })
		if err != nil || due {
			t.Fatalf("erasure %d: still to be scrubbed: %t, %v", n, due, err)
		}
	}
}

// What an erasure could not finish, the next start does.
func TestScrubIsMadeUpForAtTheNextStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	b := newTestStore(t, Options{Path: path})
	ctx := context.Background()
	b.writer.scrub = func() error { return store.ErrFull }
	if err := b.insert(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if err := b.Write(ctx, func(tx store.Tx) error {
		_, err := tx.Erase(ctx, store.Person{Owner: benchAppointment(0).Owner}, benchDay)
		return err
	}); err != nil {
		t.Fatalf("the erasure itself: %v", err)
	}
	mustClose(t, b.Store)
	for _, want := range []bool{true, false} {
		c, err := openConn(dsn(path))
		if err != nil {
			t.Fatal(err)
		}
		due, err := needsScrub(ctx, c)
		if err := errors.Join(err, c.close()); err != nil || due != want {
			t.Errorf("due: got %t, %v; want %t", due, err, want)
		}
		mustClose(t, newTestStore(t, Options{Path: path}).Store)
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
