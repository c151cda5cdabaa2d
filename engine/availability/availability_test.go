package availability

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/store"
)

// The availability rules are test data: testdata/availability/*.json, one file per topic. Each case lists the expected
// result of Open for a range of the specialist's local dates and, where it matters, why other start times are refused.

type availabilityCase struct {
	Name               string
	Timezone           string
	SpecialistInactive bool
	WeeklyHours        []weeklyHoursData
	Overrides          []overrideData
	Blocks             []blockData
	Type               appointmentTypeData
	Taken              []takenData
	Now                string     // default 2026-11-01T00:00Z
	From, To           store.Date // local dates, From inclusive, To exclusive
	// "09:00 09:30/2 +01:00": start times with free seats (one if not given), then their offset
	Want     map[store.Date]string
	Seats    map[string][]int  // start → its free seats
	Bookable []string          // listed starts, in another notation
	Refused  map[string]Reason // start → the reason why it is not listed
}

type weeklyHoursData struct {
	Weekday    store.Weekday
	Start, End store.TimeOfDay
}

type overrideData struct {
	Date   store.Date
	Closed bool
	Hours  []store.Window
}

type blockData struct{ Start, End string }

type appointmentTypeData struct {
	ID                                      string
	DurationMinutes, SlotStepMinutes        int
	BufferBeforeMinutes, BufferAfterMinutes int
	MinNoticeMinutes, Capacity              int
	HorizonDays                             *int // default: far enough to have no effect
	Inactive                                bool
}

type takenData struct {
	Type                      string // default: the listed type
	SpecialistID              string // default: the listed specialist
	Start                     string
	Minutes, Seat             int
	BufferBefore, BufferAfter int
	Overbook                  bool
}

const listedSpecialist = "ada"

func TestAvailabilityCases(t *testing.T) {
	files, err := filepath.Glob("../../testdata/availability/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata/availability: %d files, error %v", len(files), err)
	}
	count := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var theme struct {
			About string
			Base  json.RawMessage
			Cases []json.RawMessage
		}
		decodeStrictly(t, file, raw, &theme)
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			for _, raw := range theme.Cases {
				c := availabilityCase{Now: "2026-11-01T00:00Z"}
				decodeStrictly(t, file, theme.Base, &c)
				decodeStrictly(t, file, raw, &c)
				count++
				t.Run(c.Name, c.run)
			}
		})
	}
	if count < 80 {
		t.Errorf("%d cases, want at least 80", count)
	}
}

func (c availabilityCase) run(t *testing.T) {
	calendar, kind, taken := c.calendar(t), c.appointmentType(), c.taken(t)
	now := instantOf(t, c.Now)
	from, to := StartOfDay(calendar.Zone(), c.From), StartOfDay(calendar.Zone(), c.To)
	earliest, latest := BookableRange(&kind, now)

	var got []string
	listed := make(map[int64]bool)
	for _, o := range calendar.Open(nil, &kind, from, to, taken) {
		start := time.UnixMilli(o.Start)
		if start.Before(earliest) || start.After(latest) {
			continue
		}
		listed[o.Start] = true
		got = append(got, fmt.Sprintf("%s/%d", start.In(calendar.Zone()).Format("2006-01-02T15:04-07:00"), o.Free))
		if reason := calendar.Bookable(&kind, start, taken, now); reason != "" {
			t.Errorf("%s is listed, but not bookable: %s", start.In(calendar.Zone()), reason)
		}
		if seats := FreeSeats(&kind, SpanOf(&kind, listedSpecialist, start), taken); len(seats) != o.Free {
			t.Errorf("%s is listed with %d free seats, but the free seats are %v", start.In(calendar.Zone()), o.Free,
				seats)
		}
	}
	if want := c.want(t); !slices.Equal(got, want) {
		t.Errorf("slots\n got %s\nwant %s", strings.Join(got, " "), strings.Join(want, " "))
	}

	for start := from; start.Before(to); start = start.Add(5 * time.Minute) {
		if !listed[start.UnixMilli()] && calendar.Bookable(&kind, start, taken, now) == "" {
			t.Errorf("%s is not listed, but bookable", start.In(calendar.Zone()))
		}
	}
	for start, want := range c.Refused {
		if got := calendar.Bookable(&kind, instantOf(t, start), taken, now); got != want {
			t.Errorf("%s is refused with %q, want %q", start, got, want)
		}
	}
	for _, start := range c.Bookable {
		if got := calendar.Bookable(&kind, instantOf(t, start), taken, now); got != "" {
			t.Errorf("%s is refused with %q, want it bookable", start, got)
		}
	}
	for start, want := range c.Seats {
		if got := FreeSeats(&kind, SpanOf(&kind, listedSpecialist, instantOf(t, start)), taken); !slices.Equal(got,
			want) {
			t.Errorf("%s has the free seats %v, want %v", start, got, want)
		}
	}
}

