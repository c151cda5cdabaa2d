package engine_test

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/agent"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/holds"
	"holdfast/store"
)

// priorityOrders has priorities whose order is the reverse of the ids' order, and the same order. A type lists its
// specialists by priority.
var priorityOrders = map[string]map[string]int{
	"by id":      {"ada": 30, "ben": 20, "cem": 10},
	"against id": {"ada": 10, "ben": 20, "cem": 30},
}

// TestBookAnyRefusesOverbookedTime: an appointment outside the guarantee occupies its time like any other, although
// the database would not refuse a second booking.
func TestBookAnyRefusesOverbookedTime(t *testing.T) {
	for name, priorities := range priorityOrders {
		t.Run(name, func(t *testing.T) {
			c := newClinic(t, priorities)
			for n, specialist := range []string{"ada", "ben", "cem"} {
				r := bookingOf(n, "checkup")
				r.SlotStart, r.SpecialistID, r.Source, r.OverbookReason = c.start, specialist, store.SourceStaff, "pain"
				c.mustBook(r)
			}
			c.slot(9, "checkup", c.start.Add(time.Hour), "") // the whole day is in memory now
			events := c.events(holds.EventHold)
			if s := c.slot(9, "checkup", c.start, ""); s != nil {
				t.Errorf("the overbooked start is listed as %+v", s)
			}
			wantStarts(t, "booked in a poll", c.poll(9, "checkup", "", time.Time{}).Booked, c.start)
			any := bookingOf(9, "checkup")
			any.SlotStart = c.start
			if a, err := c.book(any); !errors.Is(err, store.ErrSlotTaken) {
				t.Errorf("a booking for any specialist: got %s with %s, %v; want %v", a.ID, a.SpecialistID, err, store.ErrSlotTaken)
			}
			if _, err := c.hold(9, "checkup", c.start, ""); !errors.Is(err, store.ErrSlotTaken) {
				t.Errorf("a hold of any specialist: got %v, want %v", err, store.ErrSlotTaken)
			}
			if got := events(); len(got) != 0 {
				t.Errorf("%d holds of taken time were published, first %+v", len(got), got[0])
			}
		})
	}
}

// TestVisitSlotsLeaveOutTakenTime: a visit, too, tries the specialists of its types in the order of their priorities.
func TestVisitSlotsLeaveOutTakenTime(t *testing.T) {
	for name, priorities := range priorityOrders {
		t.Run(name, func(t *testing.T) {
			c := newClinic(t, priorities)
			for n, specialist := range []string{"ada", "ben", "cem"} {
				r := bookingOf(n, "checkup")
				r.SlotStart, r.SpecialistID = c.start, specialist
				c.mustBook(r)
			}
			c.slot(9, "checkup", c.start.Add(time.Hour), "")
			if h, err := c.holdVisit(9, c.start, "", "checkup", "checkup"); !errors.Is(err, store.ErrSlotTaken) {
				t.Errorf("a visit at taken time: got %+v, %v; want %v", h, err, store.ErrSlotTaken)
			}
		})
	}
}

// TestMoveTakesAnotherSpecialistIfOwnIsHeld: a move without a named specialist takes any free one if the patient's
// own is held by another client, as the listing shows it.
func TestMoveTakesAnotherSpecialistIfOwnIsHeld(t *testing.T) {
	for name, priorities := range priorityOrders {
		t.Run(name, func(t *testing.T) {
			c := newClinic(t, priorities)
			r := bookingOf(1, "checkup")
			r.SlotStart, r.SpecialistID = c.start, "ben"
			a := c.mustBook(r)
			to := c.start.Add(time.Hour)
			c.mustHold(2, "checkup", to, "ben")
			moved, err := c.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: a.ID, SlotStart: to, Client: client(1), Actor: "client"})
			if err != nil || moved.SpecialistID == "ben" || !moved.SlotStart.Equal(to) {
				t.Fatalf("got %s at %s, %v; want another specialist at %s", moved.SpecialistID, moved.SlotStart, err, to)
			}
			// The appointment's own specialist comes first if free.
			back, err := c.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: a.ID, SlotStart: c.start, Client: client(1), Actor: "client"})
			if err != nil || back.SpecialistID != moved.SpecialistID {
				t.Errorf("got %s, %v; want %s again", back.SpecialistID, err, moved.SpecialistID)
			}
			// If other clients hold the time of all specialists, the move is refused with the instant at which the
			// first hold expires.
			for n, id := range []string{"ada", "cem"} {
				if id != back.SpecialistID {
					c.mustHold(3+n, "checkup", to, id)
				}
			}
			c.mustHold(9, "checkup", to, back.SpecialistID)
			var held *holds.HeldError
			if _, err := c.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: a.ID, SlotStart: to, Client: client(1), Actor: "client"}); !errors.As(err, &held) {
				t.Errorf("all are held: got %v, want a HeldError", err)
			}
		})
	}
}

