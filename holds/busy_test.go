package holds_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"holdfast/holds"
)

// TestTicksNeverRefuseFreeTime compares the runs of ticks with each tick's own times, before and after 1970. A tick is
// inside an interval if the whole tick is inside it, and touches the interval if any part of the tick does. So a booked
// tick that a claim touches is always a conflict.
func TestTicksNeverRefuseFreeTime(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 2_000 {
		base := time.Unix(int64(rnd.IntN(4)-2)*int64(holds.BusyTick/time.Second), 0)
		from := base.Add(time.Duration(rnd.Int64N(int64(2 * holds.BusyTick))))
		if rnd.IntN(3) == 0 {
			from = base // an edge of a tick
		}
		to := from.Add(time.Duration(rnd.Int64N(int64(4 * holds.BusyTick))))
		inside, touching := holds.TicksInside(from, to), holds.TicksTouching(from, to)
		for tick := int64(-12); tick < 24; tick++ {
			start := time.Unix(tick*int64(holds.BusyTick/time.Second), 0)
			end := start.Add(holds.BusyTick)
			wantInside := !start.Before(from) && !end.After(to)
			wantTouching := start.Before(to) && from.Before(end) && from.Before(to)
			if got := inside.First <= tick && tick < inside.End; got != wantInside {
				t.Fatalf("[%s, %s): tick %d inside %t, want %t", from, to, tick, got, wantInside)
			}
			if got := touching.First <= tick && tick < touching.End; got != wantTouching {
				t.Fatalf("[%s, %s): tick %d touches %t, want %t", from, to, tick, got, wantTouching)
			}
		}
	}
}

// TestTicksAreCutAtMidnight: Days splits a run by UTC day, and together the parts contain every tick.
func TestTicksAreCutAtMidnight(t *testing.T) {
	t.Parallel()
	for _, first := range []int64{0, 1, 287, 288, -1, -288, -289, 20_600*288 + 286} {
		for _, length := range []int64{0, 1, 2, 288, 289, 700} {
			run := holds.Ticks{First: first, End: first + length}
			next, lastDay := first, int64(-1<<62)
			run.Days(func(day int64, within holds.Ticks) {
				if day <= lastDay || within.First < 0 || within.First >= within.End ||
					within.End > holds.BusyTicksOfDay {
					t.Errorf("%v: day %d after %d has %v", run, day, lastDay, within)
				}
				if day*holds.BusyTicksOfDay+within.First != next {
					t.Errorf("%v: day %d begins at %v, want tick %d", run, day, within, next)
				}
				next, lastDay = day*holds.BusyTicksOfDay+within.End, day
			})
			if next != run.End {
				t.Errorf("%v: the last day ends at tick %d", run, next)
			}
		}
	}
}

// TestMovesAreOfClaimsSpecialist: a claim does not check the time of the appointments that it moves, unless they
// belong to another specialist.
func TestMovesAreOfClaimsSpecialist(t *testing.T) {
	t.Parallel()
	moved := holds.Booked{AppointmentID: "1", SpecialistID: "ada", SlotStart: nine, SlotEnd: nine.Add(minutes(30))}
	others := moved
	others.AppointmentID, others.SpecialistID = "2", "ben"
	c := holds.Claim{Span: span("checkup", 15, 45, 10, 0, 0), Moving: []holds.Booked{others, moved}}
	own := c.Moves()
	if len(own) != 1 || own[0] != moved.Ticks() || own[0].End-own[0].First != 6 {
		t.Errorf("got %v, want the 6 ticks of %v", own, moved.Ticks())
	}
	if got := c.Ticks(); got != holds.TicksTouching(nine.Add(minutes(5)), nine.Add(minutes(45))) {
		t.Errorf("the claim checks %v; want its busy interval", got)
	}
}
