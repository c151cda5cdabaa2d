package agent_test

import (
	"testing"
	"time"

	"holdfast/engine/agent"
	"holdfast/engine/enginetest"
	"holdfast/store"
)

// TestExplainAndAgentSlotsSeeOverbookedTime: overbooked appointments occupy the time of all specialists but one. Both
// the "why not" explanation and the agent's slots offer only that specialist, whatever the order of priority.
func TestExplainAndAgentSlotsSeeOverbookedTime(t *testing.T) {
	t.Parallel()
	for name, priorities := range enginetest.PriorityOrders {
		free, others := enginetest.Lowest(priorities)
		t.Run(name, func(t *testing.T) {
			c := enginetest.NewClinic(t, priorities)
			for n, specialist := range others {
				r := enginetest.BookingOf(n, "checkup")
				r.SlotStart, r.SpecialistID, r.Source, r.OverbookReason = c.Start, specialist, store.SourceStaff, "pain"
				c.MustBook(r)
			}
			c.Slot(9, "checkup", c.Start.Add(time.Hour), "") // the whole day is in memory now
			list, err := c.Booking.Explain(t.Context(), "checkup", "", c.Start)
			if err != nil || len(list) != 3 {
				t.Fatalf("explanation: got %+v, %v; want three answers", list, err)
			}
			for _, x := range list {
				if x.Bookable != (x.SpecialistID == free) {
					t.Errorf("explanation: got %+v, want only %s bookable", x, free)
				}
			}
			offered := func() (found string) {
				t.Helper()
				slots, err := c.Agent.Slots(t.Context(), agent.SlotsRequest{AppointmentTypeID: "checkup",
					From: store.DateOf(c.Start), Days: 1, Count: 48})
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range slots.Slots {
					if s.Start.Equal(c.Start) {
						found = s.ScheduleColumnGUID
					}
				}
				return found
			}
			if got := offered(); got != free {
				t.Errorf("an agent is offered %q, want %s", got, free)
			}
			r := enginetest.BookingOf(3, "checkup")
			r.SlotStart, r.SpecialistID = c.Start, free
			c.MustBook(r)
			if got := offered(); got != "" {
				t.Errorf("an agent is offered %q, although all specialists are booked then", got)
			}
		})
	}
}
