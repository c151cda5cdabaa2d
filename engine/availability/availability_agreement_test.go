package availability

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/holds"
	"holdfast/store"
)

// Listing, holding and booking must agree for any schedule: a listed start time is bookable, an unlisted one is refused
// with a reason, and both follow the guarantee's predicate.

// agreementZones covers every kind of clock change that occurs in practice, and zones without one. The date is that of
// a clock change, if the zone has any.
var agreementZones = []struct {
	name string
	date store.Date
}{
	{"UTC", store.Date{Year: 2026, Month: 11, Day: 23}},
	{"Europe/Berlin", store.Date{Year: 2026, Month: 3, Day: 29}},
	{"Europe/Berlin", store.Date{Year: 2026, Month: 10, Day: 25}},
	{"America/New_York", store.Date{Year: 2026, Month: 3, Day: 8}},
	{"America/New_York", store.Date{Year: 2026, Month: 11, Day: 1}},
	{"Australia/Lord_Howe", store.Date{Year: 2025, Month: 10, Day: 5}},
	{"Australia/Lord_Howe", store.Date{Year: 2026, Month: 4, Day: 5}},
	{"Asia/Kolkata", store.Date{Year: 2026, Month: 11, Day: 23}},
	{"Pacific/Apia", store.Date{Year: 2011, Month: 12, Day: 30}},
	{"America/Havana", store.Date{Year: 2025, Month: 3, Day: 9}},
	{"America/Santiago", store.Date{Year: 2025, Month: 4, Day: 5}},
	{"America/St_Johns", store.Date{Year: 2010, Month: 11, Day: 7}},
	{"America/Nuuk", store.Date{Year: 2025, Month: 3, Day: 29}},
	{"Antarctica/Troll", store.Date{Year: 2025, Month: 10, Day: 26}},
}

func TestListingAndBookingAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		place := rapid.SampledFrom(agreementZones).Draw(t, "place")
		blocks := drawBlocks(t, place.date)
		calendar := drawCalendar(t, place.name, place.date, blocks)
		kind := drawAppointmentType(t)
		zone := calendar.Zone()
		from, to := StartOfDay(zone, place.date.AddDays(-1)), StartOfDay(zone, place.date.AddDays(2))
		now := from.Add(time.Duration(rapid.IntRange(-2*1440, 1440).Draw(t, "now")) * time.Minute)
		starts := calendar.Starts(nil, kind, from, to)
		taken := drawTaken(t, kind, from, to, starts)

		earliest, latest := BookableRange(kind, now)
		openings := calendar.Open(nil, kind, from, to, taken)
		free := make(map[int64]int)
		for i, o := range openings {
			if i > 0 && o.Start <= openings[i-1].Start {
				t.Fatalf("starts out of order or duplicate: %v", openings)
			}
			free[o.Start] = o.Free
		}

		check := func(start time.Time) {
			seats, blocked := 0, meetsBlock(kind, start, blocks)
			for seat := range kind.Capacity {
				if seatIsFree(kind, start, seat, taken) {
					seats++
				}
			}
			seats = max(seats-beyond(kind, start, taken), 0)
			listed, reason := free[start.UnixMilli()], calendar.Bookable(kind, start, taken, now)
			inRange := !start.Before(earliest) && !start.After(latest)
			switch {
			case blocked && (listed > 0 || inRange && reason != ReasonOverrideClosed && reason != ReasonInactive):
				t.Fatalf("%s is blocked: listed %d, refused with %q", start.In(zone), listed, reason)
			case inRange && listed > 0 && reason != "":
				t.Fatalf("%s is listed, but refused: %s", start.In(zone), reason)
			case listed == 0 && reason == "":
				t.Fatalf("%s is not listed, but bookable", start.In(zone))
			case !inRange && reason != ReasonTooSoon && reason != ReasonTooFar && reason != ReasonInactive:
				t.Fatalf("%s is outside notice and horizon, but the reason is %q", start.In(zone), reason)
			case listed > 0 && listed != seats:
				t.Fatalf("%s is listed with %d free seats, the guarantee leaves %d", start.In(zone), listed, seats)
			case reason == ReasonTaken && seats > 0:
				t.Fatalf("%s is reported as taken, but the guarantee leaves %d seats", start.In(zone), seats)
			}
			if got := FreeSeats(kind, SpanOf(kind, listedSpecialist, start), taken); len(got) != seats {
				t.Fatalf("%s has the free seats %v, the guarantee leaves %d", start.In(zone), got, seats)
			}
		}
		for start := from; start.Before(to); start = start.Add(5 * time.Minute) {
			check(start)
		}
		for _, start := range starts {
			check(time.UnixMilli(start))
			check(time.UnixMilli(start + 1))
		}

		// A listing that is split into two parts equals the full listing, wherever it is split.
		cut := from.Add(time.Duration(rapid.Int64Range(0, int64(to.Sub(from))).Draw(t, "cut")))
		if len(starts) > 0 && rapid.Bool().Draw(t, "cut at a start") {
			cut = time.UnixMilli(rapid.SampledFrom(starts).Draw(t,
				"start")).Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "beside")))
		}
		before, after := calendar.Starts(nil, kind, from, cut), calendar.Starts(nil, kind, cut, to)
		if len(before) > 0 && !time.UnixMilli(before[len(before)-1]).Before(cut) || len(after) > 0 &&
			time.UnixMilli(after[0]).Before(cut) {
			t.Fatalf("cut at %s:\nbefore %v\nafter %v", cut, before, after)
		}
		if parts := slices.Concat(before, after); !slices.Equal(parts, starts) {
			t.Fatalf("cut at %s:\n got %v\nwant %v", cut, parts, starts)
		}

		// Only appointments within Around matter.
		first, last := Around(kind, from, to)
		near := slices.DeleteFunc(slices.Clone(taken), func(a store.Taken) bool {
			slot := a.SlotStart.Before(last) && first.Before(a.SlotEnd)
			busy := a.BusyStart.Before(last) && first.Before(a.BusyEnd)
			return !slot && !busy
		})
		if got := calendar.Open(nil, kind, from, to, near); !slices.Equal(got, openings) {
			t.Fatalf("with only the appointments of Around:\n got %v\nwant %v", got, openings)
		}
	})
}

