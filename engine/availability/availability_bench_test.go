package availability

import (
	"fmt"
	"testing"
	"time"

	"holdfast/store"
)

// BenchmarkPool measures the design target of at most 2 ms for thirty days, pooled over twenty specialists with full
// calendars (sixteen slots on each of thirty days, nine in ten of them booked), without a cache.
func BenchmarkPool(b *testing.B) {
	for _, booked := range []int{0, 90, 100} {
		b.Run(fmt.Sprintf("booked=%d%%", booked), func(b *testing.B) {
			calendars, kind, from, to, taken := fullCalendars(b, 20, 30, booked)
			b.ReportAllocs()
			for b.Loop() {
				Pool(calendars, kind, from, to, taken)
			}
			b.ReportMetric(float64(len(taken)), "appointments")
		})
	}
}

// BenchmarkBookable measures the check for one hold or booking.
func BenchmarkBookable(b *testing.B) {
	calendars, kind, from, _, taken := fullCalendars(b, 1, 1, 90)
	now, start := from, time.UnixMilli(calendars[0].Starts(nil, kind, from, from.Add(24*time.Hour))[15])
	b.ReportAllocs()
	for b.Loop() {
		calendars[0].Bookable(kind, start, taken, now)
	}
}

// BenchmarkNewCalendar measures the cost per specialist of a schedule change, most of which is the time to load the
// zone.
func BenchmarkNewCalendar(b *testing.B) {
	hours := everyDay(9*60, 17*60)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewCalendar(store.Specialist{ID: "ada", Timezone: "Europe/Berlin", Active: true}, hours, nil,
			nil); err != nil {
			b.Fatal(err)
		}
	}
}

// fullCalendars returns specialists who work from 9 to 17 every day in half-hour slots, with booked percent of the
// slots taken.
func fullCalendars(tb testing.TB, specialists, days,
	booked int) ([]*Calendar, *store.AppointmentType, time.Time, time.Time, []store.Taken) {
	tb.Helper()
	kind := &store.AppointmentType{ID: "checkup", DurationMinutes: 30, SlotStepMinutes: 30, BufferAfterMinutes: 0,
		Capacity: 1, HorizonDays: 365, Active: true}
	from := store.Date{Year: 2026, Month: 10, Day: 10} // the range contains a clock change
	var (
		calendars []*Calendar
		taken     []store.Taken
		begin     time.Time
		end       time.Time
	)
	for i := range specialists {
		c, err := NewCalendar(store.Specialist{ID: fmt.Sprintf("specialist-%02d", i), Timezone: "Europe/Berlin",
			Active: true}, everyDay(9*60, 17*60), nil, nil)
		if err != nil {
			tb.Fatal(err)
		}
		calendars = append(calendars, c)
		begin, end = StartOfDay(c.Zone(), from), StartOfDay(c.Zone(), from.AddDays(days))
		for k, ms := range c.Starts(nil, kind, begin, end) {
			if (k*7+i*3)%10*10 >= booked {
				continue
			}
			span := SpanOf(kind, c.SpecialistID(), time.UnixMilli(ms))
			taken = append(taken, store.Taken{
				AppointmentID: fmt.Sprintf("a-%d-%d", i, k), AppointmentTypeID: kind.ID, SpecialistID: c.SpecialistID(),
				SlotStart: span.SlotStart, SlotEnd: span.SlotEnd, BusyStart: span.BusyStart, BusyEnd: span.BusyEnd,
			})
		}
	}
	return calendars, kind, begin, end, taken
}

func everyDay(start, end store.TimeOfDay) (hours []store.WeeklyWindow) {
	for day := range store.Weekday(7) {
		hours = append(hours, store.WeeklyWindow{Weekday: day, Window: store.Window{Start: start, End: end}})
	}
	return hours
}
