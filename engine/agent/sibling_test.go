package agent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/agent"
	"holdfast/engine/enginetest"
	"holdfast/engine/upstream/upstreamtest"
)

// TestSecondChildIsConfirmed: a caller books one appointment for a brother and then one for his sister. The second
// booking waits for its turn at the upstream and is confirmed. A third booking, whose turn would come after the time
// limit, is queued, and the caller learns this immediately.
func TestSecondChildIsConfirmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		for child, want := range []time.Duration{0, 10 * time.Second} {
			began := time.Now()
			a := p.Ask(p.WishFor(1, 0, p.SlotAt(20+child)))
			if took := time.Since(began); a.Outcome != agent.Confirmed || took != want {
				t.Errorf("child %d: %s after %s, want it confirmed after %s", child+1, a.Outcome, took, want)
			}
		}
		time.Sleep(time.Minute)
		type answer struct {
			agent.Answer
			took time.Duration
		}
		answers := make(chan answer, 3)
		began := time.Now()
		for child := range 3 {
			b := p.WishFor(1, 0, p.SlotAt(30+child))
			go func() {
				a, err := p.Agent.Book(context.Background(), enginetest.AgentKey, b)
				if err != nil {
					t.Error(err)
				}
				answers <- answer{a, time.Since(began)}
			}()
			synctest.Wait()
		}
		for _, want := range []struct {
			outcome agent.Outcome
			took    time.Duration
		}{{agent.Confirmed, 0}, {agent.Queued, 0}, {agent.Confirmed, 10 * time.Second}} {
			if a := <-answers; a.Outcome != want.outcome || a.took != want.took {
				t.Errorf("of three at once: %s after %s, want %s after %s", a.Outcome, a.took, want.outcome, want.took)
			}
		}
		p.Until(5*time.Minute, "settled", p.Settled)
		if s := p.Upstream.Score(); s.Appointments != 5 || s.Duplicates != 0 || s.MinSpacing < 10*time.Second {
			t.Errorf("practice system: %+v, want five, ten seconds apart", s)
		}
	})
}

// TestSiblings: siblings are booked one after another. Each booking waits for its turn, and no booking is lost. A
// booking whose turn would come too late for the caller is queued.
func TestSiblings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		var got []agent.Outcome
		for child := range 3 {
			b := p.WishFor(1, 0, p.SlotAt(20+child))
			b.ChildName = []string{"Mia", "Ben", "Zoe"}[child]
			got = append(got, p.Ask(b).Outcome)
			time.Sleep(3 * time.Second)
		}
		if got[0] != agent.Confirmed || got[1] != agent.Confirmed || got[2] != agent.Confirmed {
			t.Errorf("siblings three seconds apart: got %v, want all confirmed", got)
		}
		p.Until(time.Minute, "settled", p.Settled)
		if s := p.Upstream.Score(); s.Appointments != 3 || s.Duplicates != 0 || s.MinSpacing < 10*time.Second {
			t.Errorf("practice system: %+v, want three, ten seconds apart", s)
		}
		if notes := p.Upstream.Comments(enginetest.PatientGUID(1)); len(notes) != 3 || notes[1] != "Child: Ben" {
			t.Errorf("the notes are %q", notes)
		}
		// All of them at once: one is confirmed, and the others wait no longer than their callers can.
		answers := make(chan agent.Answer, 4)
		for child := range 4 {
			go func() {
				a, err := p.Agent.Book(context.Background(), enginetest.AgentKey, p.WishFor(1, 0, p.SlotAt(30+child)))
				if err != nil {
					t.Error(err)
				}
				answers <- a
			}()
		}
		count := map[agent.Outcome]int{}
		for range 4 {
			count[(<-answers).Outcome]++
		}
		p.Until(5*time.Minute, "settled", p.Settled)
		if s := p.Upstream.Score(); s.Appointments != 7 || s.Duplicates != 0 || s.MinSpacing < 10*time.Second ||
			count[agent.Queued] < 2 {
			t.Errorf("four concurrent bookings: answers %v, practice system %+v", count, s)
		}
	})
}

// TestTokenOfSiblingIsRefused: an agent has booked a slot for one child and sends the same bookingToken for her
// brother. The server does not answer that the brother's appointment is booked. The same request for the same child
// still gets the first answer, even if its note or the spelling of the name differs.
func TestTokenOfSiblingIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{})
		slots, err := p.Agent.Slots(t.Context(), agent.SlotsRequest{AppointmentTypeID: "cleaning"})
		if err != nil || len(slots.Slots) == 0 {
			t.Fatalf("slots: %+v, %v", slots, err)
		}
		book := func(child, note string) agent.Answer {
			t.Helper()
			b := p.Wish(1)
			b.StartTime, b.ScheduleColumnGUID, b.AppointmentTypeGUID, b.Minutes = "", "", "", 0
			b.BookingToken, b.ChildName, b.Note = slots.Slots[2].BookingToken, child, note
			return p.Ask(b)
		}
		first := book("Mia Kern", "")
		if first.Outcome != agent.Confirmed {
			t.Fatalf("the first child: got %+v, want confirmed", first)
		}
		for _, again := range [][2]string{{"Mia Kern", ""}, {"mia  kern", "Comes from school."}} {
			if a := book(again[0], again[1]); a.AppointmentGUID != first.AppointmentGUID {
				t.Errorf("%q again: got %+v, want the first answer", again, a)
			}
		}
		for _, child := range []string{"Ben Kern", ""} {
			if a := book(child, ""); a.Outcome != agent.Refused || a.ErrorType != "BOOKING_TOKEN_USED" {
				t.Errorf("the token of Mia for %q: got %+v, want it refused as used", child, a)
			}
		}
		if n := len(p.Bookings()); n != 1 {
			t.Errorf("got %d bookings, want 1", n)
		}
	})
}
