package holdstest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/holds"
)

// claim tests what Claim returns for a free span, and for a span that another client holds.
func (h Harness) claim(t *testing.T) {
	h.prove(t, "a claim returns the hold, shows it and publishes it", func(p *proof) {
		wish := p.wish("ada", "09:00", amal)
		before := time.Now()
		got := p.claim(wish)
		if got.Span != wish.Span || got.Owner != amal || got.Restarts != 0 || got.Pinned {
			p.Errorf("got %+v, want the claim's span and client, no restart and no pin", got)
		}
		p.near("ExpiresAt", got.ExpiresAt, before.Add(wish.TTL))
		p.near("MaxExpiresAt", got.MaxExpiresAt, before.Add(wish.MaxLife))
		if len(got.ID) != 36 || got.ID[14] != '7' {
			p.Errorf("got id %q, want a UUIDv7", got.ID)
		}
		p.unchanged(got)
		if list := p.list(); !slices.Equal(list, []holds.Hold{got}) {
			p.Errorf("List: got %+v, want just %+v", list, got)
		}
		e := p.stream.event(holds.EventHold, got.ID)
		if e.Span != got.Span || !e.ExpiresAt.Equal(got.ExpiresAt) || e.Reason != "" {
			p.Errorf("event: got %+v, want the span and end of %+v", e, got)
		}
		p.near("At", e.At, before)
		for c, want := range map[holds.Owner]bool{amal: true, bela: false, {}: false} {
			if got := e.Owner.Is(c); got != want {
				p.Errorf("event: got owned by %q %v, want %v", c, got, want)
			}
		}
	})
	h.prove(t, "of fifty concurrent clients one gets the slot, and the others get its expiry", func(p *proof) {
		var won []holds.Hold
		var until []time.Time
		p.race(50, func(i int) func() {
			got, err := p.Claim(p.ctx, p.wish("ada", "09:00", client(i)))
			return func() {
				var held *holds.HeldError
				switch {
				case err == nil:
					won = append(won, got)
				case errors.As(err, &held):
					until = append(until, held.Until)
				default:
					p.Errorf("got %v, want a hold or a HeldError", err)
				}
			}
		})
		if len(won) != 1 || len(until) != 49 {
			p.Fatalf("got %d winners and %d refused, want 1 and 49", len(won), len(until))
		}
		for _, u := range until {
			p.near("Until", u, won[0].ExpiresAt)
		}
	})
	h.prove(t, "HeldError has the expiry of the last conflicting hold", func(p *proof) {
		p.claim(p.wish("ada", "09:00", amal))
		long := p.wish("ada", "09:30", bela)
		long.TTL = p.seconds(20)
		latest := p.claim(long)
		p.claim(p.wish("ada", "10:00", caro))
		wide := p.wish("ada", "09:00", client(0))
		wide.SlotEnd, wide.BusyEnd = p.at("11:00"), p.at("11:00")
		p.near("Until", p.refused(wide), latest.ExpiresAt)
	})
}

// conflict tests which spans exclude each other. It checks the predicate of the guarantee in any order and under
// concurrency.
func (h Harness) conflict(t *testing.T) {
	for _, c := range conflicts {
		h.prove(t, c.name, func(p *proof) {
			one, other := c.one.of(p), c.other.of(p)
			for _, order := range [][2]holds.Span{{one, other}, {other, one}} {
				first := p.claim(p.claimOf(order[0], amal))
				if c.conflict {
					p.near("Until", p.refused(p.claimOf(order[1], bela)), first.ExpiresAt)
				} else {
					p.released(p.claim(p.claimOf(order[1], bela)))
				}
				p.released(first)
			}
		})
	}
	h.prove(t, "other holds of the same client conflict too", func(p *proof) {
		p.claim(p.wish("ada", "09:00", amal))
		wish := p.wish("ada", "09:00", amal)
		wish.AppointmentTypeID = "extraction"
		p.refused(wish)
	})
	h.prove(t, "of random concurrent claims no two conflict, and each refused claim conflicts with a hold",
		func(p *proof) {
			var refused []holds.Span
			p.race(16, func(i int) func() {
				rnd := rand.New(rand.NewPCG(uint64(i), 5))
				var mine []holds.Span
				for range 40 {
					wish := p.claimOf(randomSpan(rnd, p.day), client(i))
					wish.TTL = wish.MaxLife
					if _, err := p.Claim(p.ctx, wish); err != nil {
						mine = append(mine, wish.Span)
					}
				}
				return func() { refused = append(refused, mine...) }
			})
			list := p.list() // the stream checks that they do not conflict
			if len(list) == 0 || len(refused) == 0 {
				p.Fatalf("got %d holds and %d refusals, want some of both", len(list), len(refused))
			}
			for _, s := range refused {
				if !slices.ContainsFunc(list, func(h holds.Hold) bool { return h.Conflicts(&s) }) {
					p.Errorf("refused %+v, although nothing conflicts with it", s)
				}
			}
		})
}