func (c availabilityCase) calendar(t *testing.T) *Calendar {
	t.Helper()
	var hours []store.WeeklyWindow
	for _, w := range c.WeeklyHours {
		hours = append(hours, store.WeeklyWindow{Weekday: w.Weekday, Window: store.Window{Start: w.Start, End: w.End}})
	}
	var overrides []store.Override
	for _, o := range c.Overrides {
		overrides = append(overrides, store.Override{Date: o.Date, Closed: o.Closed, Hours: o.Hours})
	}
	var blocks []store.Block
	for i, b := range c.Blocks {
		blocks = append(blocks, store.Block{ID: fmt.Sprint("b", i), SpecialistID: listedSpecialist,
			Start: instantOf(t, b.Start), End: instantOf(t, b.End)})
	}
	calendar, err := NewCalendar(store.Specialist{ID: listedSpecialist, Timezone: c.Timezone,
		Active: !c.SpecialistInactive}, hours, overrides, blocks)
	if err != nil {
		t.Fatal(err)
	}
	return calendar
}

func (c availabilityCase) appointmentType() store.AppointmentType {
	horizon := 36500
	if c.Type.HorizonDays != nil {
		horizon = *c.Type.HorizonDays
	}
	id := c.Type.ID
	if id == "" {
		id = "checkup"
	}
	return store.AppointmentType{
		ID: id, DurationMinutes: c.Type.DurationMinutes, SlotStepMinutes: c.Type.SlotStepMinutes,
		BufferBeforeMinutes: c.Type.BufferBeforeMinutes, BufferAfterMinutes: c.Type.BufferAfterMinutes,
		MinNoticeMinutes: c.Type.MinNoticeMinutes, HorizonDays: horizon, Capacity: max(c.Type.Capacity, 1),
		Active: !c.Type.Inactive,
	}
}

func (c availabilityCase) taken(t *testing.T) []store.Taken {
	t.Helper()
	var taken []store.Taken
	for i, a := range c.Taken {
		start := instantOf(t, a.Start)
		end := start.Add(Minutes(a.Minutes))
		row := store.Taken{
			AppointmentID: fmt.Sprint("a", i), AppointmentTypeID: a.Type, SpecialistID: a.SpecialistID, Seat: a.Seat,
			Overbook: a.Overbook, SlotStart: start, SlotEnd: end, BusyStart: start.Add(-Minutes(a.BufferBefore)),
			BusyEnd: end.Add(Minutes(a.BufferAfter)),
		}
		if row.AppointmentTypeID == "" {
			row.AppointmentTypeID = c.appointmentType().ID
		}
		if row.SpecialistID == "" {
			row.SpecialistID = listedSpecialist
		}
		taken = append(taken, row)
	}
	return taken
}

