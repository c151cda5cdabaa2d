package holdstest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/holds"
)

// together tests holds with resources: a claim takes the specialist and all resources that it needs, or none of
// them, and they stay together for the lifetime of the hold.
func (h Harness) together(t *testing.T) {
	h.prove(t, "a hold takes its specialist and one resource of each group, and every answer shows them", func(p *proof) {
		got := p.claim(p.needing("ada", "09:00", amal, []string{"room-2", "room-1"}, []string{"laser"}))
		if got.Resources != "room-2 laser" {
			p.Errorf("got resources %q, want the first one of each group", got.Resources)
		}
		p.unchanged(got)
		if e := p.stream.event(holds.EventHold, got.ID); e.Resources != got.Resources {
			p.Errorf("event: got resources %q, want %q", e.Resources, got.Resources)
		}
		for _, ids := range [][]string{{"ada"}, {"room-2"}, {"laser"}, {"ada", "room-2", "laser"}, nil} {
			if list := p.list(ids...); !slices.Equal(list, []holds.Hold{got}) {
				p.Errorf("List(%q): got %+v, want just %+v", ids, list, got)
			}
		}
		if list := p.list("room-1", "bob"); len(list) != 0 {
			p.Errorf("List of others: got %+v, want nothing", list)
		}
	})
	h.prove(t, "of 16 concurrent claims of one room with different specialists, one succeeds", func(p *proof) {
		for n := range 100 {
			var won atomic.Int32
			p.race(16, func(i int) func() {
				got, err := p.Claim(p.ctx, p.needing(fmt.Sprintf("specialist-%d-%d", n, i),
					"09:00", client(16*n+i), []string{fmt.Sprintf("room-%d", n)}))
				if err == nil && got.Resources != "" {
					won.Add(1)
				}
				return func() {}
			})
			if won.Load() != 1 {
				p.Fatalf("round %d: %d claims got the room, want one", n, won.Load())
			}
		}
	})
	h.prove(t, "a watch of a resource gets only the events of holds that take it", func(p *proof) {
		w := p.watch("room-1")
		defer w.Close()
		p.claim(p.needing("ada", "09:00", amal, []string{"room-2"}))
		got := p.claim(p.needing("bob", "09:00", bela, []string{"room-1"}))
		p.released(got)
		events := p.next(w, 2)
		if events[0].HoldID != got.ID || events[1].HoldID != got.ID || events[1].Kind != holds.EventRelease {
			p.Errorf("got %+v, want hold and release of %s", events, got.ID)
		}
	})
	h.prove(t, "a claim skips a held resource, and is refused completely if none is free",
		func(p *proof) {
			first := p.claim(p.needing("ada", "09:00", amal, []string{"room-1", "room-2"}))
			longer := p.needing("bob", "09:15", bela, []string{"room-1", "room-2"})
			longer.TTL = p.seconds(20)
			second := p.claim(longer)
			if second.Resources != "room-2" {
				p.Errorf("got %q, want room-2", second.Resources)
			}
			wish := p.needing("cyd", "09:00", caro, []string{"laser"}, []string{"room-1", "room-2"})
			p.near("Until", p.refused(wish), second.ExpiresAt)
			if list := p.list("cyd", "laser"); len(list) != 0 {
				p.Errorf("after a refusal: got %+v, want no hold", list)
			}
			p.released(first)
			if got := p.claim(wish); got.Resources != "laser room-1" {
				p.Errorf("got %q, want the free resources", got.Resources)
			}
		})
	h.prove(t, "buffers count for resources, and a group session does not share one", func(p *proof) {
		wide := p.needing("ada", "09:00", amal, []string{"room-1"})
		wide.BusyEnd = p.at("09:45")
		p.claim(wide)
		p.refused(p.needing("bob", "09:30", bela, []string{"room-1"}))
		p.claim(p.needing("bob", "09:45", bela, []string{"room-1"}))
		seat := p.needing("ada", "09:00", caro, []string{"room-1"})
		seat.Seats = []int{1}
		p.refused(seat)
	})
	h.prove(t, "a resource serves only one group, and an empty group is refused", func(p *proof) {
		p.refused(p.needing("ada", "09:00", amal, []string{"room-1"}, []string{"room-1"}))
		if got := p.claim(p.needing("ada", "09:00", amal, []string{"room-1"},
			[]string{"room-1", "room-2"})); got.Resources != "room-1 room-2" {
			p.Errorf("got %q, want one each", got.Resources)
		}
		if until := p.refused(p.needing("bob", "11:00", bela, []string{})); !until.IsZero() {
			p.Errorf("an empty group: got until %v, want the zero time", until)
		}
	})
	h.prove(t, "of 50 concurrent claims of one room, one succeeds, whatever their specialists", func(p *proof) {
		won := 0
		p.race(50, func(i int) func() {
			_, err := p.Claim(p.ctx, p.needing([]string{"ada", "bob", "cyd", "dan"}[i%4], "09:00", client(i),
				[]string{"room-1"}))
			return func() {
				var held *holds.HeldError
				if err == nil {
					won++
				} else if !errors.As(err, &held) {
					p.Errorf("got %v, want a hold or a HeldError", err)
				}
			}
		})
		if won != 1 {
			p.Errorf("got %d winners, want 1", won)
		}
	})
	h.prove(t, "after random concurrent claims, no two holds overlap on a resource", func(p *proof) {
		taken := 0
		p.race(12, func(i int) func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 13))
			mine := 0
			for range 30 {
				wish := p.claimOf(randomSpan(rnd, p.day), client(i))
				wish.SpecialistID = []string{"ada", "bob", "cyd"}[rnd.IntN(3)]
				wish.Needs = [][][]string{{{"room-1", "room-2"}}, {{"room-2"}, {"laser"}},
					{{"laser"}, {"room-1", "room-2"}}, nil}[rnd.IntN(4)]
				wish.Displace = rnd.IntN(4) == 0
				got, err := p.Claim(p.ctx, wish)
				switch {
				case err != nil:
				case rnd.IntN(3) == 0:
					_, _ = p.Release(p.ctx, got.ID, got.Owner, holds.ReasonReleased)
				case got.Resources != "":
					mine++
				}
			}
			return func() { taken += mine }
		})
		if taken < 10 {
			p.Errorf("only %d holds have a resource", taken)
		}
		p.stream.complete() // checks for conflicts in the table, as the stream did after each event
	})
	h.prove(t, "extending and pinning keep all resources of a hold; release and confirmation free them all",
		func(p *proof) {
			p.brief()
			got := p.claim(p.needing("ada", "09:00", amal, []string{"room-1"}))
			rival := p.needing("bob", "09:00", bela, []string{"room-1"})
			p.pass(p.seconds(5))
			got, err := p.Extend(p.ctx, got.ID, amal, p.seconds(10), false)
			p.no(err)
			p.pass(p.seconds(6))
			p.near("Until", p.refused(rival), got.ExpiresAt)
			got, err = p.Pin(p.ctx, got.ID, amal, p.seconds(30))
			p.no(err)
			p.pass(p.seconds(10))
			p.near("Until, pinned", p.refused(rival), got.ExpiresAt)
			got, err = p.Unpin(p.ctx, got.ID, amal, p.seconds(10))
			p.no(err)
			if got.Resources != "room-1" {
				p.Errorf("got %q, want the same resources", got.Resources)
			}
			p.near("Until, unpinned", p.refused(rival), got.ExpiresAt)
			p.released(got)
			second := p.claim(rival)
			ok, err := p.Confirm(p.ctx, second.ID, bela)
			if p.no(err); !ok {
				p.Errorf("Confirm: got false, want true")
			}
			p.claim(p.needing("ada", "09:00", amal, []string{"room-1"}))
		})
	h.prove(t, "an expired hold frees its resource immediately, and its release is published before the next hold", func(p *proof) {
		p.brief()
		got := p.claim(p.needing("ada", "09:00", amal, []string{"room-1"}))
		p.pass(time.Until(got.ExpiresAt) + p.moment())
		p.claim(p.needing("bob", "09:00", bela, []string{"room-1"}))
		if e := p.stream.event(holds.EventRelease, got.ID); e.Resources != "room-1" || e.Reason != holds.ReasonExpired {
			p.Errorf("got %+v, want the hold and its room expired", e)
		}
	})
	h.prove(t, "a repeat returns the same resources, even if another one of the group is free now", func(p *proof) {
		other := p.claim(p.needing("bob", "09:00", bela, []string{"room-1"}))
		first := p.claim(p.needing("ada", "09:00", amal, []string{"room-1", "room-2"}))
		p.released(other)
		again := p.claim(p.needing("ada", "09:00", amal, []string{"room-1", "room-2"}))
		if again.ID != first.ID || again.Resources != "room-2" {
			p.Errorf("got %s with %q, want %s with room-2", again.ID, again.Resources, first.ID)
		}
	})
	h.prove(t, "staff displace the hold of the resource, unless it is pinned or another resource is free",
		func(p *proof) {
			first := p.claim(p.needing("ada", "09:00", amal, []string{"room-1"}))
			wish := p.needing("bob", "09:00", bela, []string{"room-1", "room-2"})
			wish.Displace = true
			beside := p.claim(wish)
			if beside.Resources != "room-2" {
				p.Errorf("got %q, want the free one", beside.Resources)
			}
			pinned, err := p.Pin(p.ctx, beside.ID, bela, p.seconds(30))
			p.no(err)
			wish = p.needing("cyd", "09:00", caro, []string{"room-2"})
			wish.Displace = true
			p.near("Until", p.refused(wish), pinned.ExpiresAt)
			wish.Needs = [][]string{{"room-2", "room-1"}}
			if got := p.claim(wish); got.Resources != "room-1" {
				p.Errorf("got %q, want room-1", got.Resources)
			}
			if e := p.stream.event(holds.EventRelease, first.ID); e.Reason != holds.ReasonDisplaced {
				p.Errorf("got reason %q, want %q", e.Reason, holds.ReasonDisplaced)
			}
			if _, err := p.Hold(p.ctx, first.ID); !errors.Is(err, holds.ErrNotFound) {
				p.Errorf("the displaced client: got %v, want ErrNotFound", err)
			}
		})
	h.prove(t, "a hold is restored with its resources, or not at all", func(p *proof) {
		r, ok := p.Backend.(holds.Restorer)
		if !ok {
			p.Skip("this backend cannot restore holds")
		}
		now := time.Now().UTC().Truncate(time.Millisecond)
		x := holds.Remains{
			Hold: holds.Hold{ID: "01890a5d-ac96-774b-bcce-b302099a8058", Span: p.span("ada", "09:00"),
				Resources: "room-1 laser", Owner: amal,
				ExpiresAt: now.Add(p.seconds(5)), MaxExpiresAt: now.Add(p.seconds(30))},
			LapsesAt: now.Add(p.seconds(5)), Life: p.seconds(60),
		}
		theirs := p.claim(p.needing("bob", "09:00", bela, []string{"laser"}))
		_, err := r.Restore(p.ctx, x)
		var held *holds.HeldError
		if !errors.As(err, &held) {
			p.Fatalf("got %v, want a HeldError", err)
		}
		p.near("Until", held.Until, theirs.ExpiresAt)
		if list := p.list("ada", "room-1"); len(list) != 0 {
			p.Errorf("got %+v, want nothing taken", list)
		}
		p.released(theirs)
		got, err := r.Restore(p.ctx, x)
		if p.no(err); got.Resources != x.Resources {
			p.Errorf("got %q, want %q", got.Resources, x.Resources)
		}
		x.ID = got.ID
		again, err := r.Restore(p.ctx, x)
		if p.no(err); again.ID != got.ID || again.Resources != x.Resources {
			p.Errorf("second restore: got %+v, want it unchanged", again)
		}
		p.near("Until", p.refused(p.needing("bob", "09:00", bela, []string{"room-1"})), got.ExpiresAt)
		if many, ok := r.(holds.ManyRestorer); ok {
			y, z := x, x
			y.ID, y.Span, y.Owner = "01890a5d-ac96-774b-bcce-b302099a8059", p.span("bob", "09:15"), bela
			z.ID, z.Span, z.Owner = "01890a5d-ac96-774b-bcce-b302099a805a", p.span("bob", "11:00"), bela
			all, err := many.RestoreAll(p.ctx, []holds.Remains{y, z})
			if p.no(err); !errors.As(all[0].Err, &held) || all[1].Err != nil || all[1].Hold.Resources != z.Resources {
				p.Errorf("several: got %+v, want the first refused and the second with its resources", all)
			}
		}
	})
}

// needing returns a claim that also needs one resource from each group.
func (p *proof) needing(specialistID, start string, c holds.Owner, groups ...[]string) holds.Claim {
	wish := p.wish(specialistID, start, c)
	wish.Needs = groups
	return wish
}
