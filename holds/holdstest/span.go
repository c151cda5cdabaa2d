package holdstest

import (
	"math/rand/v2"
	"time"

	"holdfast/holds"
)

// interval is a span in text form: the slot, and the busy interval if there are buffers.
type interval struct {
	kind, specialist   string
	start, end         string
	busyStart, busyEnd string
	seat               int
}

func (i interval) of(p *proof) holds.Span {
	p.Helper()
	s := holds.Span{AppointmentTypeID: i.kind, SpecialistID: i.specialist, Seat: i.seat,
		SlotStart: p.at(i.start), SlotEnd: p.at(i.end), BusyStart: p.at(i.start), BusyEnd: p.at(i.end)}
	if i.busyStart != "" {
		s.BusyStart = p.at(i.busyStart)
	}
	if i.busyEnd != "" {
		s.BusyEnd = p.at(i.busyEnd)
	}
	return s
}

// conflicts lists pairs of spans with the expected result of Conflicts. The test claims each pair in both orders.
var conflicts = []struct {
	name       string
	conflict   bool
	one, other interval
}{
	{"the same slot conflicts", true,
		interval{kind: "checkup", specialist: "ada", start: "09:00", end: "09:30"},
		interval{kind: "checkup", specialist: "ada", start: "09:00", end: "09:30"}},
	{"the same slot of another type conflicts", true,
		interval{kind: "checkup", specialist: "ada", start: "09:00", end: "09:30"},
		interval{kind: "extraction", specialist: "ada", start: "09:00", end: "09:30"}},
	{"the same slot of another specialist does not", false,
		interval{kind: "checkup", specialist: "ada", start: "09:00", end: "09:30"},
		interval{kind: "checkup", specialist: "bob", start: "09:00", end: "09:30"}},
	{"slots that overlap by a part conflict", true,
		interval{kind: "checkup", specialist: "ada", start: "09:00", end: "09:30"},
		interval{kind: "checkup", specialist: "ada", start: "09:29", end: "09:59"}},
	{"a slot within another conflicts", true,
		interval{kind: "extraction", specialist: "ada", start: "09:00", end: "11:00"},
		interval{kind: "checkup", specialist: "ada", start: "10:00", end: "10:15"}},
	{"slots that touch do not", false,
		interval{kind: "checkup", specialist: "ada", start: "09:00", end: "09:30"},
		interval{kind: "checkup", specialist: "ada", start: "09:30", end: "10:00"}},
	{"a slot in another's after-buffer conflicts", true,
		interval{kind: "surgery", specialist: "ada", start: "09:00", end: "09:30", busyEnd: "09:45"},
		interval{kind: "checkup", specialist: "ada", start: "09:30", end: "10:00"}},
	{"a slot that ends in another's before-buffer conflicts", true,
		interval{kind: "surgery", specialist: "ada", start: "10:00", end: "10:30", busyStart: "09:40"},
		interval{kind: "checkup", specialist: "ada", start: "09:15", end: "09:45"}},
	{"a slot right after another's buffer does not", false,
		interval{kind: "surgery", specialist: "ada", start: "09:00", end: "09:30", busyEnd: "09:45"},
		interval{kind: "checkup", specialist: "ada", start: "09:45", end: "10:15"}},
	{"two buffers may overlap each other, the gap is the larger of them", false,
		interval{kind: "surgery", specialist: "ada", start: "09:00", end: "09:30", busyEnd: "09:45"},
		interval{kind: "surgery", specialist: "ada", start: "09:45", end: "10:15", busyStart: "09:35"}},
	{"a gap smaller than the larger buffer conflicts", true,
		interval{kind: "surgery", specialist: "ada", start: "09:00", end: "09:30", busyEnd: "09:40"},
		interval{kind: "surgery", specialist: "ada", start: "09:45", end: "10:15", busyStart: "09:25"}},
	{"two seats of one session do not conflict", false,
		interval{kind: "yoga", specialist: "ada", start: "09:00", end: "10:00", seat: 0},
		interval{kind: "yoga", specialist: "ada", start: "09:00", end: "10:00", seat: 1}},
	{"two seats of one session with buffers do not", false,
		interval{kind: "yoga", specialist: "ada", start: "09:00", end: "10:00", busyStart: "08:50", busyEnd: "10:10",
			seat: 0},
		interval{kind: "yoga", specialist: "ada", start: "09:00", end: "10:00", busyStart: "08:50", busyEnd: "10:10",
			seat: 1}},
	{"one seat of one session conflicts", true,
		interval{kind: "yoga", specialist: "ada", start: "09:00", end: "10:00", seat: 3},
		interval{kind: "yoga", specialist: "ada", start: "09:00", end: "10:00", seat: 3}},
	{"two seats of sessions of different types conflict", true,
		interval{kind: "yoga", specialist: "ada", start: "09:00", end: "10:00", seat: 0},
		interval{kind: "pilates", specialist: "ada", start: "09:00", end: "10:00", seat: 1}},
	{"two seats of sessions that start apart conflict", true,
		interval{kind: "yoga", specialist: "ada", start: "09:00", end: "10:00", seat: 0},
		interval{kind: "yoga", specialist: "ada", start: "09:30", end: "10:30", seat: 1}},
	{"two seats of sessions that end apart conflict", true,
		interval{kind: "yoga", specialist: "ada", start: "09:00", end: "10:00", seat: 0},
		interval{kind: "yoga", specialist: "ada", start: "09:00", end: "10:30", seat: 1}},
	{"a slot that meets the end of a very long one conflicts", true,
		interval{kind: "surgery", specialist: "ada", start: "00:30", end: "13:00", busyStart: "00:00",
			busyEnd: "14:00"},
		interval{kind: "checkup", specialist: "ada", start: "13:55", end: "14:25"}},
}

// randomSpan returns a span of one of five types for one of a few specialists, with and without buffers and seats,
// within two hours.
func randomSpan(rnd *rand.Rand, day time.Time) holds.Span {
	kinds := []struct {
		id                    string
		length, before, after int
		seats                 int
	}{{"quarter", 15, 0, 0, 1}, {"half", 30, 0, 10, 1}, {"hour", 60, 15, 15, 1}, {"long", 90, 5, 0, 1},
		{"group", 45, 10, 10, 3}}
	kind := kinds[rnd.IntN(len(kinds))]
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	start := day.Add(9*time.Hour + minutes(5*rnd.IntN(24*4)))
	end := start.Add(minutes(kind.length))
	return holds.Span{AppointmentTypeID: kind.id, SpecialistID: []string{"ada", "bob", "cora"}[rnd.IntN(3)],
		SlotStart: start, SlotEnd: end, BusyStart: start.Add(-minutes(kind.before)),
		BusyEnd: end.Add(minutes(kind.after)),
		Seat:    rnd.IntN(kind.seats)}
}
