package ical

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"holdfast/store"
)

func holidayCalendar(lines ...string) string {
	return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VCALENDAR\r\n"
}

func dateOf(t testing.TB, s string) store.Date {
	d, err := store.ParseDate(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestHolidaysReadsWholeDays(t *testing.T) {
	got, err := Holidays("\ufeff" + holidayCalendar(
		"X-WR-CALNAME:Feiertage",
		"BEGIN:VTIMEZONE", "TZID:Europe/Berlin", "BEGIN:STANDARD", "DTSTART:19701025T030000", "RRULE:FREQ=YEARLY",
		"END:STANDARD", "END:VTIMEZONE", vevent("UID:2",
			"DTSTART;VALUE=DATE:20261225", "DTEND;VALUE=DATE:20261227", "SUMMARY:1. und 2. Weih", " nachtstag\\, beide",
			"BEGIN:VALARM", "TRIGGER:-PT1H", "END:VALARM"),
		vevent("UID:1", "DTSTART:20261003", `SUMMARY;LANGUAGE="de:DE";X=1:Tag der`, "\t Einheit"),
		vevent("UID:3", "DTSTART:20261003", "SUMMARY:Tag der Einheit"),
		vevent("UID:4", "STATUS:CANCELLED", "DTSTART:20261101", "SUMMARY:Nicht"),
	))
	want := []Holiday{
		{dateOf(t, "2026-10-03"), dateOf(t, "2026-10-03"), "Tag der Einheit"},
		{dateOf(t, "2026-12-25"), dateOf(t, "2026-12-26"), "1. und 2. Weihnachtstag, beide"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v\nwant %v", got, err, want)
	}
}

func TestHolidaysNamesRefusedEntries(t *testing.T) {
	for name, test := range map[string]struct {
		file, want string
		line       int
	}{
		"nothing":               {"", "BEGIN:VCALENDAR is missing", 0},
		"a page":                {"<html>", "not NAME:VALUE", 1},
		"another property":      {"VERSION:2.0", "BEGIN:VCALENDAR comes first", 1},
		"half a file":           {"BEGIN:VCALENDAR\nBEGIN:VEVENT\n", "END:VEVENT is missing", 0},
		"a long name left open": {"BEGIN:VCALENDAR\nBEGIN:" + strings.Repeat("X", 300), "END:XXX", 0},
		"a rule": {holidayCalendar(vevent("DTSTART:20261003", "RRULE:FREQ=YEARLY")),
			"RRULE is not supported", 5},
		"dates besides": {holidayCalendar(vevent("DTSTART:20261003", "RDATE:20271003")),
			"RDATE is not supported", 5},
		"a duration": {holidayCalendar(vevent("DTSTART:20261003", "DURATION:P2D")),
			"DURATION is not supported", 5},
		"a time of day": {holidayCalendar(vevent("DTSTART:20261003T090000Z")), "time of day", 4},
		"a time in a zone": {holidayCalendar(vevent("DTSTART;TZID=Europe/Berlin;VALUE=DATE-TIME:20261003T090000")),
			"time of day", 4},
		"a day there is not": {holidayCalendar(vevent("DTSTART:20260230")), "not a date", 4},
		"before it begins": {holidayCalendar(vevent("DTSTART:20261003", "DTEND:20261001")), "ends before it starts",
			3},
		"two years": {holidayCalendar(vevent("DTSTART:20261003", "DTEND:20281003")), "longer than a year",
			3},
		"no start": {holidayCalendar(vevent("SUMMARY:x")), "no DTSTART", 3},
		"an event in an event": {holidayCalendar(vevent("DTSTART:20261003", vevent("DTSTART:20261003"))),
			"inside another component", 5},
		"an end too many":    {holidayCalendar("END:VEVENT"), "without its BEGIN", 3},
		"two calendars":      {holidayCalendar() + holidayCalendar(), "one VCALENDAR", 5},
		"a line without end": {holidayCalendar("X:" + strings.Repeat("y", maxHolidayLine)), "too long", 3},
		"a folded one as well": {holidayCalendar("X:y" + strings.Repeat("\r\n "+strings.Repeat("y", 100), 100)),
			"too long", 3},
		"too large": {strings.Repeat(" ", maxHolidayBytes+1), "larger than", 0},
		"not UTF-8": {"BEGIN:VCALENDAR\xff", "UTF-8", 0},
		"too many": {holidayCalendar(strings.Repeat(vevent("DTSTART:20261003")+"\r\n", maxHolidays+1)),
			"more than 2000", 3 + 3*maxHolidays},
	} {
		got, err := Holidays(test.file)
		var wrong *HolidayError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), test.want) || wrong.Line != test.line ||
			len(err.Error()) > 200 || got != nil {
			t.Errorf("%s: got %v, %v; want line %d: %s", name, got, err, test.line, test.want)
		}
	}
}

// FuzzHolidays: for any input, the result consists of whole days in order, within the limits.
func FuzzHolidays(f *testing.F) {
	f.Add(holidayCalendar(vevent("DTSTART;VALUE=DATE:20261225", "DTEND:20261227", "SUMMARY:a\\, b", " c")))
	f.Add(holidayCalendar("BEGIN:VTIMEZONE", "END:VTIMEZONE", vevent("DTSTART:20261003", "STATUS:CANCELLED")))
	f.Add("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;X=\":;\":20000101\nEND:VEVENT\nEND:VCALENDAR")
	f.Fuzz(func(t *testing.T, file string) {
		days, err := Holidays(file)
		if err != nil {
			var wrong *HolidayError
			if !errors.As(err, &wrong) || days != nil || len(err.Error()) > 200 {
				t.Fatalf("got %v, %v", days, err)
			}
			return
		}
		for i, d := range days {
			if d.To.Before(d.From) || d.From.DaysUntil(d.To) >= maxHolidayDays ||
				len([]rune(d.Title)) > maxHolidayTitle || strings.ContainsAny(d.Title, "\r\n") || i > 0 &&
				d.From.Before(days[i-1].From) {
				t.Fatalf("%d is %v of %v", i, d, days)
			}
		}
	})
}
