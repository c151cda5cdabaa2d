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

// TestEraseClearsFile checks that data that Erase blanked is not in the bytes on the disk either, even while the server
// runs: neither in the log, nor in the remnants of moved or replaced rows in a page.
func TestEraseClearsFile(t *testing.T) {
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
	// If rows grow and shrink, SQLite moves the rows next to them between pages.
	const rows = 600
	for n := range int64(rows) {
		a := benchAppointment(n)
		a.Patient.Name = "another patient"
		if n%3 == 0 {
			a.Patient = store.Patient{Name: fmt.Sprintf("canary-name-%d", n), Email: "canary@example.org", Phone: "0170 2719828", Notes: strings.Repeat("canary-note ", int(n)%40)}
		}
		write(func(tx store.Tx) error {
			if err := tx.InsertAppointment(ctx, a); err != nil {
				return err
			}
			// A response of several pages.
			answer := []byte(fmt.Sprintf(`{"id":%q,"name":%q,"notes":%q}`, a.ID, a.Patient.Name, strings.Repeat(a.Patient.Notes, 40)))
			if err := tx.Remember(ctx, store.IdempotencyRecord{Scope: "s", Key: fmt.Sprint(n), Status: 201, Body: answer, CreatedAt: benchDay}); err != nil {
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
	write(func(tx store.Tx) error { return tx.IndexPeople(ctx, rows/2) }) // the index holds half of them
	if found := inFiles(t, path, "canary"); found == 0 {
		t.Fatal("the canary is not in the file before the erasure, so this test proves nothing")
	}
	erased, err := s.Erase(ctx, store.Person{Email: "canary@example.org"}, benchDay, nothingMore)
	if err != nil {
		t.Fatal(err)
	}
	if erased.Appointments != rows/3 || erased.AuditEntries != rows/3 {
		t.Errorf("erased %+v, want %d appointments and as many audit entries", erased, rows/3)
	}
	for _, trace := range []string{"canary", "yranac", "2719828"} { // the index contains reversed addresses
		if found := inFiles(t, path, trace); found != 0 {
			t.Errorf("%q is still in the file or its log %d times", trace, found)
		}
	}
}

// TestEraseLetsOtherWritesRun writes between the steps of an erasure. The goroutine of the erasure itself makes each
// insert, so an erasure that blocked the writer would never end. Rows that these writes add about the person are erased
// too, rows about others remain, and no erased data is left in the files.
func TestEraseLetsOtherWritesRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	b := newTestStore(t, Options{Path: path})
	t.Cleanup(func() { storetest.Verify(t, b.Store) })
	ctx := context.Background()
	const step = 200 // rows that an erasure changes in one transaction
	const before = 3 * step
	canary := func(n int64) store.Appointment {
		a := benchAppointment(n)
		a.Patient = store.Patient{Name: fmt.Sprint("canary-", n), Email: "canary@example.org", Notes: strings.Repeat("canary ", int(n)%30)}
		return a
	}
	book := func(a store.Appointment) {
		t.Helper()
		err := b.Write(ctx, func(tx store.Tx) error {
			if err := tx.InsertAppointment(ctx, a); err != nil {
				return err
			}
			return tx.AppendAudit(ctx, store.AuditEntry{ID: a.ID, At: benchDay, Subject: "appointment:" + a.ID, After: []byte(fmt.Sprintf(`{"notes":%q}`, a.Patient.Notes))})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range int64(before) {
		book(canary(n))
	}
	steps, last := int64(0), false
	b.scrubbing.step = func() {
		steps++
		if a := canary(before + 2*steps); !last {
			book(a)
		}
		other := benchAppointment(before + 2*steps + 1)
		other.Patient.Name = "another patient"
		book(other)
	}
	erased, err := b.Erase(ctx, store.Person{Email: "canary@example.org"}, benchDay, func(store.Tx, store.Erased) error { last = true; return nil })
	if err != nil {
		t.Fatal(err)
	}
	if least := int64(before/step) * 2; steps < least {
		t.Errorf("other writes succeeded %d times during the erasure, want at least %d", steps, least)
	}
	if erased.Appointments <= before || erased.AuditEntries != erased.Appointments {
		t.Errorf("erased %d appointments and %d audit entries; want those %d and as many of each as were added since", erased.Appointments, erased.AuditEntries, before)
	}
	if found := inFiles(t, path, "canary"); found != 0 {
		t.Errorf("the person is still in the files %d times", found)
	}
	found, err := one(ctx, b.reads, (*row).Int, `SELECT count(*) FROM appointments WHERE patient_name = 'another patient'`)
	if err != nil || int64(found) != steps {
		t.Errorf("%d appointments of other people remain, %v; want %d", found, err, steps)
	}
}

// TestEraseRunsDuringCheckpoints checks that a concurrent checkpoint does not prevent an erasure from finishing.
func TestEraseRunsDuringCheckpoints(t *testing.T) {
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
		_, err := b.Erase(ctx, store.Person{Owner: benchAppointment(5 * n).Owner}, benchDay, nothingMore)
		if err != nil {
			t.Fatal(err)
		}
		err = b.reads.use(ctx, func(ctx context.Context, c *conn) (err error) { due, err = needsScrub(ctx, c); return err })
		if err != nil || due {
			t.Fatalf("erasure %d: scrub pending: %t, %v", n, due, err)
		}
	}
}

// TestOpenResumesScrub checks that the next start completes an erasure that could not finish.
func TestOpenResumesScrub(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	b := newTestStore(t, Options{Path: path})
	ctx := context.Background()
	reading := readForLong(t, path)
	if err := b.insert(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Erase(ctx, store.Person{Owner: benchAppointment(0).Owner}, benchDay, nothingMore); err != nil {
		t.Fatalf("the erasure: %v", err)
	}
	if err := reading.close(); err != nil {
		t.Fatal(err)
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

func nothingMore(store.Tx, store.Erased) error { return nil }

// readForLong begins to read one snapshot of the database and does not finish, like a slow copy.
func readForLong(t *testing.T, path string) *conn {
	t.Helper()
	c, err := openConn(dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.script("BEGIN; SELECT count(*) FROM meta"); err != nil {
		t.Fatal(err)
	}
	return c
}

// inFiles counts the occurrences of a string in the database and its log. Another process reads the files, because
// closing a descriptor of the live file in this process would drop SQLite's locks.
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