// beyond counts the booked seats of a session that exceed its capacity, which was reduced later.
func beyond(t *store.AppointmentType, start time.Time, taken []store.Taken) int {
	seats := map[int]bool{}
	for _, a := range taken {
		if a.SpecialistID == listedSpecialist && a.AppointmentTypeID == t.ID && a.SlotStart.Equal(start) &&
			a.SlotEnd.Equal(start.Add(Minutes(t.DurationMinutes))) && a.Seat >= t.Capacity {
			seats[a.Seat] = true
		}
	}
	return len(seats)
}

// seatIsFree is the literal guarantee: no confirmed appointment conflicts with this seat.
func seatIsFree(kind *store.AppointmentType, start time.Time, seat int, taken []store.Taken) bool {
	span := SpanOf(kind, listedSpecialist, start)
	span.Seat = seat
	for i := range taken {
		other := TakenSpan(&taken[i])
		if span.Conflicts(&other) {
			return false
		}
	}
	return true
}

// meetsBlock is the literal taken-time predicate, with a block as the taken time.
func meetsBlock(kind *store.AppointmentType, start time.Time, blocks []store.Block) bool {
	span := SpanOf(kind, listedSpecialist, start)
	return slices.ContainsFunc(blocks, func(b store.Block) bool {
		return span.Conflicts(&holds.Span{SpecialistID: listedSpecialist, SlotStart: b.Start, SlotEnd: b.End,
			BusyStart: b.Start, BusyEnd: b.End})
	})
}

// drawBlocks draws blocks around a date in any order. Some overlap or touch.
func drawBlocks(t *rapid.T, date store.Date) []store.Block {
	midnight := time.Date(date.Year, date.Month, date.Day, 0, 0, 0, 0, time.UTC)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) store.Block {
		start := midnight.Add(Minutes(5 * rapid.IntRange(-400, 500).Draw(t, "block start")))
		length := rapid.SampledFrom([]int{1, 5, 30, 60, 300, 2000}).Draw(t, "block length")
		return store.Block{SpecialistID: listedSpecialist, Start: start, End: start.Add(Minutes(length))}
	}), 0, 4).Draw(t, "blocks")
}

func drawCalendar(t *rapid.T, zone string, date store.Date, blocks []store.Block) *Calendar {
	window := rapid.Custom(func(t *rapid.T) store.Window {
		start := 5 * rapid.IntRange(0, 287).Draw(t, "start")
		end := min(1440, start+5*rapid.IntRange(1, 150).Draw(t, "length"))
		return store.Window{Start: store.TimeOfDay(start), End: store.TimeOfDay(end)}
	})
	var hours []store.WeeklyWindow
	for day := range store.Weekday(7) {
		for _, w := range rapid.SliceOfN(window, 0, 3).Draw(t, day.String()) {
			hours = append(hours, store.WeeklyWindow{Weekday: day, Window: w})
		}
	}
	var overrides []store.Override
	for offset := -1; offset <= 1; offset++ {
		if rapid.IntRange(0, 3).Draw(t, "overridden") > 0 {
			continue
		}
		o := store.Override{Date: date.AddDays(offset), Closed: rapid.Bool().Draw(t, "closed")}
		if !o.Closed {
			o.Hours = rapid.SliceOfN(window, 0, 2).Draw(t, "hours")
		}
		overrides = append(overrides, o)
	}
	active := rapid.IntRange(0, 19).Draw(t, "active") > 0
	calendar, err := NewCalendar(store.Specialist{ID: listedSpecialist, Timezone: zone, Active: active}, hours,
		overrides, blocks)
	if err != nil {
		t.Fatal(err)
	}
	return calendar
}