// repeat tests what Claim returns for a slot that the client already holds.
func (h Harness) repeat(t *testing.T) {
	h.prove(t, "a repeat returns the existing hold, renewed and never shortened", func(p *proof) {
		p.brief()
		wish := p.wish("ada", "09:00", amal)
		first := p.claim(wish)
		p.pass(p.seconds(4))
		before := time.Now()
		again := p.claim(wish)
		if again.ID != first.ID {
			p.Fatalf("got another hold %s, want %s", again.ID, first.ID)
		}
		p.near("renewed", again.ExpiresAt, before.Add(wish.TTL))
		p.near("MaxExpiresAt", again.MaxExpiresAt, first.MaxExpiresAt)
		p.stream.event(holds.EventHeartbeat, first.ID)
		wish.TTL = p.seconds(1)
		p.near("not shortened", p.claim(wish).ExpiresAt, again.ExpiresAt)
		wish.TTL = p.seconds(60)
		p.near("within its maximum", p.claim(wish).ExpiresAt, first.MaxExpiresAt)
		p.refused(p.wish("ada", "09:00", bela))
	})
	h.prove(t, "fifty concurrent repeats return one hold", func(p *proof) {
		ids := map[string]bool{}
		p.race(50, func(int) func() {
			got, err := p.Claim(p.ctx, p.wish("ada", "09:00", amal))
			return func() { p.no(err); ids[got.ID] = true }
		})
		if n := len(p.list()); len(ids) != 1 || n != 1 {
			p.Errorf("got %d ids and %d holds, want one of each", len(ids), n)
		}
	})
}

// end tests that a hold's owner can end the hold.
func (h Harness) end(t *testing.T) {
	h.prove(t, "a release frees the slot, publishes its reason and reports whether the hold existed", func(p *proof) {
		for _, reason := range []holds.Reason{holds.ReasonReleased, holds.ReasonConflict} {
			got := p.claim(p.wish("ada", "09:00", amal))
			for _, want := range []bool{true, false} {
				if ok, err := p.Release(p.ctx, got.ID, amal, reason); ok != want || err != nil {
					p.Errorf("got %v, %v, want %v", ok, err, want)
				}
			}
			if e := p.stream.event(holds.EventRelease, got.ID); e.Reason != reason || e.Span != got.Span {
				p.Errorf("got %+v, want reason %q and the span", e, reason)
			}
			_, err := p.Hold(p.ctx, got.ID)
			p.is(err, holds.ErrNotFound)
		}
	})
	h.prove(t, "a confirmation removes the hold, pinned or not, and reports whether it existed", func(p *proof) {
		for _, pin := range []bool{false, true} {
			got := p.claim(p.wish("ada", "09:00", amal))
			if pin {
				_, err := p.Pin(p.ctx, got.ID, amal, p.seconds(20))
				p.no(err)
			}
			for _, want := range []bool{true, false} {
				if ok, err := p.Confirm(p.ctx, got.ID, amal); ok != want || err != nil {
					p.Errorf("got %v, %v, want %v", ok, err, want)
				}
			}
			if e := p.stream.event(holds.EventConfirm, got.ID); e.Span != got.Span {
				p.Errorf("got %+v, want the span of %+v", e, got)
			}
		}
	})
}

