package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/agent"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// TestAgentSlotsNeedFreeRoom: the practice-management system lists the chair as open but has no data about the clinic's
// rooms. The only room is booked or held for another chair.
func TestAgentSlotsNeedFreeRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{
			Specialists: 2,
			Upstream:    &upstreamtest.Options{Columns: enginetest.AlwaysOpen()},
			File: func(f *clinic.File) {
				f.Specialists = append(f.Specialists, clinic.SpecialistEntry{ID: "room",
					Kind: "resource", Name: "Room", Timezone: "America/New_York", Active: true})
				f.AppointmentTypes[0].Needs = []store.Need{{"room"}}
			},
		})
		ask := func() []agent.Slot {
			t.Helper()
			got, err := p.Agent.Slots(t.Context(), agent.SlotsRequest{AppointmentTypeGUID: enginetest.TypeGUID,
				Count: 4})
			if err != nil || len(got.Slots) != 4 {
				t.Fatalf("slots: %+v, %v", got, err)
			}
			return got.Slots
		}
		open := ask()
		if _, err := p.Booking.Book(t.Context(), booking.Request{
			AppointmentTypeID: "cleaning", SpecialistID: "chair1", SlotStart: open[0].Start,
			Patient: store.Patient{Name: "Per Lind"}, Source: store.SourceStaff, Actor: enginetest.Jo,
			IgnoreHours: true,
		}); err != nil {
			t.Fatal(err)
		}
		if left := ask(); !left[0].Start.Equal(open[1].Start) {
			t.Errorf("with the room booked, the first time is %s, want %s", left[0].Start, open[1].Start)
		}
		if _, err := p.Booking.HoldForRequest(t.Context(), booking.RequestedSlot{AppointmentTypeID: "cleaning",
			SpecialistID: "chair1", Start: open[1].Start}, record.NewOwner(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if left := ask(); !left[0].Start.Equal(open[2].Start) {
			t.Errorf("with the room held, the first time is %s, want %s", left[0].Start, open[2].Start)
		}
	})
}
