package holdstest

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/holds"
)

// extend tests how far a hold can be extended.
func (h Harness) extend(t *testing.T) {
	h.prove(t, "an extension counts from now, never shortens the hold, and sends the owner an event", func(p *proof) {
		p.brief()
		got := p.claim(p.wish("ada", "09:00", amal))
		p.pass(p.seconds(4))
		before := time.Now()
		longer, err := p.Extend(p.ctx, got.ID, amal, p.seconds(10), false)
		p.no(err)
		p.near("longer", longer.ExpiresAt, before.Add(p.seconds(10)))
		p.near("MaxExpiresAt", longer.MaxExpiresAt, got.MaxExpiresAt)
		shorter, err := p.Extend(p.ctx, got.ID, amal, p.seconds(1), false)
		p.no(err)
		p.near("not shorter", shorter.ExpiresAt, longer.ExpiresAt)
		e := p.stream.event(holds.EventHeartbeat, got.ID)
		if !e.ExpiresAt.Equal(longer.ExpiresAt) || e.Span != got.Span || !e.Owner.Is(amal) {
			p.Errorf("got %+v, want a heartbeat for the owner until %v", e, longer.ExpiresAt)
		}
	})
	h.prove(t, "no extension exceeds the maximum lifetime", func(p *proof) {
		p.brief()
		wish := p.wish("ada", "09:00", amal)
		wish.MaxLife = p.seconds(20)
		got := p.claim(wish)
		for range 4 { // the last two would end at 20 and 25
			last, err := p.Extend(p.ctx, got.ID, amal, p.seconds(10), false)
			p.no(err)
			if last.ExpiresAt.After(got.MaxExpiresAt) {
				p.Fatalf("got %v, want at most %v", last.ExpiresAt, got.MaxExpiresAt)
			}
			p.pass(p.seconds(5))
		}
		p.pass(p.seconds(4))
		_, err := p.Extend(p.ctx, got.ID, amal, p.seconds(10), false)
		p.is(err, holds.ErrNotFound)
	})
	h.prove(t, "a restart resets the maximum lifetime, at most ten times", func(p *proof) {
		p.brief()
		wish := p.wish("ada", "09:00", amal)
		wish.MaxLife = p.seconds(20)
		got := p.claim(wish)
		for n := 1; n <= holds.MaxRestarts; n++ {
			p.pass(p.seconds(1))
			before := time.Now()
			again, err := p.Extend(p.ctx, got.ID, amal, p.seconds(20), true)
			p.no(err)
			if again.Restarts != n {
				p.Errorf("got %d restarts, want %d", again.Restarts, n)
			}
			p.near("MaxExpiresAt", again.MaxExpiresAt, before.Add(p.seconds(20)))
			p.near("ExpiresAt", again.ExpiresAt, before.Add(p.seconds(20)))
			got = again
		}
		_, err := p.Extend(p.ctx, got.ID, amal, p.seconds(20), true)
		p.is(err, holds.ErrRestarts)
		p.unchanged(got)
	})
}

// pin tests how a pin protects a hold while its booking is being written.
func (h Harness) pin(t *testing.T) {
	h.prove(t, "a pin extends a hold beyond its expiry and its maximum, for the given time", func(p *proof) {
		p.brief()
		wish := p.wish("ada", "09:00", amal)
		wish.MaxLife = wish.TTL
		got := p.claim(wish)
		before := time.Now()
		pinned, err := p.Pin(p.ctx, got.ID, amal, p.seconds(20))
		p.no(err)
		if !pinned.Pinned {
			p.Error("got an unpinned hold, want it pinned")
		}
		p.near("ExpiresAt", pinned.ExpiresAt, before.Add(p.seconds(20)))
		p.pass(p.seconds(18))
		p.refused(p.wish("ada", "09:00", bela))
		p.pass(p.seconds(2))
		p.claim(p.wish("ada", "09:00", bela))
	})
	h.prove(t, "neither a first nor a second pin shortens a hold", func(p *proof) {
		got := p.claim(p.wish("ada", "09:00", amal))
		for _, c := range []struct {
			pin  float64
			want time.Time
		}{{2, got.ExpiresAt}, {20, got.ExpiresAt.Add(p.seconds(10))}, {2, got.ExpiresAt.Add(p.seconds(10))}} {
			pinned, err := p.Pin(p.ctx, got.ID, amal, p.seconds(c.pin))
			p.no(err)
			p.near("ExpiresAt", pinned.ExpiresAt, c.want)
		}
	})
	h.prove(t, "an unpinned hold expires at its earlier expiry, or after the grace period if that has passed", func(p *proof) {
		p.brief()
		got := p.claim(p.wish("ada", "09:00", amal))
		_, err := p.Pin(p.ctx, got.ID, amal, p.seconds(30))
		p.no(err)
		early, err := p.Unpin(p.ctx, got.ID, amal, p.seconds(20))
		p.no(err)
		if early.Pinned {
			p.Error("the hold is still pinned")
		}
		p.near("in time", early.ExpiresAt, got.ExpiresAt)

		_, err = p.Pin(p.ctx, got.ID, amal, p.seconds(30))
		p.no(err)
		p.pass(p.seconds(15))
		before := time.Now()
		late, err := p.Unpin(p.ctx, got.ID, amal, p.seconds(5))
		p.no(err)
		p.near("past", late.ExpiresAt, before.Add(p.seconds(5)))
		p.pass(p.seconds(5) + p.h.Late)
		p.punctual(func() { p.stream.event(holds.EventRelease, got.ID) })
		_, err = p.Hold(p.ctx, got.ID)
		p.is(err, holds.ErrNotFound)
	})
	h.prove(t, "unpinning an unpinned hold changes nothing", func(p *proof) {
		got := p.claim(p.wish("ada", "09:00", amal))
		if now, err := p.Unpin(p.ctx, got.ID, amal, p.seconds(30)); err != nil || now != got {
			p.Errorf("got %+v, %v, want %+v", now, err, got)
		}
	})
}

