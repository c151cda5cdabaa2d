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
)

// What a test opens here is closed when it ends, what was opened last first: open the database, then what stands on it, and
// run last.

// Database opens an empty database in a directory of its own. When the test ends it must keep every promise of the store.
func Database(t testing.TB) *sqlite.Store {
	t.Helper()
	return DatabaseAt(t, filepath.Join(t.TempDir(), "holdfast.db"))
}

// DatabaseAt is Database in a file that the test has chosen.
func DatabaseAt(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	ctx := context.Background()
	Empty(t, path)
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

// Queue opens an empty queue in a directory of its own.
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

// Holds is an empty live state that knows what is booked in a database.
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

// Run does background work until stop is called or the test ends, and waits for its end. Stop may be called twice.
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

// ClinicFile is a clinic in UTC that is open around the clock, so that a test names a start by the hours from noon, with these
// specialists at these priorities, "Dr" and their id by name. Its types: "checkup" of 30 minutes, "surgery" of 60 with buffers of
// 15 before and 30 after, "class" of 60 with 3 seats, "cooling" of 30 with a cooldown of a day.
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
