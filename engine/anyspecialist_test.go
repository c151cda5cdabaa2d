package engine_test

import (
	"errors"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/store"
)

// Priorities whose order is the reverse of the ids' order, and the same order. A type lists its specialists by priority.
var priorityOrders = map[string]map[string]int{
	"by id":      {"ada": 30, "ben": 20, "cem": 10},
	"against id": {"ada": 10, "ben": 20, "cem": 30},
}

// An appointment outside the guarantee takes its time as any other does: the database would not refuse a second booking.
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

// A visit looks at the specialists of its types in the order of their priorities, too.
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
