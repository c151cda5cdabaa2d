package agent_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"holdfast/engine/agent"
	"holdfast/engine/availability"
	"holdfast/engine/enginetest"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// TestBlocksApplyToAgents: the practice-management system lists the chair as open but has no data about the clinic's
// blocks. An agent is offered no blocked time, and can neither hold nor book one that was offered before.
func TestBlocksApplyToAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{
			Upstream: &upstreamtest.Options{Columns: enginetest.AlwaysOpen()},
		})
		ask := func() []agent.Slot {
			t.Helper()
			got, err := p.Agent.Slots(t.Context(), agent.SlotsRequest{AppointmentTypeGUID: enginetest.TypeGUID,
				Count: 2})
			if err != nil || len(got.Slots) != 2 {
				t.Fatalf("slots: %+v, %v", got, err)
			}
			return got.Slots
		}
		open := ask()
		if _, err := p.Clinic.CreateBlock(t.Context(), "user:jo", store.Block{SpecialistID: "chair0",
			Start: open[0].Start, End: open[1].Start, Reason: "public holiday"}, nil); err != nil {
			t.Fatal(err)
		}
		if left := ask(); !left[0].Start.Equal(open[1].Start) {
			t.Errorf("the first time offered is %s, want %s after the block", left[0].Start, open[1].Start)
		}
		_, err := p.Agent.Hold(t.Context(), open[0].BookingToken, "agent-0123456789abcdef")
		var refused *availability.NotBookableError
		if !errors.As(err, &refused) || refused.Reason != availability.ReasonOverrideClosed {
			t.Errorf("a hold of the blocked time: got %v, want it refused as closed", err)
		}
		wish := p.WishFor(0, 0, open[0].Start)
		if got := p.Ask(wish); got.Outcome != agent.Refused || len(p.Bookings()) != 0 {
			t.Errorf("a booking of the blocked time: got %+v and %d appointments", got, len(p.Bookings()))
		}
	})
}
