package practice_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/agent"
	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/holds/memory"
	"holdfast/store"
)

// listing is the state of one start time in every place that shows it.
type listing struct {
	agents, page bool // whether the start is offered to agents, and on the page
	hold         error
	reason       availability.Reason
}

// says queries the state of a start time in every way.
func says(p *enginetest.TestPractice, start time.Time) (l listing) {
	p.T.Helper()
	ctx := p.T.Context()
	slots, err := p.Agent.Slots(ctx, agent.SlotsRequest{AppointmentTypeID: "cleaning", From: date(p, start), Days: 1,
		Count: 50})
	if err != nil {
		p.T.Fatal(err)
	}
	l.agents = slices.ContainsFunc(slots.Slots, func(s agent.Slot) bool { return s.Start.Equal(start) })
	list, err := p.Booking.Timeslots(ctx, booking.TimeslotsRequest{AppointmentTypeID: "cleaning",
		From: date(p, start), To: date(p, start).AddDays(1)})
	if err != nil {
		p.T.Fatal(err)
	}
	l.page = slices.ContainsFunc(list.Slots, func(s booking.Timeslot) bool { return s.Start.Equal(start) })
	h, err := p.Booking.Hold(ctx, booking.HoldRequest{AppointmentTypeID: "cleaning", SlotStart: start,
		Client: enginetest.Client(7)})
	if l.hold = err; err == nil {
		if _, err := p.Booking.ReleaseHold(ctx, h.ID, enginetest.Client(7)); err != nil {
			p.T.Fatal(err)
		}
	}
	x, err := p.Booking.Explain(ctx, "cleaning", "chair0", start, "")
	if err != nil || len(x) != 1 {
		p.T.Fatalf("explained: %+v, %v", x, err)
	}
	l.reason = x[0].Reason
	return l
}

func date(p *enginetest.TestPractice, at time.Time) store.Date {
	return store.DateOf(at.In(enginetest.PracticeZone))
}

// TestRefusedSlotIsClosed: the practice-management system refused a slot that it lists. Holdfast does not offer the
// slot to any agent or on any page until a later listing, or the passage of time, opens it again.
func TestRefusedSlotIsClosed(t *testing.T) {
	t.Parallel()
	open := listing{agents: true, page: true}
	closed := func(t *testing.T, what string, got listing) {
		t.Helper()
		if got.agents || got.page || !errors.Is(got.hold, store.ErrSlotTaken) ||
			got.reason != availability.ReasonTaken {
			t.Errorf("%s: got %+v, want the slot not offered, and taken", what, got)
		}
	}
	for name, outcome := range map[string]upstreamtest.Outcome{"taken": upstreamtest.SlotTaken,
		"booked": upstreamtest.AlreadyBooked} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := enginetest.NewPractice(t,
					enginetest.PracticeOptions{Upstream: &upstreamtest.Options{Columns: enginetest.AlwaysOpen()}})
				start := p.SlotAt(20)
				if got := says(p, start); got != open {
					t.Fatalf("before: got %+v, want the slot offered", got)
				}
				p.Upstream.Outcomes(outcome)
				a := p.Ask(p.Wish(20))
				if a.Outcome != agent.Refused || len(a.Alternatives) != 3 {
					t.Fatalf("got %+v, want a refusal with three alternatives", a)
				}
				if slices.ContainsFunc(a.Alternatives, func(s agent.Slot) bool { return s.Start.Equal(start) }) {
					t.Error("the alternatives of the refused slot include it")
				}
				closed(t, "a moment after", says(p, start))
				visitor := enginetest.BookingOf(1, "cleaning")
				visitor.SlotStart, visitor.SpecialistID = start, "chair0"
				if _, err := p.Booking.Book(t.Context(), visitor); !errors.Is(err, store.ErrSlotTaken) {
					t.Errorf("a visitor books it: got %v, want ErrSlotTaken", err)
				}
				if got := says(p, p.SlotAt(21)); got != open {
					t.Errorf("the next slot: got %+v, want it offered", got)
				}
				time.Sleep(61 * time.Second)
				says(p, start) // fetches the listing of the practice-management system, which contains the start
				if got := says(p, start); got != open {
					t.Errorf("after a list of openings that has it: got %+v, want it offered", got)
				}
			})
		})
	}
	t.Run("without a new list of openings", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
			start := p.SlotAt(20)
			p.Upstream.Outcomes(upstreamtest.SlotTaken)
			p.Ask(p.Wish(20))
			time.Sleep(9 * time.Minute)
			closed(t, "after nine minutes", says(p, start))
			time.Sleep(61 * time.Second)
			if got := says(p, start); got != (listing{page: true}) {
				t.Errorf("after ten minutes: got %+v, want it offered here", got)
			}
		})
	})
}

// TestClosureSurvivesRestart: after a restart, the engine does not offer a start time that was refused before the
// restart. It opens the start time once the refusal is old enough, and changes the listing's generation.
func TestClosureSurvivesRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := enginetest.NoticeClinic(t)
		ctx, start := t.Context(), c.Start
		c.Booking.CloseTime(ctx, "ada", "refused", start, start.Add(30*time.Minute))
		time.Sleep(4 * time.Minute)
		live := memory.New(memory.Options{})
		again, err := engine.New(ctx, engine.Options{Store: c.Store, Holds: live})
		if err != nil {
			t.Fatal(err)
		}
		run, stop := context.WithCancel(ctx)
		var running sync.WaitGroup
		running.Go(func() { again.Run(run) })
		defer func() {
			stop()
			running.Wait()
			if err := live.Close(); err != nil {
				t.Error(err)
			}
		}()
		offered := func() (bool, uint64) {
			list, err := again.Booking.Timeslots(ctx, booking.TimeslotsRequest{AppointmentTypeID: "checkup",
				SpecialistID: "ada", From: store.DateOf(start), To: store.DateOf(start).AddDays(1)})
			if err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(list.Slots, func(s booking.Timeslot) bool {
				return s.Start.Equal(start)
			}), list.Generation
		}
		is, before := offered()
		if closed := again.Booking.Closed(); is || len(closed) != 1 || closed[0].ID != "refused" {
			t.Errorf("after the restart: offered %t, closed %+v; want it closed", is, closed)
		}
		time.Sleep(5*time.Minute + 59*time.Second)
		if is, _ := offered(); is {
			t.Error("one second before the ten minutes end, the slot is offered")
		}
		time.Sleep(2 * time.Second)
		is, after := offered()
		if rows, err := c.Store.Closures(ctx); !is || after == before || err != nil || len(rows) != 0 {
			t.Errorf("after ten minutes: offered %t, generation %d after %d, rows %v, %v; want it offered, and an event", is,
				after, before, rows, err)
		}
	})
}
