package upstream

import (
	"strings"
	"testing"
	"time"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestParseTime(t *testing.T) {
	for _, test := range []struct{ in, zone, want string }{
		{"01/20/2026 10:00 AM", "America/New_York", "2026-01-20T15:00:00Z"},
		{"1/20/2026 10:00:00 AM", "America/New_York", "2026-01-20T15:00:00Z"},
		{" 7/4/2026 1:05 pm ", "America/New_York", "2026-07-04T17:05:00Z"},
		{"07/04/2026 1:05PM", "America/New_York", "2026-07-04T17:05:00Z"},
		{"01/20/2026 12:00 AM", "America/New_York", "2026-01-20T05:00:00Z"},
		{"01/20/2026 12:00 PM", "America/New_York", "2026-01-20T17:00:00Z"},
		{"01/20/2026 14:30", "America/Chicago", "2026-01-20T20:30:00Z"},
		{"2026-01-20T10:00:00", "Europe/Berlin", "2026-01-20T09:00:00Z"},
		{"2026-01-20t10:00", "Europe/Berlin", "2026-01-20T09:00:00Z"},
		{"2026-01-20 10:00:00", "Asia/Kolkata", "2026-01-20T04:30:00Z"},
		{"2026-01-20T10:00:00-08:00", "Europe/Berlin", "2026-01-20T18:00:00Z"},
		{"2026-01-20T10:00:00Z", "Europe/Berlin", "2026-01-20T10:00:00Z"},
		{"02/29/2028 10:00 AM", "America/New_York", "2028-02-29T15:00:00Z"},
		// Clocks go forward at 2:00: skipped times move forward.
		{"03/08/2026 02:30 AM", "America/New_York", "2026-03-08T07:30:00Z"},
		{"03/08/2026 01:59 AM", "America/New_York", "2026-03-08T06:59:00Z"},
		{"03/08/2026 03:00 AM", "America/New_York", "2026-03-08T07:00:00Z"},
		// Clocks go back at 2:00: a time that occurs twice means the first occurrence.
		{"11/01/2026 01:30 AM", "America/New_York", "2026-11-01T05:30:00Z"},
		{"11/01/2026 12:59 AM", "America/New_York", "2026-11-01T04:59:00Z"},
		{"11/01/2026 02:00 AM", "America/New_York", "2026-11-01T07:00:00Z"},
		{"10/25/2026 02:30 AM", "Europe/Berlin", "2026-10-25T00:30:00Z"},
		// Half an hour on Lord Howe Island, a whole day in Apia.
		{"04/05/2026 01:45 AM", "Australia/Lord_Howe", "2026-04-04T14:45:00Z"},
		{"10/04/2026 02:15 AM", "Australia/Lord_Howe", "2026-10-03T15:45:00Z"},
		{"12/30/2011 09:00 AM", "Pacific/Apia", "2011-12-30T19:00:00Z"},
	} {
		got, err := ParseTime(test.in, zone(t, test.zone))
		if err != nil || got.Format(time.RFC3339) != test.want || got.Location() != time.UTC {
			t.Errorf("%q in %s: got %v, %v; want %s", test.in, test.zone, got, err, test.want)
		}
	}
	for _, in := range []string{
		"", "soon", "10:00 AM", "01/20/2026", "13/20/2026 10:00 AM", "02/30/2026 10:00 AM", "01/20/26 10:00 AM",
		"01/20/2026 13:00 PM", "01/20/2026 10:60 AM", "20.01.2026 10:00", "01/20/0001 10:00 AM", "01/20/9999 10:00 AM",
		"0000-01-20T10:00:00Z", strings.Repeat("1", 1000),
	} {
		if got, err := ParseTime(in, time.UTC); err != ErrTime {
			t.Errorf("%q: got %v, %v; want %v", in, got, err, ErrTime)
		}
	}
	if _, err := ParseTime("01/20/2026 10:00 AM", nil); err != ErrTime {
		t.Errorf("no zone: got %v, want %v", err, ErrTime)
	}
}

// TestTimesRoundTrip writes and reads back every half hour of a year. In a repeated hour, the second pass is read back
// as the first; all other times are unchanged.
func TestTimesRoundTrip(t *testing.T) {
	for _, name := range []string{"America/New_York", "Europe/London", "Australia/Lord_Howe", "America/St_Johns",
		"Asia/Kolkata", "Pacific/Apia"} {
		z, repeated := zone(t, name), 0
		for at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() == 2026; at = at.Add(30 * time.Minute) {
			text := FormatTime(at, z)
			got, err := ParseTime(text, z)
			if err != nil || FormatTime(got, z) != text || got.After(at) {
				t.Fatalf("%s: %v is written as %q and read as %v, %v", name, at, text, got, err)
			}
			if !got.Equal(at) {
				repeated++
			}
		}
		if repeated > 2 {
			t.Errorf("%s: %d half hours changed when read again, want at most the two of the repeated hour", name, repeated)
		}
	}
}

func TestZone(t *testing.T) {
	for name, want := range map[string]string{
		"Eastern Standard Time": "America/New_York", "US Eastern Standard Time": "America/Indiana/Indianapolis",
		"Central Standard Time": "America/Chicago", "Mountain Standard Time": "America/Denver",
		"US Mountain Standard Time": "America/Phoenix", "Pacific Standard Time": "America/Los_Angeles",
		"Alaskan Standard Time": "America/Anchorage", "Aleutian Standard Time": "America/Adak",
		"Hawaiian Standard Time": "Pacific/Honolulu", "SA Western Standard Time": "America/Puerto_Rico",
		"Atlantic Standard Time": "America/Halifax", "Newfoundland Standard Time": "America/St_Johns",
		"Canada Central Standard Time": "America/Regina", "Yukon Standard Time": "America/Whitehorse",
		"Central Standard Time (Mexico)": "America/Mexico_City", "Mountain Standard Time (Mexico)": "America/Mazatlan",
		"Pacific Standard Time (Mexico)": "America/Tijuana", "Eastern Standard Time (Mexico)": "America/Cancun",
		"West Pacific Standard Time": "Pacific/Guam", "GMT Standard Time": "Europe/London",
		"Greenwich Standard Time": "Atlantic/Reykjavik", "Azores Standard Time": "Atlantic/Azores",
		"W. Europe Standard Time": "Europe/Berlin", "Romance Standard Time": "Europe/Paris",
		"Central Europe Standard Time": "Europe/Budapest", "Central European Standard Time": "Europe/Warsaw",
		"GTB Standard Time": "Europe/Bucharest", "FLE Standard Time": "Europe/Kiev",
		"E. Europe Standard Time": "Europe/Chisinau", "Turkey Standard Time": "Europe/Istanbul",
		"Kaliningrad Standard Time": "Europe/Kaliningrad", "Belarus Standard Time": "Europe/Minsk",
		"Russian Standard Time": "Europe/Moscow", "UTC": "UTC", "Coordinated Universal Time": "UTC",
		" eastern standard time ": "America/New_York", "America/New_York": "America/New_York",
		"Asia/Kolkata": "Asia/Kolkata",
	} {
		got, err := Zone(name)
		if err != nil || got.String() != want {
			t.Errorf("%q: got %v, %v; want %s", name, got, err, want)
		}
	}
	for _, name := range []string{"", "Local", "Mars Standard Time", "../../etc/passwd", "America/Nowhere"} {
		if got, err := Zone(name); err == nil {
			t.Errorf("%q: got %v, want an error", name, got)
		}
	}
}

func TestGUIDs(t *testing.T) {
	upper := strings.ToUpper(patient)
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{patient, patient, true}, {patient, upper, true}, {"{" + upper + "}", patient, true},
		{patient, column, false}, {"", "", false}, {"", patient, false}, {patient, "", false},
	} {
		if EqualGUID(test.a, test.b) != test.want {
			t.Errorf("%q and %q: got equal %v, want %v", test.a, test.b, !test.want, test.want)
		}
	}
	for s, want := range map[string]bool{
		patient: true, upper: true, "{" + patient + "}": true, "": false, "{}": false, patient + " ": false,
		patient[:35]: false, patient[:35] + "g": false, strings.ReplaceAll(patient, "-", ""): false, patient +
			patient: false,
	} {
		if ValidGUID(s) != want {
			t.Errorf("%q: got valid %v, want %v", s, !want, want)
		}
	}
	if got := CanonicalGUID("{" + upper + "}"); got != patient {
		t.Errorf("got %q, want %q", got, patient)
	}
}

func FuzzParseTime(f *testing.F) {
	f.Add("01/20/2026 10:00 AM", "America/New_York")
	f.Add("2026-01-20T10:00:00-08:00", "Eastern Standard Time")
	f.Fuzz(func(t *testing.T, s, name string) {
		z, err := Zone(name)
		if err != nil {
			return
		}
		at, err := ParseTime(s, z)
		if err != nil {
			return
		}
		again, err := ParseTime(FormatTime(at, z), z)
		if err != nil || FormatTime(again, z) != FormatTime(at, z) {
			t.Fatalf("%q in %s is %v, after writing and reading %v, %v", s, z, at, again, err)
		}
	})
}
