package engine_test

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
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/holds/memory"
	"holdfast/store"
)

// listing is the state of one start at every place that reports it.
type listing struct {
	agents, page bool // offered
	hold         error
	reason       availability.Reason
}

// says queries the state of a start everywhere.
func (p *testPractice) says(start time.Time) (l listing) {
	p.t.Helper()
	ctx := p.t.Context()
	slots, err := p.Agent.Slots(ctx, agent.SlotsRequest{AppointmentTypeID: "cleaning", From: p.date(start), Days: 1, Count: 50})
	if err != nil {
		p.t.Fatal(err)
	}
	l.agents = slices.ContainsFunc(slots.Slots, func(s agent.Slot) bool { return s.Start.Equal(start) })
	list, err := p.Booking.Timeslots(ctx, booking.TimeslotsRequest{AppointmentTypeID: "cleaning", From: p.date(start), To: p.date(start).AddDays(1)})
	if err != nil {
		p.t.Fatal(err)
	}
	l.page = slices.ContainsFunc(list.Slots, func(s booking.Timeslot) bool { return s.Start.Equal(start) })
	h, err := p.Booking.Hold(ctx, booking.HoldRequest{AppointmentTypeID: "cleaning", SlotStart: start, Client: client(7)})
	if l.hold = err; err == nil {
		if _, err := p.Booking.ReleaseHold(ctx, h.ID, client(7)); err != nil {
			p.t.Fatal(err)
		}
	}
	x, err := p.Booking.Explain(ctx, "cleaning", "chair0", start)
	if err != nil || len(x) != 1 {
		p.t.Fatalf("explained: %+v, %v", x, err)
	}
	l.reason = x[0].Reason
	return l
}

func (p *testPractice) date(at time.Time) store.Date { return store.DateOf(at.In(zoneOfPractice)) }

// always is a chair that the practice-management system lists every day.
func always() []upstreamtest.Column {
	return []upstreamtest.Column{{ScheduleViewGUID: viewGUID, ScheduleColumnGUID: columnGUID(0), Weekdays: []time.Weekday{0, 1, 2, 3, 4, 5, 6}}}
}

// TestRefusedSlotIsClosed: the practice-management system refused a slot that it lists. Holdfast does not offer the
// slot again to any agent or on any page, until a later listing or the passing of time opens it.
func TestRefusedSlotIsClosed(t *testing.T) {
	open := listing{agents: true, page: true}
	closed := func(t *testing.T, what string, got listing) {
		t.Helper()
		if got.agents || got.page || !errors.Is(got.hold, store.ErrSlotTaken) || got.reason != availability.ReasonTaken {
			t.Errorf("%s: got %+v, want it offered nowhere, and taken", what, got)
		}
	}
	for name, outcome := range map[string]upstreamtest.Outcome{"taken": upstreamtest.SlotTaken, "booked": upstreamtest.AlreadyBooked} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPractice(t, practiceOptions{upstream: &upstreamtest.Options{Columns: always()}})
				start := p.slotAt(20)
				if got := p.says(start); got != open {
					t.Fatalf("before: got %+v, want it open", got)
				}
				p.upstream.Outcomes(outcome)
				a := p.ask(p.wish(20))
				if a.Outcome != agent.Refused || len(a.Alternatives) != 3 {
					t.Fatalf("got %+v, want it refused with three alternatives", a)
				}
				if slices.ContainsFunc(a.Alternatives, func(s agent.Slot) bool { return s.Start.Equal(start) }) {
					t.Error("the slot that was refused is an alternative to itself")
				}
				closed(t, "a moment after", p.says(start))
				visitor := bookingOf(1, "cleaning")
				visitor.SlotStart, visitor.SpecialistID = start, "chair0"
				if _, err := p.Booking.Book(t.Context(), visitor); !errors.Is(err, store.ErrSlotTaken) {
					t.Errorf("a visitor books it: got %v, want ErrSlotTaken", err)
				}
				if got := p.says(p.slotAt(21)); got != open {
					t.Errorf("the next slot: got %+v, want it open", got)
				}
				time.Sleep(61 * time.Second)
				p.says(start) // fetches the listing of the practice-management system, which contains the start
				if got := p.says(start); got != open {
					t.Errorf("after a listing that has it: got %+v, want it open", got)
				}
			})
		})
	}
	t.Run("and nobody lists it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPractice(t, practiceOptions{upstream: &upstreamtest.Options{}})
			start := p.slotAt(20)
			p.upstream.Outcomes(upstreamtest.SlotTaken)
			p.ask(p.wish(20))
			time.Sleep(9 * time.Minute)
			closed(t, "after nine minutes", p.says(start))
			time.Sleep(61 * time.Second)
			if got := p.says(start); got != (listing{page: true}) {
				t.Errorf("after ten minutes: got %+v, want it open here", got)
			}
		})
	})
}

// TestClosureSurvivesRestart: after a restart the engine does not offer a start that was refused before. It opens the
// start when the refusal is old enough, and changes the generation of the listing.
func TestClosureSurvivesRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := noticeClinic(t)
		ctx, start := t.Context(), c.start
		c.Booking.CloseTime(ctx, "ada", "refused", start, start.Add(30*time.Minute))
		time.Sleep(4 * time.Minute)
		live := memory.New(memory.Options{})
		again, err := engine.New(ctx, engine.Options{Store: c.store, Holds: live})
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
			list, err := again.Booking.Timeslots(ctx, booking.TimeslotsRequest{AppointmentTypeID: "checkup", SpecialistID: "ada", From: store.DateOf(start), To: store.DateOf(start).AddDays(1)})
			if err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(list.Slots, func(s booking.Timeslot) bool { return s.Start.Equal(start) }), list.Generation
		}
		is, before := offered()
		if closed := again.Booking.Closed(); is || len(closed) != 1 || closed[0].ID != "refused" {
			t.Errorf("after the restart: offered %t, closed %+v; want it closed", is, closed)
		}
		time.Sleep(5*time.Minute + 59*time.Second)
		if is, _ := offered(); is {
			t.Error("a second before ten minutes are over it is offered")
		}
		time.Sleep(2 * time.Second)
		is, after := offered()
		if rows, err := c.store.Closures(ctx); !is || after == before || err != nil || len(rows) != 0 {
			t.Errorf("after ten minutes: offered %t, generation %d after %d, rows %v, %v; want it open, and told", is, after, before, rows, err)
		}
	})
}
