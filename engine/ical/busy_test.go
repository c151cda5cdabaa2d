package ical

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine/upstream"

	"github.com/teambition/rrule-go"
)

func berlin(t testing.TB) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// TestBusyReadsCalendars reads the calendars in testdata. Each contains the expected result in lines that begin with
// X-WANT: busy time in UTC between 1 October and the end of the year, including a clock change.
func TestBusyReadsCalendars(t *testing.T) {
	files, err := filepath.Glob("testdata/*.ics")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	from, to := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			wantUnread := 0
			for _, line := range Lines(string(raw)) {
				switch name, _, value := Property(line); name {
				case "X-WANT":
					want = append(want, value)
				case "X-WANT-UNREAD":
					wantUnread = int(value[0] - '0')
				}
			}
			busy, unread, err := Busy(string(raw), Query{Home: berlin(t),
				From: from, To: to, Zone: upstream.Zone, IsOwn: func(id string) bool { return id == "0192-ours" }})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range busy {
				got = append(got, s.Start.UTC().Format("2006-01-02 15:04")+" - "+s.End.UTC().Format("2006-01-02 15:04"))
			}
			if !slices.Equal(got, want) || unread != wantUnread {
				t.Errorf("got, with %d unread of %d:\n%s\nwant:\n%s", unread, wantUnread, strings.Join(got, "\n"),
					strings.Join(want, "\n"))
			}
		})
	}
}

func calendar(lines ...string) string {
	return "BEGIN:VCALENDAR\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VCALENDAR\r\n"
}

func vevent(lines ...string) string {
	return "BEGIN:VEVENT\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VEVENT"
}

func TestBusyRefusesOtherText(t *testing.T) {
	from := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	many := strings.Repeat(vevent("DTSTART:20261003T090000Z", "DTEND:20261003T100000Z")+"\r\n", maxEvents+1)
	var apart strings.Builder
	for i := range maxBlocks + 1 {
		at := from.Add(time.Duration(i) * 40 * time.Minute)
		fmt.Fprintf(&apart, "%s\r\n", vevent("DTSTART:"+at.Format("20060102T150405Z"), "DURATION:PT10M"))
	}
	whole := calendar(vevent("DTSTART:20261003T090000Z", "DTEND:20261003T100000Z"))
	for name, test := range map[string]struct {
		text string
		want error
	}{
		"nothing":           {"", ErrNoCalendar},
		"a page":            {"<!doctype html><title>Sign in</title>", ErrNoCalendar},
		"broken off":        {whole[:len(whole)-len("END:VCALENDAR\r\n")], ErrNoCalendar},
		"in an event":       {whole[:60], ErrNoCalendar},
		"an end too many":   {whole + "END:VCALENDAR\r\n", ErrNoCalendar},
		"too many events":   {calendar(many), ErrTooMuch},
		"too many blocks":   {calendar(apart.String()), ErrTooMuch},
		"deep in something": {strings.Repeat("BEGIN:VCALENDAR\r\n", 20), ErrNoCalendar},
		"a whole one":       {whole, nil},
		"an empty one":      {calendar(), nil},
	} {
		if _, _, err := Busy(test.text, Query{Home: time.UTC, From: from, To: from.AddDate(0, 3, 0)}); !errors.Is(err,
			test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
}

// TestRulesMatchReferenceLibrary compares our results with those of a library that has been tested on many calendars.
// The server does not use that library because a rule that never matches would keep it busy for seconds.
func TestRulesMatchReferenceLibrary(t *testing.T) {
	from, to := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	checked := 0
	for _, start := range []time.Time{
		time.Date(2026, 10, 7, 9, 30, 0, 0, time.UTC), time.Date(2024, 2, 29, 23, 0, 0, 0, time.UTC),
		time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC), time.Date(2019, 12, 30, 12, 0, 0, 0, time.UTC),
		time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC),
	} {
		for _, every := range []string{"DAILY", "WEEKLY", "MONTHLY", "YEARLY"} {
			for _, more := range []string{
				"", ";INTERVAL=2", ";INTERVAL=3;WKST=SU", ";COUNT=5", ";COUNT=200", ";UNTIL=20261115T093000",
				";BYDAY=MO,WE,FR", ";BYDAY=TU;INTERVAL=2;WKST=SU", ";BYMONTH=10,12", ";BYMONTHDAY=1,15,-1",
				";BYMONTHDAY=31", ";BYMONTH=11;BYDAY=TH", ";BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", ";BYDAY=1MO,-1FR",
				";BYDAY=2TU;BYMONTH=10", ";BYMONTHDAY=13;BYDAY=FR", ";BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13",
				";BYYEARDAY=300,-1", ";BYDAY=-1SU;BYMONTH=3,10", ";BYMONTH=12;BYMONTHDAY=24,25,26;BYSETPOS=1,3",
				";COUNT=12;BYDAY=MO,SU",
			} {
				text := "FREQ=" + every + more
				r, err := parseRule(text, start)
				if err != nil {
					continue // input that is refused counts as unread
				}
				option, err := rrule.StrToROption(text)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				option.Dtstart = start
				theirs, err := rrule.NewRRule(*option)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				steps := maxSteps
				got, err := r.between(start, from, to, &steps)
				if want := theirs.Between(from, to.Add(-time.Second), true); err != nil ||
					!slices.EqualFunc(got, want, time.Time.Equal) {
					t.Errorf("%s from %s:\n got %v, %v\nwant %v", text, start.Format(time.DateTime), got, err, want)
				}
				checked++
			}
		}
	}
	if checked < 250 {
		t.Errorf("only %d rules were compared", checked)
	}
}

// TestLongZoneNameIsCheap: the name of a zone is looked up part by part, and can come from an untrusted source.
func TestLongZoneNameIsCheap(t *testing.T) {
	from := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	text := calendar(vevent(`DTSTART;TZID="`+strings.Repeat("/", 200_000)+`":20261007T090000`, "DURATION:PT1H"))
	if _, unread, err := Busy(text, Query{Home: time.UTC, From: from, To: from.AddDate(0, 0, 90)}); err != nil ||
		unread != 1 {
		t.Errorf("got %d unread, %v; want one", unread, err)
	}
}

// TestImpossibleRulesAreCheap: the server stops reading a calendar that is designed to keep it busy.
func TestImpossibleRulesAreCheap(t *testing.T) {
	from := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	rules := strings.Repeat(vevent("DTSTART:19700101T090000Z", "DURATION:PT1H",
		"RRULE:FREQ=DAILY;COUNT=9;BYMONTH=2;BYMONTHDAY=30")+"\r\n", 5000)
	busy, unread, err := Busy(calendar(rules), Query{Home: time.UTC, From: from, To: from.AddDate(0, 0, 90)})
	if len(busy) != 0 || err != nil || unread < 4000 {
		t.Errorf("got %d, %d unread, %v", len(busy), unread, err)
	}
}

func FuzzBusy(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.ics")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(raw))
	}
	zone := berlin(f)
	from := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(0, 0, 92)
	f.Fuzz(func(t *testing.T, text string) {
		busy, unread, err := Busy(text, Query{Home: zone, From: from, To: to})
		if err != nil && (len(busy) > 0 || unread != 0) || unread < 0 {
			t.Errorf("%d, %d unread, %v", len(busy), unread, err)
		}
		for i, s := range busy {
			if !s.Start.Before(s.End) || s.Start.Before(from) || s.End.After(to) || i > 0 &&
				!busy[i-1].End.Before(s.Start) {
				t.Errorf("busy from %s to %s, which is %d of %d", s.Start, s.End, i, len(busy))
			}
		}
	})
}
