package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/storetest"
)

// raw runs a statement on a connection that does not belong to a node.
func raw(t testing.TB, s *Store, text string, args ...any) error {
	t.Helper()
	return s.server.with(t.Context(), func(ctx context.Context, c *conn) error {
		_, err := c.exchange(ctx, stmt(text, args...))
		return err
	})
}

const foreignInsert = `
	INSERT INTO appointments (id, appointment_type_id, specialist_id, client_id, seat, overbook, overbook_reason, status, attendance,
		slot_start, slot_end, busy_start, busy_end, patient_name, patient_email, patient_phone, patient_birth_date, notes, patient_search,
		source, upstream_state, upstream_id, upstream_patient_id, manage_epoch, created_at, updated_at, cancel_reason, version)
	VALUES ($1, 'checkup', $2, '', 0, false, '', 'confirmed', 'expected', $3::bigint, $4::bigint, $3::bigint - $5::bigint, $4::bigint + $5::bigint,
		'', '', '', '', '', '', 'api', 'none', '', '', 0, 0, 0, '', 1)`

// TestGuaranteeHoldsWithoutOrderLock writes from many connections that do not use the order lock, with buffers. None of
// their writes may be a double booking, and none may conflict with a node's own bookings.
func TestGuaranteeHoldsWithoutOrderLock(t *testing.T) {
	t.Parallel()
	s := nodes(t, 1, Options{})[0]
	var wg sync.WaitGroup
	for worker := range 12 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 3))
			err := s.server.with(context.Background(), func(ctx context.Context, c *conn) error {
				for i := range 60 {
					start := monday.Add(time.Duration(5*random.IntN(150)) * time.Minute)
					end := start.Add(time.Duration(15*(1+random.IntN(3))) * time.Minute)
					buffer := int64(random.IntN(3)) * 5 * 60_000
					specialist := fmt.Sprintf("s%d", random.IntN(2))
					if worker%4 == 0 {
						a := booking(specialist, 0, 0)
						a.SlotStart, a.SlotEnd, a.BusyStart, a.BusyEnd = start, end, start, end
						if err := insert(s, a); err != nil && !errors.Is(err, store.ErrSlotTaken) {
							return err
						}
						continue
					}
					_, err := c.exchange(ctx, stmt(foreignInsert, fmt.Sprintf("foreign-%d-%d", worker, i), specialist, start, end, buffer))
					if err != nil && !errors.Is(translate(err), store.ErrSlotTaken) {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("worker %d: %v", worker, err)
			}
		})
	}
	wg.Wait()
	if n, err := one(t.Context(), s.reads, (*row).Int, `SELECT count(*) FROM appointments`); err != nil || n < 20 {
		t.Errorf("%d appointments, %v; the test needs more", n, err)
	}
	// Check finds any double booking when the test ends.
}

