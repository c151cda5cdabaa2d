package availability_test

import (
	"testing"
	"time"

	"holdfast/engine/availability"
	"holdfast/store"
)

// TestOpenTimeCountsHoursWithoutBlocks: overlapping hours count once, blocks and days off do not count, and a partial
// day counts in part.
func TestOpenTimeCountsHoursWithoutBlocks(t *testing.T) {
	monday := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	window := func(start, end int) store.Window {
		return store.Window{Start: store.TimeOfDay(start * 60), End: store.TimeOfDay(end * 60)}
	}
	hours := []store.WeeklyWindow{
		{Weekday: store.Weekday(time.Monday), Window: window(9, 12)},
		{Weekday: store.Weekday(time.Monday), Window: window(11, 13)},
		{Weekday: store.Weekday(time.Tuesday), Window: window(9, 12)},
	}
	blocks := []store.Block{{Start: monday.Add(8 * time.Hour), End: monday.Add(10 * time.Hour)}}
	off := []store.Override{{Date: store.Date{Year: 2026, Month: 11, Day: 24}, Closed: true}}
	for _, test := range []struct {
		of        string
		overrides []store.Override
		blocks    []store.Block
		from, to  time.Time
		want      time.Duration
	}{
		{"two days", nil, nil, monday, monday.AddDate(0, 0, 2), 7 * time.Hour},
		{"two days with a block", nil, blocks, monday, monday.AddDate(0, 0, 2), 6 * time.Hour},
		{"two days with a day off", off, nil, monday, monday.AddDate(0, 0, 2), 4 * time.Hour},
		{"a part of a day", nil, blocks, monday.Add(9*time.Hour + 30*time.Minute), monday.Add(11 * time.Hour), time.Hour},
		{"two weeks", nil, nil, monday, monday.AddDate(0, 0, 14), 14 * time.Hour},
	} {
		c, err := availability.NewCalendar(store.Specialist{ID: "ada", Active: true, Timezone: "UTC"}, hours, test.overrides, test.blocks)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.OpenTime(test.from, test.to); got != test.want {
			t.Errorf("%s: got %s, want %s", test.of, got, test.want)
		}
	}
}
