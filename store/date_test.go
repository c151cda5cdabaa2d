package store

import (
	"testing"
	"time"
)

func TestParseDate(t *testing.T) {
	for in, want := range map[string]Date{
		"2026-11-23": {2026, time.November, 23},
		"2028-02-29": {2028, time.February, 29},
		"0001-01-01": {1, time.January, 1},
		"9999-12-31": {9999, time.December, 31},
	} {
		got, err := ParseDate(in)
		if err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", in, got, err, want)
		}
		if got.String() != in {
			t.Errorf("the String of %q is %q", in, got)
		}
	}
	for _, in := range []string{
		"", "2026-11-31", "2026-02-29", "2026-00-10", "2026-13-01", "2026-11-00", "26-11-23", "2026-1-3", "2026-11-3",
		"2026/11/23", " 2026-11-23", "2026-11-23 ", "2026-11-23T00:00:00Z", "+2026-11-23", "-2026-11-23", "12026-11-23",
		"2026-11-2٣", "today",
	} {
		if got, err := ParseDate(in); err == nil {
			t.Errorf("%q: got %v, want an error", in, got)
		}
	}
}

func TestParseTimeOfDay(t *testing.T) {
	for in, want := range map[string]TimeOfDay{"00:00": 0, "00:01": 1, "09:00": 540, "23:59": 1439, "24:00": 1440} {
		got, err := ParseTimeOfDay(in)
		if err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "24:01", "25:00", "09:60", "9:00", "09:0", "0900", "09.00", "09:00:00", "-1:00",
		"+1:00", " 9:00", "09:00 ", "09:00Z", "٠٩:٠٠", "noon"} {
		if got, err := ParseTimeOfDay(in); err == nil {
			t.Errorf("%q: got %v, want an error", in, got)
		}
	}
}

func TestDateArithmetic(t *testing.T) {
	monday := Date{2026, time.November, 23}
	if got := monday.Weekday().String(); got != "monday" {
		t.Errorf("2026-11-23 is a %s, want monday", got)
	}
	for days, want := range map[int]string{0: "2026-11-23", 1: "2026-11-24", 8: "2026-12-01", 39: "2027-01-01",
		-23: "2026-10-31", 365: "2027-11-23"} {
		if got := monday.AddDays(days); got.String() != want || monday.DaysUntil(got) != days ||
			got.Before(monday) != (days < 0) {
			t.Errorf("%d days after %s: got %s, DaysUntil %d, Before %v, want %s", days, monday, got,
				monday.DaysUntil(got), got.Before(monday), want)
		}
	}
	if _, err := ParseDate("2026-11-31"); err == nil || err.Error() != `"2026-11-31" is not a date such as 2026-11-23` {
		t.Errorf("the error is %v, want it to contain the value and the expected format", err)
	}
}

// FuzzParseDate checks that ParseDate accepts only one format, and returns only dates that exist.
func FuzzParseDate(f *testing.F) {
	for _, s := range []string{"2026-11-23", "2028-02-29", "2026-02-29", "0000-01-01", "", "2026-11-23T00:00:00Z",
		"2026-11-2\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDate(s)
		var again Date
		if unmarshalled := again.UnmarshalText([]byte(s)); (unmarshalled == nil) != (err == nil) || again != d {
			t.Fatalf("%q: ParseDate returns %v, %v; UnmarshalText returns %v, %v", s, d, err, again, unmarshalled)
		}
		if err != nil {
			if d != (Date{}) {
				t.Fatalf("%q: %v beside the error %v", s, d, err)
			}
			return
		}
		if d.String() != s {
			t.Fatalf("%q is accepted, but its String is %q", s, d)
		}
		if DateOf(d.midnightUTC()) != d || d.AddDays(1).AddDays(-1) != d || d.DaysUntil(d.AddDays(400)) != 400 {
			t.Fatalf("%q is not a date of the calendar", s)
		}
	})
}

// FuzzParseTimeOfDay checks that ParseTimeOfDay accepts only one format, and times from 00:00 to 24:00.
func FuzzParseTimeOfDay(f *testing.F) {
	for _, s := range []string{"00:00", "09:30", "24:00", "24:01", "23:60", "9:30", "", "0٩:00", "09:30:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseTimeOfDay(s)
		if err != nil {
			if v != 0 {
				t.Fatalf("%q: %v beside the error %v", s, v, err)
			}
			return
		}
		if v < 0 || v > 1440 || v.String() != s {
			t.Fatalf("%q is read as %d, whose String is %q", s, v, v)
		}
	})
}