// TestConcurrentInsertsWait inserts a booking that overlaps an uncommitted one only by its buffer. The insert must wait
// for the outcome of the first.
func TestConcurrentInsertsWait(t *testing.T) {
	t.Parallel()
	s := nodes(t, 1, Options{})[0]
	for fate, want := range map[string]error{`COMMIT`: store.ErrSlotTaken, `ROLLBACK`: nil} {
		first, err := s.server.connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer first.close()
		buffer := int64(10 * 60_000)
		_, err = first.exchange(t.Context(), stmt(`BEGIN`), stmt(foreignInsert, "first"+fate, "s0", monday, monday.Add(time.Hour), buffer))
		if err != nil {
			t.Fatal(err)
		}
		second := make(chan error, 1)
		go func() {
			second <- raw(t, s, foreignInsert, "second"+fate, "s0", monday.Add(65*time.Minute), monday.Add(2*time.Hour), int64(0))
		}()
		for waits := 0; waits == 0 && len(second) == 0; {
			waits, err = one(t.Context(), s.reads, (*row).Int, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`)
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := first.exchange(t.Context(), stmt(fate)); err != nil {
			t.Fatal(err)
		}
		if got := translate(<-second); !errors.Is(got, want) || want == nil && got != nil {
			t.Errorf("after %s the second got %v, want %v", fate, got, want)
		}
		if err := raw(t, s, `DELETE FROM appointments`); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOlderSnapshotIsRefused checks that a booking under REPEATABLE READ or SERIALIZABLE is refused, because the
// trigger would search for overlaps in an older state.
func TestOlderSnapshotIsRefused(t *testing.T) {
	t.Parallel()
	s := nodes(t, 1, Options{})[0]
	for _, level := range []string{"REPEATABLE READ", "SERIALIZABLE"} {
		err := s.server.with(t.Context(), func(ctx context.Context, c *conn) error {
			_, err := c.exchange(ctx, stmt(`BEGIN ISOLATION LEVEL `+level),
				stmt(foreignInsert, "x", "s0", monday, monday.Add(time.Hour), int64(0)), stmt(`COMMIT`))
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "READ COMMITTED") {
			t.Errorf("%s: got %v, want a refusal", level, err)
		}
	}
}

// TestExclusionConstraintRefusesOverlap checks that slots without buffers cannot overlap even if the trigger is
// disabled.
func TestExclusionConstraintRefusesOverlap(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, Options{URL: migrated(t)})
	defer s.Close()
	mustWrite(t, s, clinic)
	if err := raw(t, s, `ALTER TABLE appointments DISABLE TRIGGER USER`); err != nil {
		t.Fatal(err)
	}
	if err := insert(s, booking("s0", 0, 30)); err != nil {
		t.Fatal(err)
	}
	if err := insert(s, booking("s0", 15, 45)); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("an overlapping slot: got %v, want ErrSlotTaken", err)
	}
}

// TestOpenRefusesWeakenedSchema checks that Open refuses a weakened schema, and that Check reports it.
func TestOpenRefusesWeakenedSchema(t *testing.T) {
	t.Parallel()
	for name, weaken := range map[string]string{
		"no index":                   `DROP INDEX idx_no_double_book`,
		"no constraint":              `ALTER TABLE appointments DROP CONSTRAINT appointments_exclude_overlap`,
		"no trigger":                 `DROP TRIGGER appointments_guarantee ON appointments`,
		"a trigger off":              `ALTER TABLE appointments DISABLE TRIGGER appointments_guarantee`,
		"another function":           `CREATE OR REPLACE FUNCTION appointments_guarantee() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$`,
		"no resources constraint":    `ALTER TABLE appointment_resources DROP CONSTRAINT appointment_resources_exclude_overlap`,
		"no resources trigger":       `DROP TRIGGER appointments_resources_update ON appointments`,
		"another resources function": `CREATE OR REPLACE FUNCTION appointment_resources_guarantee() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$`,
		"an added trigger":           `CREATE TRIGGER zzz BEFORE INSERT ON appointments FOR EACH ROW EXECUTE FUNCTION appointments_guarantee()`,
		"another migration":          `UPDATE schema_versions SET checksum = 'x'`,
	} {
		t.Run(name, func(t *testing.T) {
			url := migrated(t)
			s := mustOpen(t, Options{URL: url})
			defer s.Close()
			if err := raw(t, s, weaken); err != nil {
				t.Fatal(err)
			}
			if again, err := Open(t.Context(), Options{URL: url}); !errors.Is(err, ErrSchema) {
				t.Errorf("Open: got %v, want ErrSchema", err)
				if err == nil {
					again.Close()
				}
			}
			if err := s.Check(t.Context()); err == nil && name != "another migration" {
				t.Error("Check: got nil, want the violation")
			}
		})
	}
}

// TestCheckFindsDoubleBooking inserts the rows while the table has no trigger and no constraint.
func TestCheckFindsDoubleBooking(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, Options{URL: migrated(t)})
	defer s.Close()
	mustWrite(t, s, clinic)
	for _, text := range []string{`ALTER TABLE appointments DISABLE TRIGGER USER`, `ALTER TABLE appointments DROP CONSTRAINT appointments_exclude_overlap`} {
		if err := raw(t, s, text); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		if err := raw(t, s, foreignInsert, fmt.Sprint("x", i), "s0", monday.Add(time.Duration(i)*time.Minute), monday.Add(time.Hour), int64(0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "double-booked") {
		t.Errorf("got %v, want an error about the double booking", err)
	}
}

// TestBackupRestoresDatabase restores into an empty database with psql, and books there.
func TestBackupRestoresDatabase(t *testing.T) {
	t.Parallel()
	s := nodes(t, 1, Options{})[0]
	mustWrite(t, s, func(tx store.Tx) error {
		return tx.PutSpecialist(t.Context(), store.Specialist{ID: "room", Kind: store.ResourceKind, Timezone: "UTC"})
	})
	kept := booking("s0", 0, 30)
	kept.Resources = []string{"room"} // the restore computes the room's taken time, and Verify checks it
	kept.Patient = store.Patient{Name: "Zoë\tMüller\\N", Notes: "line\nbreak"}
	if err := insert(s, kept); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, s, func(tx store.Tx) error {
		return tx.Remember(t.Context(), store.IdempotencyRecord{Scope: "s", Key: "k", Body: []byte{0, 1, '\\'}, CreatedAt: monday})
	})
	path := filepath.Join(t.TempDir(), "copy.sql")
	if err := s.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	script, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer script.Close()
	url := database(t)
	psql := cluster.Tool("psql", "-q", "-v", "ON_ERROR_STOP=1", "-1", "-f", "-", url)
	psql.Stdin = script
	if out, err := psql.CombinedOutput(); err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}
	again := mustOpen(t, Options{URL: url})
	defer storetest.Verify(t, again)
	got, err := again.Appointment(t.Context(), kept.ID)
	if err != nil || got.Patient != kept.Patient {
		t.Errorf("got %+v, %v; want %+v", got.Patient, err, kept.Patient)
	}
	if answer, err := again.Recall(t.Context(), "s", "k", time.Time{}); err != nil || string(answer.Body) != "\x00\x01\\" {
		t.Errorf("got %q, %v", answer.Body, err)
	}
	if again.ID() != s.ID() || again.LastChange() != s.LastChange() {
		t.Errorf("got database %s at change %d, want %s at %d", again.ID(), again.LastChange(), s.ID(), s.LastChange())
	}
	if err := insert(again, booking("s0", 15, 45)); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("a taken slot: got %v, want ErrSlotTaken", err)
	}
	if err := insert(again, booking("s0", 30, 60)); err != nil || again.LastChange() <= s.LastChange() {
		t.Errorf("after the restore: got %v at change %d", err, again.LastChange())
	}
}

// TestBackupHasEveryTable checks that a backup contains every table except those of the queue and those that are
// computed from the appointments, such as the index of people.
func TestBackupHasEveryTable(t *testing.T) {
	t.Parallel()
	s := nodes(t, 1, Options{})[0]
	all, err := list(t.Context(), s.reads, (*row).Text, `SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range all {
		made := strings.HasPrefix(table, "operation") || table == "pacers" || table == "appointment_resources" ||
			strings.HasPrefix(table, "people")
		if slices.Contains(tables, table) == made {
			t.Errorf("%s: in a backup %t, rebuilt from a backup %t", table, !made, made)
		}
	}
	if len(all) <= len(tables) {
		t.Errorf("%d tables were found, want more than %d", len(all), len(tables))
	}
}

// TestDeferredRefusalFailsOneWrite checks that if the server refuses a statement of Later, only the request of that
// statement fails.
func TestDeferredRefusalFailsOneWrite(t *testing.T) {
	t.Parallel()
	s := nodes(t, 1, Options{})[0]
	op := store.Operation{ID: "op-1", Kind: store.Email, Status: store.OperationPending}
	mustWrite(t, s, func(tx store.Tx) error { return tx.Promise(t.Context(), op) })
	for name, after := range map[string]func(store.Tx) error{
		"at the end":         func(store.Tx) error { return nil },
		"at the next call":   func(tx store.Tx) error { return tx.InsertAppointment(t.Context(), booking("s1", 0, 30)) },
		"after another's no": func(tx store.Tx) error { _ = tx.InsertAppointment(t.Context(), booking("none", 0, 30)); return nil },
	} {
		first := booking("s0", 0, 30)
		err := s.Write(t.Context(), func(tx store.Tx) error {
			if err := tx.InsertAppointment(t.Context(), first); err != nil {
				return err
			}
			if err := tx.Promise(t.Context(), op); err != nil {
				return err
			}
			return after(tx)
		})
		if !errors.Is(err, store.ErrDuplicate) {
			t.Errorf("%s: got %v, want ErrDuplicate", name, err)
		}
		if has(t, s, first.ID) {
			t.Errorf("%s: the database has a part of the refused request", name)
		}
	}
}
