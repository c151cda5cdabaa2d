package practice_test

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/agent"
	"holdfast/engine/enginetest"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// TestRefusedBookingKeepsMovedAppointment: the desk moves an agent's booking while the practice-management system is
// about to refuse its first time. The move stands.
func TestRefusedBookingKeepsMovedAppointment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		p.Upstream.Script(upstreamtest.Step{Outcome: upstreamtest.SlotTaken, Delay: 5 * time.Second})
		answer := make(chan agent.Answer, 1)
		wish := p.Wish(48 * 3)
		go func() { answer <- p.Ask(wish) }()
		time.Sleep(2 * time.Second)
		move(p, 48*3+4)
		if a := <-answer; a.Outcome != agent.Queued {
			t.Errorf("the agent got %s, want queued", a.Outcome)
		}
		p.Until(time.Minute, "settled", p.Settled)
		if a := p.BookingOf(); a.Status != store.Confirmed || a.UpstreamState != store.UpstreamConfirmed {
			t.Errorf("the moved appointment is %s, upstream %s; want confirmed", a.Status, a.UpstreamState)
		}
	})
}
