package agent_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine/agent"
	"holdfast/engine/clinic"
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
			list, err := c.Booking.Explain(t.Context(), "checkup", "", c.Start, "")
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

// TestTypeThatAgentsDoNotOffer: an agent asks for a type that exists, but that only the desk books or approves. The
// error says so: it does not say that the clinic has no such type.
func TestTypeThatAgentsDoNotOffer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*clinic.AppointmentTypeEntry)
		id     string
		want   string
	}{
		"desk only": {func(k *clinic.AppointmentTypeEntry) { k.DeskOnly = true }, "cleaning", "agents do not offer"},
		"approval":  {func(k *clinic.AppointmentTypeEntry) { k.Approval = true }, "cleaning", "agents do not offer"},
		"unknown":   {func(*clinic.AppointmentTypeEntry) {}, "polish", "an appointment type of this clinic"},
	} {
		t.Run(name, func(t *testing.T) {
			p := enginetest.NewPractice(t, enginetest.PracticeOptions{File: func(f *clinic.File) {
				c.change(&f.AppointmentTypes[0])
			}})
			_, err := p.Agent.Slots(t.Context(), agent.SlotsRequest{AppointmentTypeID: c.id})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("slots: got %v, want it to say %q", err, c.want)
			}
			b := p.Wish(48)
			b.AppointmentTypeGUID = c.id
			if _, err := p.Agent.Book(t.Context(), enginetest.AgentKey, b); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("book: got %v, want it to say %q", err, c.want)
			}
		})
	}
}
