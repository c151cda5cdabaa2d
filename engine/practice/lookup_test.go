package practice_test

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/agent"
	"holdfast/engine/enginetest"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// These tests look up appointments in the practice-management system. A failed look-up delays only its own operation,
// and look-ups do not overload the upstream.

// TestFailedLookupDelaysOnlyItsOwn: writes work but look-ups do not. The operation with an unknown outcome needs review
// after three unusable responses, and no other operation waits for it.
func TestFailedLookupDelaysOnlyItsOwn(t *testing.T) {
	t.Parallel()
	for _, outcome := range []upstreamtest.Outcome{upstreamtest.ServerError, upstreamtest.Garbage, upstreamtest.Half} {
		t.Run(string(outcome), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				decide := func(c upstreamtest.Call) upstreamtest.Step {
					if c.Procedure == enginetest.LookUp {
						return upstreamtest.Step{Outcome: outcome}
					}
					return upstreamtest.Step{}
				}
				p := enginetest.NewPractice(t,
					enginetest.PracticeOptions{Upstream: &upstreamtest.Options{Decide: decide}})
				p.Upstream.Outcomes(upstreamtest.LostApplied)
				p.Ask(p.Wish(48 * 3))
				const others = 8
				for n := range others {
					r := enginetest.BookingOf(n, "cleaning")
					r.SlotStart, r.Client = p.SlotAt(48*4+n), enginetest.Client(n)
					if _, err := p.Booking.Book(t.Context(), r); err != nil {
						t.Fatal(err)
					}
				}
				p.Until(2*time.Minute, "all others written", func() bool {
					return p.Upstream.Score().Appointments == 1+others
				})
				p.Until(5*time.Minute, "settled", p.Settled)
				for i, a := range p.Bookings() {
					want := store.UpstreamConfirmed
					if i == 0 {
						want = store.UpstreamReview
					}
					if a.UpstreamState != want {
						t.Errorf("booking %d is %s upstream, want %s", i, a.UpstreamState, want)
					}
				}
				if n := len(p.Asked(enginetest.LookUp)); n != 3 {
					t.Errorf("%d look-ups, want 3", n)
				}
			})
		})
	}
}

// TestLookupsAreSpacedAndBackOff: while the upstream refuses look-ups because of its rate limit, the server makes them
// one at a time and at increasing intervals. An unknown outcome does not go to review for that reason.
func TestLookupsAreSpacedAndBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy := true
		decide := func(c upstreamtest.Call) upstreamtest.Step {
			if c.Procedure == enginetest.LookUp && busy {
				return upstreamtest.Step{Outcome: upstreamtest.RateLimited}
			}
			return upstreamtest.Step{}
		}
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{Decide: decide}})
		const unknown = 4
		for n := range unknown {
			p.Upstream.Outcomes(upstreamtest.LostApplied)
			if a := p.Ask(p.Wish(48*3 + n)); a.Outcome != agent.Queued {
				t.Fatalf("got %+v, want it queued", a)
			}
			time.Sleep(12 * time.Second)
		}
		time.Sleep(30 * time.Minute)
		at := p.Asked(enginetest.LookUp)
		if most := unknown * (4 + 30*60/300); len(at) > most || len(at) < unknown*5 {
			t.Errorf("%d look-ups in half an hour, want %d to %d", len(at), unknown*5, most)
		}
		for i := 1; i < len(at); i++ {
			if at[i].Sub(at[i-1]) < 10*time.Second {
				t.Fatalf("two look-ups were %s apart, want 10 s", at[i].Sub(at[i-1]))
			}
		}
		busy = false
		p.Until(6*time.Minute, "settled", p.Settled)
		if s := p.Upstream.Score(); s.Appointments != unknown || s.Duplicates != 0 ||
			len(p.Asked("SetAppointment")) != unknown {
			t.Errorf("practice system: %+v, want each once", s)
		}
		for _, a := range p.Bookings() {
			if a.UpstreamState != store.UpstreamConfirmed {
				t.Errorf("%s is %s upstream, want confirmed", a.ID, a.UpstreamState)
			}
		}
	})
}

// TestRestoredFilesMakeNoDuplicate: the files are restored to a state before a booking was written upstream. The server
// finds the booking upstream and does not write it again.
func TestRestoredFilesMakeNoDuplicate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		p.Line.Set(true, false)
		p.Ask(p.Wish(48 * 3))
		p.Ask(p.Wish(48*3 + 1))
		synctest.Wait()
		p.End()
		backup := t.TempDir()
		if err := os.CopyFS(backup, os.DirFS(p.Dir)); err != nil {
			t.Fatal(err)
		}
		p.Line.Set(false, false)
		p.Open()
		p.Until(10*time.Minute, "settled", p.Settled)
		p.End()
		if s := p.Upstream.Score(); s.Appointments != 2 {
			t.Fatalf("practice system: %+v, want both", s)
		}
		p.Dir = backup
		p.Open()
		p.Until(10*time.Minute, "settled", p.Settled)
		if s := p.Upstream.Score(); s.Appointments != 2 || s.Duplicates != 0 || s.Writes != 2 {
			t.Errorf("practice system: %+v, want both, once", s)
		}
		for _, a := range p.Bookings() {
			if a.UpstreamState != store.UpstreamConfirmed || a.UpstreamID == "" {
				t.Errorf("%s is %s upstream, want confirmed", a.ID, a.UpstreamState)
			}
		}
	})
}