func drawAppointmentType(t *rapid.T) *store.AppointmentType {
	return &store.AppointmentType{
		ID:                  "checkup",
		DurationMinutes:     rapid.SampledFrom([]int{5, 15, 20, 30, 45, 50, 60, 90, 240, 1440}).Draw(t, "duration"),
		SlotStepMinutes:     rapid.SampledFrom([]int{0, 1, 5, 7, 15, 30, 45, 60, 90}).Draw(t, "step"),
		BufferBeforeMinutes: rapid.SampledFrom([]int{0, 0, 5, 10, 45}).Draw(t, "before"),
		BufferAfterMinutes:  rapid.SampledFrom([]int{0, 0, 5, 10, 45}).Draw(t, "after"),
		MinNoticeMinutes:    rapid.SampledFrom([]int{0, 0, 30, 600}).Draw(t, "notice"),
		HorizonDays:         rapid.SampledFrom([]int{0, 1, 2, 30}).Draw(t, "horizon"),
		Capacity:            rapid.SampledFrom([]int{1, 1, 2, 5}).Draw(t, "capacity"),
		Active:              rapid.IntRange(0, 19).Draw(t, "type active") > 0,
	}
}

// drawTaken draws appointments of the listed type and of other types, including overbooked ones that overlap others, in
// the order of store.Taken. Many of them start exactly at the start time of a slot, several at the same one, so that
// sessions fill up and conflict.
func drawTaken(t *rapid.T, kind *store.AppointmentType, from, to time.Time, starts []int64) []store.Taken {
	span := int(to.Sub(from) / time.Minute)
	appointment := rapid.Custom(func(t *rapid.T) store.Taken {
		length, id := kind.DurationMinutes, kind.ID
		if rapid.IntRange(0, 2).Draw(t, "other") == 0 {
			length, id = rapid.SampledFrom([]int{1, 10, 30, 60, 300, kind.DurationMinutes}).Draw(t, "length"), "other"
		} else if rapid.IntRange(0, 7).Draw(t, "old length") == 0 {
			length += 10
		}
		start := from.Add(Minutes(5 * rapid.IntRange(-30, span/5).Draw(t, "start")))
		if len(starts) > 0 && rapid.IntRange(0, 3).Draw(t, "at a slot") > 0 {
			start = time.UnixMilli(rapid.SampledFrom(starts).Draw(t, "slot")).UTC()
		}
		return store.Taken{
			AppointmentTypeID: id, SpecialistID: listedSpecialist,
			Seat: rapid.IntRange(0, kind.Capacity).Draw(t, "seat"), Overbook: rapid.Bool().Draw(t, "overbook"),
			SlotStart: start, SlotEnd: start.Add(Minutes(length)),
			BusyStart: start.Add(-Minutes(rapid.SampledFrom([]int{0, 0, 5, 90}).Draw(t, "busy before"))),
			BusyEnd:   start.Add(Minutes(length + rapid.SampledFrom([]int{0, 0, 5, 90}).Draw(t, "busy after"))),
		}
	})
	taken := rapid.SliceOfN(appointment, 0, 12).Draw(t, "taken")
	for _, a := range slices.Clone(taken[:min(len(taken), 3)]) {
		for _, a.Seat = range rapid.SliceOfN(rapid.IntRange(0, kind.Capacity), 0, kind.Capacity).Draw(t, "more seats") {
			taken = append(taken, a)
		}
	}
	slices.SortFunc(taken, func(a, b store.Taken) int {
		if c := a.SlotStart.Compare(b.SlotStart); c != 0 {
			return c
		}
		return a.Seat - b.Seat
	})
	return taken
}

func TestPoolIsTheUnionOfItsCalendars(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		place := rapid.SampledFrom(agreementZones).Draw(t, "place")
		kind := drawAppointmentType(t)
		var calendars []*Calendar
		var taken []store.Taken
		for _, id := range []string{"cleo", "ada", "bob"}[:rapid.IntRange(0, 3).Draw(t, "specialists")] {
			c := drawCalendar(t, place.name, place.date, drawBlocks(t, place.date))
			c.specialistID = id
			calendars = append(calendars, c)
			begin, end := StartOfDay(c.Zone(), place.date), StartOfDay(c.Zone(), place.date.AddDays(1))
			for _, a := range drawTaken(t, kind, begin, end, c.Starts(nil, kind, begin, end)) {
				a.SpecialistID = id
				taken = append(taken, a)
			}
		}
		from := time.Date(place.date.Year, place.date.Month, place.date.Day-1, 0, 0, 0, 0, time.UTC)
		to := from.Add(72 * time.Hour)
		type room struct {
			start int64
			id    string
			seats int
		}
		var got, want []room
		for _, c := range calendars {
			for _, o := range c.Open(nil, kind, from, to, taken) {
				want = append(want, room{o.Start, c.SpecialistID(), o.Free})
			}
		}
		slices.SortStableFunc(want, func(a, b room) int { return int(a.start - b.start) })
		previous := int64(-1)
		for _, s := range Pool(calendars, kind, from, to, taken) {
			if s.Start.UnixMilli() <= previous || len(s.Free) == 0 {
				t.Fatalf("slot %s with %v: out of order, duplicate or empty", s.Start, s.Free)
			}
			previous = s.Start.UnixMilli()
			for _, f := range s.Free {
				got = append(got, room{previous, f.SpecialistID, f.Seats})
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("pooled\n got %v\nwant %v", got, want)
		}
	})
}
