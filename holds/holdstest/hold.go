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

// claim is the promises of holds.Table about who gets a span, and who does not.
func (h Harness) claim(t *testing.T) {
	h.prove(t, "a claim returns the hold, shows it and publishes it", func(p *proof) {
		wish := p.wish("ada", "09:00", amal)
		before := time.Now()
		got := p.claim(wish)
		if got.Span != wish.Span || got.Client != amal || got.Restarts != 0 || got.Pinned {
			p.Errorf("got %+v, want the claim's span and client, no restart and no pin", got)
		}
		p.near("ExpiresAt", got.ExpiresAt, before.Add(wish.TTL))
		p.near("MaxExpiresAt", got.MaxExpiresAt, before.Add(wish.MaxLife))
		if len(got.ID) != 36 || got.ID[14] != '7' {
			p.Errorf("got id %q, want a UUIDv7", got.ID)
		}
		shown, err := p.Hold(p.ctx, got.ID)
		p.no(err)
		if shown != got {
			p.Errorf("Hold: got %+v, want %+v", shown, got)
		}
		if list := p.list(); !slices.Equal(list, []holds.Hold{got}) {
			p.Errorf("List: got %+v, want just %+v", list, got)
		}
		e := p.stream.event(holds.EventHold, got.ID)
		if e.Span != got.Span || !e.ExpiresAt.Equal(got.ExpiresAt) || e.Reason != "" {
			p.Errorf("event: got %+v, want the span and end of %+v", e, got)
		}
		p.near("At", e.At, before)
		if !e.OwnedBy(amal) || e.OwnedBy(bela) || e.OwnedBy("") {
			p.Errorf("event: got owned by amal %v, bela %v, nobody %v, want only amal", e.OwnedBy(amal), e.OwnedBy(bela), e.OwnedBy(""))
		}
	})
	h.prove(t, "of fifty clients who race for a slot one has it and the others learn until when", func(p *proof) {
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
	for _, c := range conflicts {
		h.prove(t, c.name, func(p *proof) {
			for _, order := range []string{"first", "second"} {
				one, other := c.one.of(p), c.other.of(p)
				if order == "second" {
					one, other = other, one
				}
				got := p.claim(holds.Claim{Span: one, Client: amal, Seats: []int{one.Seat}, TTL: p.seconds(10), MaxLife: p.seconds(60)})
				wish := holds.Claim{Span: other, Client: bela, Seats: []int{other.Seat}, TTL: p.seconds(10), MaxLife: p.seconds(60)}
				if c.conflict {
					p.near("Until", p.refused(wish), got.ExpiresAt)
				} else {
					second := p.claim(wish)
					p.released(second)
				}
				p.released(got)
			}
		})
	}
	h.prove(t, "of random spans claimed at once no two in conflict are held, and none was refused for nothing", func(p *proof) {
		var mu sync.Mutex
		var refused []holds.Span
		p.race(16, func(i int) func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 5))
			for range 40 {
				s := randomSpan(rnd, p.day)
				_, err := p.Claim(p.ctx, holds.Claim{Span: s, Client: client(i), Seats: []int{s.Seat}, TTL: p.seconds(50), MaxLife: p.seconds(60)})
				if err != nil {
					mu.Lock()
					refused = append(refused, s)
					mu.Unlock()
				}
			}
			return func() {}
		})
		list := p.list() // the stream checks that these do not conflict
		if len(list) == 0 || len(refused) == 0 {
			p.Fatalf("got %d held and %d refused, want some of both", len(list), len(refused))
		}
		for _, s := range refused {
			if !slices.ContainsFunc(list, func(h holds.Hold) bool { return h.Conflicts(&s) }) {
				p.Errorf("refused %+v, though nothing is in its way", s)
			}
		}
	})
	h.prove(t, "HeldError names the latest end among those in the way", func(p *proof) {
		p.claim(p.wish("ada", "09:00", amal))
		long := p.wish("ada", "09:30", bela)
		long.TTL = p.seconds(20)
		latest := p.claim(long)
		p.claim(p.wish("ada", "10:00", caro))
		wide := p.wish("ada", "09:00", "client-dora-55b17e9c20")
		wide.SlotEnd, wide.BusyEnd = p.at("11:00"), p.at("11:00")
		p.near("Until", p.refused(wide), latest.ExpiresAt)
	})
	h.prove(t, "a client's own other holds are in its way like anybody's", func(p *proof) {
		p.claim(p.wish("ada", "09:00", amal))
		wish := p.wish("ada", "09:00", amal)
		wish.AppointmentTypeID = "extraction"
		p.refused(wish)
	})
	h.prove(t, "a repeat by the same client for the same slot returns the hold it has, renewed and never shortened", func(p *proof) {
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
	h.prove(t, "fifty repeats at once are one hold", func(p *proof) {
		ids := map[string]bool{}
		p.race(50, func(int) func() {
			got, err := p.Claim(p.ctx, p.wish("ada", "09:00", amal))
			return func() { p.no(err); ids[got.ID] = true }
		})
		if len(ids) != 1 || len(p.list()) != 1 {
			p.Errorf("got %d ids and %d holds, want one of each", len(ids), len(p.list()))
		}
	})
	h.prove(t, "the list is by specialist, slot start and seat, of those asked for", func(p *proof) {
		for _, at := range []string{"11:00", "09:00", "10:00"} {
			p.claim(p.wish("cora", at, amal))
			p.claim(p.wish("ada", at, amal))
			p.claim(p.wish("bob", at, amal))
		}
		for _, seat := range []int{2, 0, 1} {
			wish := p.wish("dan", "09:00", client(seat))
			wish.Seats = []int{seat}
			p.claim(wish)
		}
		order := func(list []holds.Hold) string {
			var text []string
			for _, h := range list {
				text = append(text, fmt.Sprintf("%s%s/%d", h.SpecialistID, h.SlotStart.Format("15"), h.Seat))
			}
			return strings.Join(text, " ")
		}
		for _, c := range []struct {
			of   []string
			want string
		}{
			{nil, "ada09/0 ada10/0 ada11/0 bob09/0 bob10/0 bob11/0 cora09/0 cora10/0 cora11/0 dan09/0 dan09/1 dan09/2"},
			{[]string{"cora", "ada", "cora"}, "ada09/0 ada10/0 ada11/0 cora09/0 cora10/0 cora11/0"},
			{[]string{"nobody"}, ""},
		} {
			if got := order(p.list(c.of...)); got != c.want {
				p.Errorf("List(%v): got %q, want %q", c.of, got, c.want)
			}
		}
	})
}

// over is how a hold ends by the hand of its owner, and that nobody else's reaches it.
func (h Harness) over(t *testing.T) {
	h.prove(t, "a release frees the slot, gives its reason and says whether there was anything", func(p *proof) {
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
	h.prove(t, "a confirmation removes the hold, pinned or not, and says whether it was there", func(p *proof) {
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
	h.prove(t, "only its owner reaches a hold", func(p *proof) {
		got := p.claim(p.wish("ada", "09:00", amal))
		for _, thief := range []holds.ClientID{bela, "", amal + "x", amal[:len(amal)-1]} {
			_, err := p.Extend(p.ctx, got.ID, thief, p.seconds(20), false)
			p.is(err, holds.ErrNotOwner)
			_, err = p.Pin(p.ctx, got.ID, thief, p.seconds(20))
			p.is(err, holds.ErrNotOwner)
			_, err = p.Unpin(p.ctx, got.ID, thief, p.seconds(20))
			p.is(err, holds.ErrNotOwner)
			ok, err := p.Confirm(p.ctx, got.ID, thief)
			p.is(err, holds.ErrNotOwner)
			ok2, err := p.Release(p.ctx, got.ID, thief, holds.ReasonReleased)
			p.is(err, holds.ErrNotOwner)
			if ok || ok2 {
				p.Errorf("got confirmed %v and released %v, want neither", ok, ok2)
			}
		}
		if now, err := p.Hold(p.ctx, got.ID); err != nil || now != got {
			p.Errorf("got %+v, %v, want %+v untouched", now, err, got)
		}
	})
	h.prove(t, "an id that was never given is not found", func(p *proof) {
		got := p.claim(p.wish("ada", "09:00", amal))
		last := "0"
		if strings.HasSuffix(got.ID, last) {
			last = "1"
		}
		for _, id := range []string{"", "x", strings.ToUpper(got.ID), got.ID + "0", got.ID[:35], got.ID[:35] + last,
			"0" + got.ID[:35], strings.Repeat("f", 36), strings.Repeat("é", 18)} {
			if id == got.ID {
				continue
			}
			_, err := p.Hold(p.ctx, id)
			p.is(err, holds.ErrNotFound)
			_, err = p.Extend(p.ctx, id, amal, p.seconds(20), false)
			p.is(err, holds.ErrNotFound)
			_, err = p.Pin(p.ctx, id, amal, p.seconds(20))
			p.is(err, holds.ErrNotFound)
			_, err = p.Unpin(p.ctx, id, amal, p.seconds(20))
			p.is(err, holds.ErrNotFound)
			if ok, err := p.Confirm(p.ctx, id, amal); ok || err != nil {
				p.Errorf("confirm %q: got %v, %v, want false", id, ok, err)
			}
			if ok, err := p.Release(p.ctx, id, amal, holds.ReasonReleased); ok || err != nil {
				p.Errorf("release %q: got %v, %v, want false", id, ok, err)
			}
		}
	})
}

// released releases a hold.
func (p *proof) released(h holds.Hold) {
	p.Helper()
	if ok, err := p.Release(p.ctx, h.ID, h.Client, holds.ReasonReleased); !ok || err != nil {
		p.Fatalf("release: got %v, %v, want true", ok, err)
	}
}

// race runs n goroutines from one start and what they return, one after another, when all are done.
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
		f()
	}
}

func client(i int) holds.ClientID { return holds.ClientID(fmt.Sprintf("client-number-%04d", i)) }
