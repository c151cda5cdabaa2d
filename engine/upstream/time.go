package upstream

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// FormatTime formats t in the clinic's local time, in the format used for appointments: "01/20/2026 10:00 AM". It cuts
// off seconds.
func FormatTime(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("01/02/2006 03:04 PM")
}

// formatSeconds formats t in the format used for ranges: "01/20/2026 7:00:00 AM".
func formatSeconds(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("01/02/2006 3:04:05 PM")
}

// ErrTime is the error that ParseTime returns for a string that is not a time.
var ErrTime = errors.New(`expected a time like "01/20/2026 10:00 AM"`)

// ParseTime parses a time from the upstream or from an agent's startTime: US local time in zone ("01/20/2026 10:00 AM",
// "1/20/2026 10:00:00 AM"), ISO without an offset, or ISO with an offset, which then overrides zone. A local time that
// a clock change skips moves forward; a repeated local time means its first instant. The result is in UTC.
func ParseTime(s string, zone *time.Location) (time.Time, error) {
	s = strings.TrimSpace(s)
	if len(s) > 40 || zone == nil {
		return time.Time{}, ErrTime
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil && inRange(t) {
		return t.UTC(), nil
	}
	for _, layout := range []string{
		"1/2/2006 3:04 PM", "1/2/2006 3:04:05 PM", "1/2/2006 3:04PM", "1/2/2006 15:04", "1/2/2006 15:04:05",
		"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05",
	} {
		if t, err := time.Parse(layout, strings.ToUpper(s)); err == nil && inRange(t) {
			return wall(t, zone), nil
		}
	}
	return time.Time{}, ErrTime
}

// inRange excludes years that a later Format could not write in four digits.
func inRange(t time.Time) bool { return t.Year() >= 1900 && t.Year() <= 9000 }

// wall returns the instant at which the clocks of zone show what t shows in UTC.
func wall(t time.Time, zone *time.Location) time.Time {
	offset := func(at time.Time) time.Duration {
		_, seconds := at.In(zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	shows := func(at time.Time) bool { return at.Add(offset(at)).Equal(t) }
	before, after := t.Add(-offset(t.Add(-24*time.Hour))), t.Add(-offset(t.Add(24*time.Hour)))
	// A repeated time has two instants, and the one with the old offset comes first. A skipped time has no instant, and
	// the old offset moves it forward.
	if !shows(before) && shows(after) {
		return after
	}
	return before
}

// Zone finds a time zone by its IANA name, or by the Windows name that the upstream uses for a location ("Eastern
// Standard Time"). It knows the Windows names for the United States, Canada, Mexico and Europe.
func Zone(name string) (*time.Location, error) {
	name = strings.TrimSpace(name)
	iana := windowsZone(name)
	if iana == "" {
		iana = name
	}
	// "" would be UTC and "Local" the machine's zone: neither is a clinic's zone.
	if iana == "" || iana == "Local" {
		return nil, errors.New("time zone: missing; give the clinic's, like America/New_York")
	}
	zone, err := time.LoadLocation(iana)
	if err != nil {
		return nil, fmt.Errorf("time zone %q: not known; give an IANA name like America/New_York", name)
	}
	return zone, nil
}

// windowsZone contains the part of CLDR's table for the regions where this kind of upstream is sold. The names contain
// "Standard" all year round.
func windowsZone(name string) string {
	switch strings.ToLower(name) {
	case "eastern standard time":
		return "America/New_York"
	case "us eastern standard time":
		return "America/Indiana/Indianapolis"
	case "central standard time":
		return "America/Chicago"
	case "mountain standard time":
		return "America/Denver"
	case "us mountain standard time":
		return "America/Phoenix"
	case "pacific standard time":
		return "America/Los_Angeles"
	case "alaskan standard time":
		return "America/Anchorage"
	case "aleutian standard time":
		return "America/Adak"
	case "hawaiian standard time":
		return "Pacific/Honolulu"
	case "sa western standard time":
		return "America/Puerto_Rico"
	case "atlantic standard time":
		return "America/Halifax"
	case "newfoundland standard time":
		return "America/St_Johns"
	case "canada central standard time":
		return "America/Regina"
	case "yukon standard time":
		return "America/Whitehorse"
	case "central standard time (mexico)":
		return "America/Mexico_City"
	case "mountain standard time (mexico)":
		return "America/Mazatlan"
	case "pacific standard time (mexico)":
		return "America/Tijuana"
	case "eastern standard time (mexico)":
		return "America/Cancun"
	case "west pacific standard time":
		return "Pacific/Guam"
	case "gmt standard time":
		return "Europe/London"
	case "greenwich standard time":
		return "Atlantic/Reykjavik"
	case "azores standard time":
		return "Atlantic/Azores"
	case "w. europe standard time":
		return "Europe/Berlin"
	case "romance standard time":
		return "Europe/Paris"
	case "central europe standard time":
		return "Europe/Budapest"
	case "central european standard time":
		return "Europe/Warsaw"
	case "gtb standard time":
		return "Europe/Bucharest"
	case "fle standard time":
		return "Europe/Kiev"
	case "e. europe standard time":
		return "Europe/Chisinau"
	case "turkey standard time":
		return "Europe/Istanbul"
	case "kaliningrad standard time":
		return "Europe/Kaliningrad"
	case "belarus standard time":
		return "Europe/Minsk"
	case "russian standard time":
		return "Europe/Moscow"
	case "utc", "coordinated universal time":
		return "UTC"
	}
	return ""
}
