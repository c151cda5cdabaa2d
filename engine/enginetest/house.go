package enginetest

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/holds/memory"
	"holdfast/store"
	"holdfast/store/bolt"
	"holdfast/store/sqlite"
	"holdfast/store/sqlite/sqlitetest"
)

// When a test ends, everything that it opened with these functions is closed in reverse order. So open the database
// first, then whatever uses it, and call Run last.

// Database opens an empty database in a separate directory. When the test ends, the database must pass its Check
// method.
func Database(t testing.TB) *sqlite.Store {
	t.Helper()
	return DatabaseAt(t, filepath.Join(t.TempDir(), "holdfast.db"))
}

// DatabaseAt is like Database, at a path chosen by the test.
func DatabaseAt(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	ctx := context.Background()
	sqlitetest.Empty(t, path)
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Check(ctx); err != nil {
			t.Errorf("the database breaks its own rules: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// Queue opens an empty queue in a separate directory.
func Queue(t testing.TB) *bolt.Queue {
	t.Helper()
	queue, err := bolt.Open(context.Background(), bolt.Options{Path: filepath.Join(t.TempDir(), "queue.bolt")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := queue.Close(); err != nil {
			t.Error(err)
		}
	})
	return queue
}

// Holds returns an empty live state. When a pinned hold expires, the live state checks in the database whether the
// hold's booking was written.
func Holds(t testing.TB, db store.Store) *memory.Backend {
	t.Helper()
	live := memory.New(memory.Options{Booked: booking.Booked(db)})
	t.Cleanup(func() {
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	})
	return live
}

// Run runs background work until stop is called or the test ends, and then waits for the work to finish. stop can be
// called twice.
func Run(t testing.TB, work ...func(context.Context)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, w := range work {
		running.Go(func() { w(ctx) })
	}
	stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// ClinicFile returns a clinic in UTC that is always open, so that a test can write a start time as hours from noon. The
// clinic has these specialists at these priorities, each named "Dr" followed by the id. Its types are "checkup" (30
// minutes), "surgery" (60 minutes, with buffers of 15 minutes before and 30 after), "class" (60 minutes, 3 seats), and
// "cooling" (30 minutes, with a cooldown of one day).
func ClinicFile(priorities map[string]int) clinic.File {
	f := clinic.File{Clinic: &clinic.FileClinic{Name: "Harbour Clinic", Timezone: "UTC", Locale: "en"}}
	var hours []clinic.HoursEntry
	for day := range 7 {
		hours = append(hours, clinic.HoursEntry{Weekday: store.Weekday(day), Start: 0, End: 1440})
	}
	var everyone []clinic.AssignmentEntry
	for _, id := range slices.Sorted(maps.Keys(priorities)) {
		f.Specialists = append(f.Specialists, clinic.SpecialistEntry{
			ID: id, Name: "Dr " + id, Timezone: "UTC", Active: true, Email: id + "@clinic.example", WeeklyHours: hours,
		})
		everyone = append(everyone, clinic.AssignmentEntry{SpecialistID: id, Priority: priorities[id]})
	}
	for _, t := range []clinic.AppointmentTypeEntry{
		{ID: "checkup", DurationMinutes: 30},
		{ID: "surgery", DurationMinutes: 60, SlotStepMinutes: 30, BufferBeforeMinutes: 15, BufferAfterMinutes: 30},
		{ID: "class", DurationMinutes: 60, Capacity: 3},
		{ID: "cooling", DurationMinutes: 30, CooldownMinutes: 1440},
	} {
		t.Name, t.HorizonDays, t.Capacity, t.Active, t.Specialists = t.ID, 60, max(t.Capacity, 1), true, everyone
		t.HoldTTLSeconds, t.MaxHoldSeconds, t.HoldQuota = 30, 900, 3
		f.AppointmentTypes = append(f.AppointmentTypes, t)
	}
	return f
}
