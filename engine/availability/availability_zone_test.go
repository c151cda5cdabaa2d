package availability

import (
	"archive/zip"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

// For every IANA zone and every change of its clocks over two years, no slot is in a gap, listed twice, or missing.
// The expected result comes from reading the wall clock minute by minute, so it shares no logic with the code.

const (
	zonesFrom = 2026
	zonesTo   = 2028
)

func TestEveryZoneAtEveryChangeOfClocks(t *testing.T) {
	changes := 0
	for _, name := range zoneNames(t) {
		zone, err := LoadZone(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range clockChanges(zone, zonesFrom, zonesTo) {
			changes++
			last, next := store.DateOf(at.Add(-time.Second).In(zone)), store.DateOf(at.In(zone))
			checkDateAgainstWall(t, zone, next)
			if last != next {
				checkDateAgainstWall(t, zone, last)
			}
		}
	}
	if changes < 500 {
		t.Errorf("only %d clock changes, want those of the whole world", changes)
	}
	t.Logf("%d changes of clocks", changes)
}

// checkDateAgainstWall compares the slots and every wall time of one date with a minute-by-minute reading of the clock.
func checkDateAgainstWall(t *testing.T, zone *time.Location, date store.Date) {
	t.Helper()
	wall := readWall(zone, date)
	for m := store.TimeOfDay(0); m < 24*60; m++ {
		if got, want := WallTime(zone, date, m), wall.instant(m); !got.Equal(want) {
			t.Fatalf("%s, %s %s: got %s, want %s", zone, date, m, got, want.UTC())
		}
	}

	// The specialist is open all day, or for three parts of the day whose limits fall in gaps and folds.
	weekly := func(windows ...store.Window) (hours []store.WeeklyWindow) {
		for day := range store.Weekday(7) {
			for _, w := range windows {
				hours = append(hours, store.WeeklyWindow{Weekday: day, Window: w})
			}
		}
		return hours
	}
	kind := store.AppointmentType{ID: "checkup", DurationMinutes: 15, SlotStepMinutes: 15, Active: true}
	for _, c := range [][]store.Window{
		{{Start: 0, End: 1440}},
		{{Start: 0, End: 150}, {Start: 150, End: 1350}, {Start: 1350, End: 1440}},
	} {
		calendar, err := NewCalendar(store.Specialist{ID: "ada", Timezone: zone.String(), Active: true}, weekly(c...),
			nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		begin, end := StartOfDay(zone, date), StartOfDay(zone, date.AddDays(1))
		if !begin.Equal(wall.begin) || !end.Equal(wall.end) {
			t.Fatalf("%s, %s: the date is %s to %s, want %s to %s", zone, date, begin, end, wall.begin.UTC(),
				wall.end.UTC())
		}
		var want []int64
		for _, w := range c {
			last := wall.end
			if w.End < 1440 && wall.instant(w.End).Before(last) {
				last = wall.instant(w.End)
			}
			for at := wall.instant(w.Start); !at.Add(15 * time.Minute).After(last); at = at.Add(15 * time.Minute) {
				want = append(want, at.UnixMilli())
			}
		}
		slices.Sort(want)
		want = slices.Compact(want)
		if got := calendar.Starts(nil, &kind, begin, end); !slices.Equal(got, want) {
			t.Fatalf("%s, %s, %v:\n got %v\nwant %v", zone, date, c, got, want)
		}
	}
}

// wallReading is a minute-by-minute reading of the wall clock around one date. It contains the first instant of each
// minute, and how far minutes that do not exist are shifted.
type wallReading struct {
	first      [24 * 60]time.Time
	shift      [24 * 60]time.Duration // for a minute that does not exist: how far the rule moves it past first
	begin, end time.Time              // the first instants that show the date, and the next date or a later one
}

func (w *wallReading) instant(m store.TimeOfDay) time.Time { return w.first[m].Add(w.shift[m]) }

func readWall(zone *time.Location, date store.Date) *wallReading {
	w := new(wallReading)
	midnight := time.Date(date.Year, date.Month, date.Day, 0, 0, 0, 0, time.UTC)
	highest := -1 // the latest minute of the date so far
	for at := midnight.Add(-30 * time.Hour); w.end.IsZero(); at = at.Add(time.Minute) {
		shown := at.In(zone)
		day := date.DaysUntil(store.DateOf(shown))
		minute := day*24*60 + shown.Hour()*60 + shown.Minute()
		if minute <= highest {
			continue
		}
		// Skipped minutes are read with the offset of the preceding minute.
		_, before := at.Add(-time.Minute).In(zone).Zone()
		for m := max(highest+1, 0); m <= min(minute, 24*60-1); m++ {
			w.first[m] = at
			asIf := midnight.Add(time.Duration(m)*time.Minute - time.Duration(before)*time.Second)
			if m < minute {
				w.shift[m] = asIf.Sub(at)
			}
		}
		if highest < 0 && minute >= 0 {
			w.begin = at
		}
		if minute >= 24*60 {
			w.end = at
		}
		highest = max(highest, minute)
	}
	return w
}

// clockChanges lists the instants at which a zone's offset changes. It checks every hour, then narrows each change
// down.
func clockChanges(zone *time.Location, fromYear, toYear int) []time.Time {
	offset := func(at time.Time) int {
		_, east := at.In(zone).Zone()
		return east
	}
	var changes []time.Time
	end := time.Date(toYear, 1, 1, 0, 0, 0, 0, time.UTC)
	for at := time.Date(fromYear, 1, 1, 0, 0, 0, 0, time.UTC); at.Before(end); at = at.Add(6 * time.Hour) {
		if offset(at) == offset(at.Add(6*time.Hour)) {
			continue
		}
		low, high := at, at.Add(6*time.Hour)
		for high.Sub(low) > time.Second {
			middle := low.Add(high.Sub(low) / 2).Truncate(time.Second)
			if offset(middle) == offset(low) {
				low = middle
			} else {
				high = middle
			}
		}
		changes = append(changes, high)
	}
	return changes
}

// zoneNames lists the zones in Go's time zone database, including old names.
func zoneNames(t testing.TB) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatalf("go env GOROOT: %v", err)
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(out)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	var names []string
	for _, f := range archive.File {
		if !strings.HasSuffix(f.Name, "/") {
			names = append(names, f.Name)
		}
	}
	if len(names) < 400 {
		t.Fatalf("only %d zones, want all of them", len(names))
	}
	return names
}

// LoadZone either refuses a zone name that a clinic sends, or returns a zone in the database whose days can be listed.
func FuzzLoadZone(f *testing.F) {
	names := zoneNames(f)
	for _, s := range []string{"Europe/Berlin", "", "Local", "localtime", "right/UTC", "../UTC", "Europe//Berlin",
		"Europe/./Berlin", "/etc/localtime", "tzdata.zi", "europe/berlin", "UTC\x00"} {
		f.Add(s, int64(1793836800))
	}
	f.Fuzz(func(t *testing.T, name string, at int64) {
		zone, err := LoadZone(name)
		if err != nil {
			return
		}
		if !slices.Contains(names, name) {
			t.Fatalf("%q was loaded, but is not a zone of the database", name)
		}
		at %= 8_000_000_000 // limit the instant to the years 1716 to 2223
		date := store.DateOf(time.Unix(at, 0).In(zone))
		begin, end := StartOfDay(zone, date), StartOfDay(zone, date.AddDays(1))
		if end.Before(begin) || begin.After(time.Unix(at, 0).Add(24*time.Hour)) {
			t.Fatalf("%s, %s: the date is %s to %s", name, date, begin, end)
		}
		for m := store.TimeOfDay(0); m < 24*60; m += 7 {
			instant := WallTime(zone, date, m)
			shown := instant.In(zone)
			if shown.Hour()*60+shown.Minute() == int(m) && store.DateOf(shown) == date {
				continue
			}
			// Times that do not exist move forward: the wall clock shows a later time.
			if wall := time.Date(shown.Year(), shown.Month(), shown.Day(), shown.Hour(), shown.Minute(), shown.Second(),
				0, time.UTC); !wall.After(
				time.Date(date.Year, date.Month, date.Day, 0, int(m), 0, 0, time.UTC)) {
				t.Fatalf("%s, %s %s became %s", name, date, m, shown)
			}
		}
	})
}
