package cli

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/sqlite"
)

// TestVerifyListsOverlapsAsJSON: verify --json lists no overlaps in a valid database. If rows were changed in a way
// that bypasses the schema's checks, it lists both appointments of each overlap.
func TestVerifyListsOverlapsAsJSON(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	path := filepath.Join(dir, databaseFile)
	start := time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC)
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	schedule, err := s.Schedule(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kind := schedule.AppointmentTypes[0]
	specialist := kind.Specialists[0].SpecialistID
	for i, id := range []string{"first", "second"} {
		from := start.Add(time.Duration(i) * 24 * time.Hour)
		a := store.Appointment{
			ID: id, AppointmentTypeID: kind.ID, SpecialistID: specialist, Owner: id, Status: store.Confirmed,
			Attendance: store.Expected, SlotStart: from, SlotEnd: from.Add(time.Hour), BusyStart: from,
			BusyEnd: from.Add(time.Hour), Patient: store.Patient{Name: "Jo Doe"}, Source: store.SourceWeb,
			UpstreamState: store.UpstreamNone, CreatedAt: start, UpdatedAt: start, Version: 1,
		}
		if err := s.Write(t.Context(), func(tx store.Tx) error {
			return tx.InsertAppointment(t.Context(), a)
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	contains(t, "a sound database", must(t, "verify", "--data", dir, "--json"), `"sound": true`, `"overlaps": []`)

	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	var trigger string
	if err := db.QueryRow(`SELECT sql FROM sqlite_master WHERE name = 'appointments_guarantee_update'`).Scan(&trigger); err != nil {
		t.Fatal(err)
	}
	const back = 24*60*60*1000 - 60*1000
	for _, text := range []string{
		`DROP TRIGGER appointments_guarantee_update`,
		`UPDATE appointments SET slot_start = slot_start - ` + strconv.Itoa(back) + `, slot_end = slot_end - ` +
			strconv.Itoa(back) +
			`, busy_start = busy_start - ` + strconv.Itoa(back) + `, busy_end = busy_end - ` + strconv.Itoa(back) +
			` WHERE id = 'second'`,
		trigger,
	} {
		if _, err := db.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for what, args := range map[string][]string{"the database": {"--data", dir}, "a copy": {path}} {
		got := command(t, nil, "", append([]string{"verify", "--json"}, args...)...)
		var said verdictBody
		if err := json.Unmarshal([]byte(got.stdout), &said); err != nil || got.code != 1 || said.Sound {
			t.Errorf("%s: %v, got %+v", what, err, got)
		}
		ids := []string{"first", "second"}
		if len(said.Overlaps) != 1 {
			t.Errorf("%s: got %d overlaps, want 1: %s", what, len(said.Overlaps), got.stdout)
		} else if o := said.Overlaps[0]; o.Of != "specialist" || o.ID != specialist ||
			!slices.Equal(o.Appointments[:], ids) || !strings.HasPrefix(o.At, "2030-01-07T09:01:00") {
			t.Errorf("%s: got %+v", what, o)
		}
	}
}