// want formats the expected slots as instants with their offset and free seats, in order.
func (c availabilityCase) want(t *testing.T) []string {
	t.Helper()
	type slot struct {
		start time.Time
		text  string
	}
	var slots []slot
	for date, line := range c.Want {
		var waiting []string
		for _, word := range strings.Fields(line) {
			if word[0] != '+' && word[0] != '-' {
				waiting = append(waiting, word)
				continue
			}
			for _, w := range waiting {
				at, seats, _ := strings.Cut(w, "/")
				if seats == "" {
					seats = "1"
				}
				text := date.String() + "T" + at + word
				slots = append(slots, slot{instantOf(t, text), text + "/" + seats})
			}
			waiting = nil
		}
		if waiting != nil {
			t.Fatalf("want %s: %v has no offset", date, waiting)
		}
	}
	slices.SortFunc(slots, func(a, b slot) int { return a.start.Compare(b.start) })
	var out []string
	for _, s := range slots {
		out = append(out, s.text)
	}
	return out
}

// instantOf parses an instant with or without seconds.
func instantOf(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04Z07:00", s)
	if err != nil {
		at, err = time.Parse(time.RFC3339Nano, s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// decodeStrictly decodes a test file strictly: a misspelt field is an error instead of being silently ignored.
func decodeStrictly(t *testing.T, file string, raw []byte, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v in %s", file, err, raw)
	}
}

func TestPoolListsWhoIsFree(t *testing.T) {
	monday := store.Date{Year: 2026, Month: time.November, Day: 23}
	hours := func(start, end string) []store.WeeklyWindow {
		return []store.WeeklyWindow{{Weekday: store.Weekday(time.Monday),
			Window: store.Window{Start: timeOfDay(t, start), End: timeOfDay(t, end)}}}
	}
	calendar := func(id, zone string, active bool, hours []store.WeeklyWindow) *Calendar {
		c, err := NewCalendar(store.Specialist{ID: id, Timezone: zone, Active: active}, hours, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	calendars := []*Calendar{
		calendar("cleo", "Europe/Berlin", true, hours("09:00", "11:00")),
		calendar("ada", "Europe/London", true, hours("08:30", "10:00")),
		calendar("bob", "Europe/Berlin", false, hours("09:00", "11:00")),
		calendar("dan", "Europe/Berlin", true, nil),
	}
	kind := store.AppointmentType{ID: "checkup", DurationMinutes: 30, SlotStepMinutes: 30, Capacity: 2,
		HorizonDays: 365, Active: true}
	at := func(s string) time.Time { return instantOf(t, "2026-11-23T"+s+"Z") }
	taken := []store.Taken{
		{AppointmentTypeID: "checkup", SpecialistID: "ada", Seat: 1, SlotStart: at("08:30"), SlotEnd: at("09:00"),
			BusyStart: at("08:30"), BusyEnd: at("09:00")},
		{AppointmentTypeID: "other", SpecialistID: "cleo", SlotStart: at("08:00"), SlotEnd: at("08:30"),
			BusyStart: at("08:00"), BusyEnd: at("08:30")},
		{AppointmentTypeID: "other", SpecialistID: "cleo", SlotStart: at("09:00"), SlotEnd: at("09:05"),
			BusyStart: at("09:00"), BusyEnd: at("09:05")},
	}
	zone := calendars[0].Zone()
	var got []string
	for _, s := range Pool(calendars, &kind, StartOfDay(zone, monday), StartOfDay(zone, monday.AddDays(1)), taken) {
		if !s.End.Equal(s.Start.Add(30*time.Minute)) || s.Start.Location() != time.UTC {
			t.Errorf("slot %s to %s, want 30 minutes in UTC", s.Start, s.End)
		}
		line := s.Start.Format("15:04")
		for _, f := range s.Free {
			line += " " + f.SpecialistID + ":" + strconv.Itoa(f.Seats)
		}
		got = append(got, line)
	}
	want := []string{"08:30 cleo:2 ada:1", "09:00 ada:2", "09:30 cleo:2 ada:2"}
	if !slices.Equal(got, want) {
		t.Errorf("pooled\n got %q\nwant %q", got, want)
	}
	if got := Pool(nil, &kind, StartOfDay(zone, monday), StartOfDay(zone, monday.AddDays(1)), taken); len(got) != 0 {
		t.Errorf("without specialists: got %v", got)
	}
}

func TestSpanOfWidensByBuffers(t *testing.T) {
	kind := store.AppointmentType{ID: "checkup", DurationMinutes: 30, BufferBeforeMinutes: 5, BufferAfterMinutes: 10}
	start := instantOf(t, "2026-11-23T10:00+01:00")
	want := holds.Span{
		AppointmentTypeID: "checkup", SpecialistID: "ada",
		SlotStart: instantOf(t, "2026-11-23T09:00Z"), SlotEnd: instantOf(t, "2026-11-23T09:30Z"),
		BusyStart: instantOf(t, "2026-11-23T08:55Z"), BusyEnd: instantOf(t, "2026-11-23T09:40Z"),
	}
	if got := SpanOf(&kind, "ada", start); got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	from, to := Around(&kind, want.SlotStart, want.SlotStart)
	if !from.Equal(want.BusyStart) || !to.Equal(want.BusyEnd) {
		t.Errorf("Around one start: %s to %s, want its busy interval %s to %s", from, to, want.BusyStart, want.BusyEnd)
	}
}

func TestNewCalendarRefusesInvalidRules(t *testing.T) {
	window := func(start, end store.TimeOfDay) store.Window { return store.Window{Start: start, End: end} }
	for name, c := range map[string]struct {
		zone      string
		hours     []store.WeeklyWindow
		overrides []store.Override
		want      string
	}{
		"unknown zone": {zone: "Europe/Atlantis",
			want: `specialist ada: "Europe/Atlantis" is not a time zone like Europe/Berlin`},
		"no zone":            {zone: "", want: `specialist ada: "" is not a time zone like Europe/Berlin`},
		"the machine's zone": {zone: "Local", want: `specialist ada: "Local" is not a time zone like Europe/Berlin`},
		"the machine's file": {zone: "localtime",
			want: `specialist ada: "localtime" is not a time zone like Europe/Berlin`},
		"leap seconds": {zone: "right/Europe/Berlin",
			want: `specialist ada: "right/Europe/Berlin" is not a time zone like Europe/Berlin`},
		"a second spelling": {zone: "Europe//Berlin",
			want: `specialist ada: "Europe//Berlin" is not a time zone like Europe/Berlin`},
		"a path": {zone: "../zoneinfo/UTC",
			want: `specialist ada: "../zoneinfo/UTC" is not a time zone like Europe/Berlin`},
		"reversed window": {zone: "UTC", hours: []store.WeeklyWindow{{Weekday: 1, Window: window(600, 540)}},
			want: "specialist ada, monday: the hours 10:00 to 09:00 must start and end on the same day"},
		"empty window": {zone: "UTC", hours: []store.WeeklyWindow{{Weekday: 1, Window: window(600, 600)}},
			want: "specialist ada, monday: the hours 10:00 to 10:00 must start and end on the same day"},
		"window past midnight": {zone: "UTC", hours: []store.WeeklyWindow{{Weekday: 1, Window: window(600, 1441)}},
			want: "specialist ada, monday: the hours 10:00 to 24:01 must start and end on the same day"},
		"negative weekday": {zone: "UTC", hours: []store.WeeklyWindow{{Weekday: -1, Window: window(540, 600)}},
			want: "specialist ada: weekday -1 is not a day of the week"},
		"eighth weekday": {zone: "UTC", hours: []store.WeeklyWindow{{Weekday: 7, Window: window(540, 600)}},
			want: "specialist ada: weekday 7 is not a day of the week"},
		"reversed override": {zone: "UTC",
			overrides: []store.Override{{Date: store.Date{Year: 2026, Month: 12, Day: 24},
				Hours: []store.Window{window(600, 540)}}},
			want: "specialist ada, 2026-12-24: the hours 10:00 to 09:00 must start and end on the same day"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewCalendar(store.Specialist{ID: "ada", Timezone: c.zone}, c.hours, c.overrides, nil)
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func timeOfDay(t *testing.T, s string) store.TimeOfDay {
	t.Helper()
	v, err := store.ParseTimeOfDay(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