// last returns the specialist of the lowest priority, and the others.
func last(priorities map[string]int) (lowest string, others []string) {
	byPriority := slices.SortedFunc(maps.Keys(priorities), func(a, b string) int { return cmp.Compare(priorities[a], priorities[b]) })
	return byPriority[0], byPriority[1:]
}

// TestExplainAndAgentSlotsSeeOverbookedTime: the answer to "why not" and the agent's slots, too, ask for the specialists
// of a type in the order of their priorities.
func TestExplainAndAgentSlotsSeeOverbookedTime(t *testing.T) {
	for name, priorities := range priorityOrders {
		free, others := last(priorities)
		t.Run(name, func(t *testing.T) {
			c := newClinic(t, priorities)
			for n, specialist := range others {
				r := bookingOf(n, "checkup")
				r.SlotStart, r.SpecialistID, r.Source, r.OverbookReason = c.start, specialist, store.SourceStaff, "pain"
				c.mustBook(r)
			}
			c.slot(9, "checkup", c.start.Add(time.Hour), "") // the whole day is in memory now
			list, err := c.Booking.Explain(t.Context(), "checkup", "", c.start)
			if err != nil || len(list) != 3 {
				t.Fatalf("why not: got %+v, %v; want three answers", list, err)
			}
			for _, x := range list {
				if x.Bookable != (x.SpecialistID == free) {
					t.Errorf("why not: got %+v, want that %s alone can be booked", x, free)
				}
			}
			offered := func() (found string) {
				t.Helper()
				slots, err := c.Agent.Slots(t.Context(), agent.SlotsRequest{AppointmentTypeID: "checkup", From: store.DateOf(c.start), Days: 1, Count: 48})
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range slots.Slots {
					if s.Start.Equal(c.start) {
						found = s.ScheduleColumnGUID
					}
				}
				return found
			}
			if got := offered(); got != free {
				t.Errorf("an agent is offered %q, want %s", got, free)
			}
			r := bookingOf(3, "checkup")
			r.SlotStart, r.SpecialistID = c.start, free
			c.mustBook(r)
			if got := offered(); got != "" {
				t.Errorf("an agent is offered %q at a time at which all are taken", got)
			}
		})
	}
}

// TestWaitlistOffersFreeSpecialist: an offer for any specialist names the one whose time became free, although all others
// come first by priority.
func TestWaitlistOffersFreeSpecialist(t *testing.T) {
	for name, priorities := range priorityOrders {
		free, others := last(priorities)
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := noticeClinic(t, engine.OffersToFiles)
				if _, err := c.Clinic.Import(t.Context(), "system", enginetest.ClinicFile(priorities)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(9 * time.Hour) // no offer is made at night
				for n, specialist := range others {
					r := bookingOf(n, "checkup")
					r.SlotStart, r.SpecialistID, r.Source, r.OverbookReason = c.start, specialist, store.SourceStaff, "pain"
					c.mustBook(r)
				}
				r := bookingOf(3, "checkup")
				r.SlotStart, r.SpecialistID, r.Source, r.Actor = c.start, free, store.SourceStaff, "user:desk"
				of := c.mustBook(r)
				c.slot(9, "checkup", c.start.Add(time.Hour), "")
				entry := c.waits(1, c.wish(c.start))
				c.wantOffered("while all are taken", entry, "waiting")
				events := c.events(holds.EventHold)
				if o, err := c.Waitlist.OfferByHand(t.Context(), entry.ID, "", c.start, "user:desk", nil); !errors.Is(err, store.ErrSlotTaken) {
					t.Errorf("offered by hand while all are taken: %+v, %v; want %v", o, err, store.ErrSlotTaken)
				}
				if got := events(); len(got) != 0 {
					t.Errorf("%d holds of taken time were published, first %+v", len(got), got[0])
				}
				c.mustCancel(of.ID)
				if o := c.openOffer(entry); o.SpecialistID != free || !o.SlotStart.Equal(c.start) {
					t.Errorf("offered is %s at %s, want %s at %s", o.SpecialistID, o.SlotStart, free, c.start)
				}
			})
		})
	}
}
