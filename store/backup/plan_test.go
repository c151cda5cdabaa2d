package backup

import (
	"slices"
	"testing"
	"time"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}

func TestDueFollowsClinicClock(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	plan := Plan{Daily: true, At: 3 * time.Hour}
	half := Plan{Daily: true, At: 2*time.Hour + 30*time.Minute}
	for _, c := range []struct {
		name      string
		plan      Plan
		last, now string
		want      bool
	}{
		{"never made", plan, "0001-01-01T00:00:00Z", "2026-11-22T12:00:00Z", true},
		{"made last night", plan, "2026-11-22T02:00:10Z", "2026-11-22T12:00:00Z", false},
		{"a minute before the next", plan, "2026-11-22T02:00:10Z", "2026-11-23T01:59:00Z", false},
		{"when it is time", plan, "2026-11-22T02:00:10Z", "2026-11-23T02:00:00Z", true},
		{"the night was missed", plan, "2026-11-21T02:00:10Z", "2026-11-22T07:30:00Z", true},
		{"just after midnight the last night counts", plan, "2026-11-21T02:00:10Z", "2026-11-21T23:30:00Z", false},
		{"the hour that a clock change leaves out", half, "2027-03-27T01:30:10Z", "2027-03-28T01:30:00Z", true},
		{"the hour that comes twice is one night", half, "2026-10-24T00:30:10Z", "2026-10-25T01:30:00Z", true},
		{"and is not made up for", half, "2026-10-25T01:30:00Z", "2026-10-25T12:00:00Z", false},
	} {
		if got := c.plan.due(at(t, c.last), at(t, c.now), berlin); got != c.want {
			t.Errorf("%s: got %t, want %t", c.name, got, c.want)
		}
	}
}

// TestKeepByDayWeekAndMonth makes a backup every night for two years, and checks every night which of them
// are kept.
func TestKeepByDayWeekAndMonth(t *testing.T) {
	t.Parallel()
	keep := Keep{Days: 7, Weeks: 4, Months: 12}
	var made []time.Time
	for night := at(t, "2026-01-01T03:00:00Z"); night.Before(at(t, "2028-01-01T00:00:00Z")); night = night.AddDate(0, 0,
		1) {
		made = append(made, night)
		gone := keep.expired(made, time.UTC)
		made = slices.DeleteFunc(made, func(t time.Time) bool { return slices.Contains(gone, t) })
		for back := range 7 {
			if day := night.AddDate(0, 0, -back); day.Year() > 2025 && !slices.Contains(made, day) {
				t.Fatalf("in the night of %s, the backup of %d days before was deleted", night.Format(time.DateOnly), back)
			}
		}
	}
	if len(made) < 12+2+6 || len(made) > 12+4+7 {
		t.Errorf("after two years, %d remain: %v", len(made), made)
	}
	if oldest := made[0]; oldest.After(at(t, "2027-02-01T00:00:00Z")) {
		t.Errorf("the oldest is of %s; want one of January 2027", oldest.Format(time.DateOnly))
	}
	for _, c := range []struct {
		keep Keep
		want int
	}{{Keep{Days: 1}, 1}, {Keep{Days: 3}, 3}, {Keep{Days: 1, Months: 100}, 12}} {
		if gone := c.keep.expired(made, time.UTC); len(made)-len(gone) != c.want {
			t.Errorf("%+v keeps %d, want %d", c.keep, len(made)-len(gone), c.want)
		}
	}
}

func TestParsersRefuseInvalidPlan(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"", "3", "25:00", "03:00:00", "3am", "-1:00"} {
		if err := new(Plan).ParseAt(v); err == nil {
			t.Errorf("--backup-at %q was accepted", v)
		}
	}
	for _, v := range []string{"", "7", "7,4", "7,4,12,1", "0,4,12", "-1,4,12", "7,4,x", "7,4,1001"} {
		if k, err := ParseKeep(v); err == nil {
			t.Errorf("--backup-keep %q was accepted as %+v", v, k)
		}
	}
}

// TestParseEvery checks that an interval is off, or 1 second to 1 day.
func TestParseEvery(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"off": 0, "1m": time.Minute, "1s": time.Second,
		"24h": 24 * time.Hour} {
		if got, err := ParseEvery(text); err != nil || got != want {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "1", "-1m", "999ms", "25h", "often"} {
		if _, err := ParseEvery(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