// lapse tests how a hold expires.
func (h Harness) lapse(t *testing.T) {
	h.prove(t, "a hold exists until its expiry, and from that instant no call finds it", func(p *proof) {
		p.brief()
		got := p.claim(p.wish("ada", "09:00", amal))
		p.pass(p.seconds(10) - p.moment())
		if _, err := p.Hold(p.ctx, got.ID); err != nil {
			p.Errorf("just before: got %v, want the hold", err)
		}
		p.refused(p.wish("ada", "09:00", bela))
		p.pass(p.moment())
		next := p.claim(p.wish("ada", "09:00", bela))
		_, err := p.Hold(p.ctx, got.ID)
		p.is(err, holds.ErrNotFound)
		_, err = p.Extend(p.ctx, got.ID, amal, p.seconds(10), false)
		p.is(err, holds.ErrNotFound)
		_, err = p.Pin(p.ctx, got.ID, amal, p.seconds(10))
		p.is(err, holds.ErrNotFound)
		if ok, err := p.Confirm(p.ctx, got.ID, amal); ok || err != nil {
			p.Errorf("confirm: got %v, %v, want false", ok, err)
		}
		if ok, err := p.Release(p.ctx, got.ID, amal, holds.ReasonReleased); ok || err != nil {
			p.Errorf("release: got %v, %v, want false", ok, err)
		}
		if list := p.list(); len(list) != 1 || list[0].ID != next.ID {
			p.Errorf("got %+v, want only the next client's hold", list)
		}
	})
	h.prove(t, "an expiry is published on time without a call", func(p *proof) {
		p.brief()
		got := p.claim(p.wish("ada", "09:00", amal))
		p.pass(p.seconds(10) + p.h.Late)
		var e holds.Event
		p.punctual(func() { e = p.stream.event(holds.EventRelease, got.ID) })
		if e.Reason != holds.ReasonExpired || e.Span != got.Span || !e.Owner.Is(amal) {
			p.Errorf("got %+v, want amal's span, expired", e)
		}
		p.near("At", e.At, got.ExpiresAt)
	})
	h.prove(t, "many holds that expire together are all released on time", func(p *proof) {
		p.brief()
		n := min(1000, p.h.Queue/2)
		for i := range n {
			p.claim(p.wish(fmt.Sprintf("specialist-%d", i), "09:00", client(i)))
		}
		p.stream.seen(n)
		p.pass(p.seconds(10) + p.h.Late)
		p.stream.seen(2 * n)
		if got := p.stream.count(holds.EventRelease); got != n {
			p.Errorf("got %d releases, want %d", got, n)
		}
	})
	h.prove(t, "expiries are published in order, even if a claim finds them first", func(p *proof) {
		p.brief()
		var ids []string
		for i, at := range []string{"09:00", "09:30", "10:00", "10:30"} {
			wish := p.wish("ada", at, client(i))
			wish.TTL = p.seconds(float64(10 - 2*i))
			ids = append([]string{p.claim(wish).ID}, ids...)
		}
		p.pass(p.seconds(10))
		p.claim(p.wish("ada", "09:00", amal))
		p.stream.seen(9)
		for i := range ids[1:] {
			before, after := p.stream.event(holds.EventRelease, ids[i]), p.stream.event(holds.EventRelease, ids[i+1])
			if before.Seq > after.Seq {
				p.Errorf("got expiry %d as event %d after the next one, %d", i, before.Seq, after.Seq)
			}
		}
	})
	h.prove(t, "a hundred holds with different lifetimes are each released at their own expiry", func(p *proof) {
		p.brief()
		// The stream compares every release with the hold's deadline.
		rnd := rand.New(rand.NewPCG(1, 1))
		for i := range 100 {
			wish := p.wish(fmt.Sprintf("specialist-%d", i%7), "09:00", client(i))
			wish.SlotStart, wish.BusyStart = wish.SlotStart.Add(time.Duration(i)*time.Hour),
				wish.BusyStart.Add(time.Duration(i)*time.Hour)
			wish.SlotEnd, wish.BusyEnd = wish.SlotEnd.Add(time.Duration(i)*time.Hour),
				wish.BusyEnd.Add(time.Duration(i)*time.Hour)
			wish.TTL = p.seconds(1 + 9*rnd.Float64())
			got := p.claim(wish)
			switch rnd.IntN(4) {
			case 0:
				_, err := p.Extend(p.ctx, got.ID, got.Owner, p.seconds(1+9*rnd.Float64()), false)
				p.no(err)
			case 1:
				p.released(got)
			}
		}
		p.pass(p.seconds(11) + p.h.Late)
		p.punctual(func() { p.stream.await("every end", func() bool { return len(p.stream.ended) == 100 }) })
	})
	h.prove(t, "an extended hold does not expire at its first expiry", func(p *proof) {
		p.brief()
		got := p.claim(p.wish("ada", "09:00", amal))
		p.pass(p.seconds(5))
		_, err := p.Extend(p.ctx, got.ID, amal, p.seconds(10), false)
		p.no(err)
		p.pass(p.seconds(7))
		p.refused(p.wish("ada", "09:00", bela))
		p.pass(p.seconds(3))
		p.claim(p.wish("ada", "09:00", bela))
	})

	var asked atomic.Int32
	booked := func(h holds.Hold) bool {
		asked.Add(1)
		return h.Owner == amal
	}
	h.proveBooked(t, "a pinned hold that lapses is free at once, and ends as its booking did", booked, func(p *proof) {
		p.brief()
		asked.Store(0)
		done, failed := p.claim(p.wish("ada", "09:00", amal)), p.claim(p.wish("ada", "09:30", bela))
		unpinned := p.claim(p.wish("ada", "10:00", amal))
		for _, h := range []holds.Hold{done, failed} {
			_, err := p.Pin(p.ctx, h.ID, h.Owner, p.seconds(10))
			p.no(err)
		}
		p.pass(p.seconds(10) + p.h.Late)
		p.stream.event(holds.EventConfirm, done.ID)
		if e := p.stream.event(holds.EventRelease, failed.ID); e.Reason != holds.ReasonExpired {
			p.Errorf("got reason %q, want %q", e.Reason, holds.ReasonExpired)
		}
		p.stream.event(holds.EventRelease, unpinned.ID)
		if n := asked.Load(); n != 2 {
			p.Errorf("got %d questions, want two: only about pinned holds", n)
		}
	})
	var answer chan struct{}
	slow := func(holds.Hold) bool { <-answer; return false }
	h.proveBooked(t, "a slow answer about one booking delays nothing else", slow, func(p *proof) {
		p.brief()
		answer = make(chan struct{})
		pinned := p.claim(p.wish("ada", "09:00", amal))
		_, err := p.Pin(p.ctx, pinned.ID, amal, p.seconds(10))
		p.no(err)
		other := p.claim(p.wish("ada", "10:00", bela))
		p.pass(p.seconds(10))
		p.stream.event(holds.EventRelease, other.ID)
		p.claim(p.wish("ada", "10:00", caro))
		close(answer)
		p.stream.event(holds.EventRelease, pinned.ID)
	})
}

// moment returns the shortest interval that this backend's clock measures reliably.
func (p *proof) moment() time.Duration {
	if p.h.Virtual {
		return 1
	}
	return p.h.Late
}

// punctual runs wait and fails if that takes longer than Late: the caller has already waited until the deadline.
func (p *proof) punctual(wait func()) {
	p.Helper()
	before := time.Now()
	wait()
	if waited := time.Since(before); waited > p.h.Late {
		p.Errorf("the second expiry was %v later, want at most %v", waited, p.h.Late)
	}
}