// owner tests that only its owner can change a hold by id.
func (h Harness) owner(t *testing.T) {
	h.prove(t, "only the owner can change a hold", func(p *proof) {
		got := p.claim(p.wish("ada", "09:00", amal))
		for _, thief := range []holds.Owner{bela, {}, holds.ClientID("client-amal-7c1f0a52d9x").Owner(),
			holds.ClientID("client-amal-7c1f0a52d").Owner()} {
			for name, call := range p.calls(got.ID, thief) {
				if ok, err := call(); ok || !errors.Is(err, holds.ErrNotOwner) {
					p.Errorf("%s by another: got %v, %v, want ErrNotOwner", name, ok, err)
				}
			}
		}
		p.unchanged(got)
	})
	h.prove(t, "an unknown id is not found", func(p *proof) {
		id := p.claim(p.wish("ada", "09:00", amal)).ID
		last := "0"
		if strings.HasSuffix(id, last) {
			last = "1"
		}
		for _, other := range []string{"", "x", id + "0", id[:35], id[:35] + last, "0" + id[:35],
			id[:10] + "-" + id[11:], strings.Repeat("f", 36), strings.Repeat("é", 18)} {
			_, err := p.Hold(p.ctx, other)
			p.is(err, holds.ErrNotFound)
			for name, call := range p.calls(other, amal) {
				want := holds.ErrNotFound
				if name == "Confirm" || name == "Release" {
					want = nil
				}
				if ok, err := call(); ok || !errors.Is(err, want) {
					p.Errorf("%s of %q: got %v, %v, want false, %v", name, other, ok, err, want)
				}
			}
		}
	})
}

// calls returns every call that changes a hold. Each one reports whether it changed the hold.
func (p *proof) calls(id string, c holds.Owner) map[string]func() (bool, error) {
	return map[string]func() (bool, error){
		"Extend": func() (bool, error) {
			_, err := p.Extend(p.ctx, id, c, p.seconds(20), false)
			return err == nil, err
		},
		"Pin":     func() (bool, error) { _, err := p.Pin(p.ctx, id, c, p.seconds(20)); return err == nil, err },
		"Unpin":   func() (bool, error) { _, err := p.Unpin(p.ctx, id, c, p.seconds(20)); return err == nil, err },
		"Confirm": func() (bool, error) { return p.Confirm(p.ctx, id, c) },
		"Release": func() (bool, error) { return p.Release(p.ctx, id, c, holds.ReasonReleased) },
	}
}

// listed tests which holds List returns, and in which order.
func (h Harness) listed(t *testing.T) {
	h.prove(t, "the list has the holds of the named specialists, by specialist, slot start and seat", func(p *proof) {
		for _, at := range []string{"11:00", "09:00", "10:00"} {
			for _, specialist := range []string{"cora", "ada", "bob"} {
				p.claim(p.wish(specialist, at, amal))
			}
		}
		for _, seat := range []int{2, 0, 1} {
			wish := p.wish("dan", "09:00", client(seat))
			wish.Seats = []int{seat}
			p.claim(wish)
		}
		for _, c := range []struct {
			of   []string
			want string
		}{
			{nil, "ada09/0 ada10/0 ada11/0 bob09/0 bob10/0 bob11/0 cora09/0 cora10/0 cora11/0 dan09/0 dan09/1 dan09/2"},
			{[]string{"cora", "ada", "cora"}, "ada09/0 ada10/0 ada11/0 cora09/0 cora10/0 cora11/0"},
			{[]string{"nobody"}, ""},
		} {
			var got []string
			for _, h := range p.list(c.of...) {
				got = append(got, fmt.Sprintf("%s%s/%d", h.SpecialistID, h.SlotStart.Format("15"), h.Seat))
			}
			if text := strings.Join(got, " "); text != c.want {
				p.Errorf("List(%v): got %q, want %q", c.of, text, c.want)
			}
		}
	})
}

// race starts n goroutines together. When all have returned, it runs the functions that they returned, one after
// another.
func (p *proof) race(n int, run func(i int) func()) {
	p.Helper()
	start := make(chan struct{})
	finish := make([]func(), n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			finish[i] = run(i)
		})
	}
	close(start)
	all.Wait()
	for _, f := range finish {
		if f != nil { // nil if run failed and reported it
			f()
		}
	}
}
