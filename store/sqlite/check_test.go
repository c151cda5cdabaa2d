package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

// TestIndexAndTriggerEachRefuseOverlap checks that the index and the trigger each refuse the overlaps that they cover,
// without the other.
func TestIndexAndTriggerEachRefuseOverlap(t *testing.T) {
	for name, test := range map[string]struct {
		drop    string
		minutes int
	}{
		"the index alone refuses the same start":   {"DROP TRIGGER appointments_guarantee_insert", 0},
		"the trigger alone refuses the same start": {"DROP INDEX idx_no_double_book", 0},
		"the trigger alone refuses an overlap":     {"DROP INDEX idx_no_double_book", 5},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestStore(t, Options{})
			defer mustClose(t, b.Store)
			if err := b.writer.conn.script(test.drop); err != nil {
				t.Fatal(err)
			}
			if err := b.insert(context.Background(), 0); err != nil {
				t.Fatal(err)
			}
			again := benchAppointment(0)
			again.ID, again.SlotStart = "another", again.SlotStart.Add(time.Duration(test.minutes)*time.Minute)
			err := b.Write(context.Background(), func(tx store.Tx) error { return tx.InsertAppointment(context.Background(), again) })
			if !errors.Is(err, store.ErrSlotTaken) {
				t.Errorf("got %v, want ErrSlotTaken", err)
			}
		})
	}
}

// TestCheckReportsEveryViolation inserts one violation at a time, bypassing the schema, and expects Check to report it.
func TestCheckReportsEveryViolation(t *testing.T) {
	// copied returns SQL that inserts a changed copy of a row of a table with any columns.
	copied := func(table, change string) string {
		return "CREATE TEMP TABLE copied AS SELECT * FROM " + table + " LIMIT 1; UPDATE copied SET " + change +
			"; INSERT INTO " + table + " SELECT * FROM copied; DROP TABLE copied;"
	}
	another := copied("appointments", "id = id || '-copy', slot_start = slot_start + 60000")
	room := copied("specialists", "id = 'room', kind = 'resource'")
	for name, test := range map[string]struct{ plant, want string }{
		"two appointments that overlap": {"DROP TRIGGER appointments_guarantee_insert;" + another, "seat 0) and "},
		"a resource's time that is not there": {room + "UPDATE appointments SET resources = '[\"room\"]'; DELETE FROM appointment_resources;",
			"does not have the time of a resource that it takes"},
		"a resource's time without an appointment": {room + "UPDATE appointments SET resources = '[\"room\"]'; DROP TRIGGER appointments_resources_update; UPDATE appointments SET resources = '';",
			"has the time of a resource that it does not take"},
		"a resource taken twice": {room + "UPDATE appointments SET resources = '[\"room\"]'; DROP TRIGGER appointments_guarantee_insert; DROP TRIGGER appointment_resources_guarantee;" + another,
			"resource room is double-booked"},
		"a resource that is booked": {room + "DROP TRIGGER appointments_of_persons_update; UPDATE appointments SET specialist_id = 'room';", "belongs to a resource"},
		"a dropped trigger":         {"DROP TRIGGER appointments_guarantee_update;", "appointments_guarantee_update is missing"},
		"a dropped index":           {"DROP INDEX idx_no_double_book;", "idx_no_double_book is missing"},
		"a trigger that was replaced": {"DROP TRIGGER appointments_seat_insert; CREATE TRIGGER appointments_seat_insert BEFORE INSERT ON appointments BEGIN SELECT 1; END;",
			"appointments_seat_insert differs from what this program created"},
		"a trigger that was added":        {"CREATE TRIGGER mine AFTER INSERT ON appointments BEGIN SELECT 1; END;", "the trigger mine was added"},
		"a view that was added":           {"CREATE VIEW mine AS SELECT 1;", "the view mine was added"},
		"an index that was added":         {"CREATE INDEX mine ON appointments (notes);", "the index mine was added"},
		"a column that was added":         {"ALTER TABLE outbox ADD COLUMN mine INTEGER;", "outbox differs from what this program created"},
		"a reference to nothing":          {"PRAGMA foreign_keys = 0; UPDATE appointments SET appointment_type_id = 'gone';", "refers to a missing row"},
		"an impossible seat":              {"DROP TRIGGER appointments_seat_update; UPDATE appointments SET seat = 9;", "a seat that its type never had"},
		"a reach that is too short":       {"DROP TRIGGER specialists_reach_grows; UPDATE specialists SET reach_after_ms = 0;", "is outside the reach"},
		"a specialist archived by half":   {"INSERT INTO assignments SELECT 'checkup', id, 0 FROM specialists LIMIT 1; UPDATE specialists SET archived = 1;", "is archived and still assigned"},
		"a slot outside its busy time":    {"PRAGMA ignore_check_constraints = 1; UPDATE appointments SET busy_start = slot_start + 1;", "is not within"},
		"a version that counts from zero": {"PRAGMA ignore_check_constraints = 1; UPDATE appointments SET version = 0;", "a version below 1"},
		"a block that ends before it starts": {"PRAGMA ignore_check_constraints = 1; INSERT INTO blocks SELECT 'b', id, 2, 1, '', '', '' FROM specialists LIMIT 1;",
			"block b does not end after it starts"},
		"a value its column forbids": {"PRAGMA ignore_check_constraints = 1; UPDATE appointments SET status = 'maybe';", "integrity"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestStore(t, Options{})
			defer b.Close()
			if err := b.insert(context.Background(), 0); err != nil {
				t.Fatal(err)
			}
			if err := b.Check(context.Background()); err != nil {
				t.Fatalf("before: %v", err)
			}
			c, err := openConn(b.dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer c.close()
			if err := c.script(test.plant); err != nil {
				t.Fatalf("planting: %v", err)
			}
			if err := b.Check(context.Background()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

// TestOpenRefusesWeakenedSchema checks that Open refuses a schema that would not prevent double bookings, or that
// contains a trigger that would run with each booking.
func TestOpenRefusesWeakenedSchema(t *testing.T) {
	for name, test := range map[string]struct{ plant, want string }{
		"a dropped trigger":  {"DROP TRIGGER appointments_guarantee_update;", "appointments_guarantee_update is missing"},
		"a dropped index":    {"DROP INDEX idx_no_double_book;", "idx_no_double_book is missing"},
		"an altered trigger": {"DROP TRIGGER appointments_seat_insert; CREATE TRIGGER appointments_seat_insert BEFORE INSERT ON appointments BEGIN SELECT 1; END;", "appointments_seat_insert"},
		"an added trigger":   {"CREATE TRIGGER mine AFTER INSERT ON appointments BEGIN SELECT 1; END;", "the trigger mine was added"},
		"an added index":     {"CREATE INDEX mine ON appointments (notes);", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "holdfast.db")
			open := func() error {
				s, err := Open(context.Background(), Options{Path: path})
				if err == nil {
					err = s.Close()
				}
				return err
			}
			if err := open(); err != nil {
				t.Fatal(err)
			}
			c, err := openConn(dsn(path))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(c.script(test.plant), c.close()); err != nil {
				t.Fatal(err)
			}
			err = open()
			if refused := errors.Is(err, ErrSchema) && strings.Contains(err.Error(), test.want); refused != (test.want != "") {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
