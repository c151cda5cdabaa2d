package holdstest

import (
	"testing"

	"holdfast/holds"
)

// displace tests how staff take time that other clients hold.
func (h Harness) displace(t *testing.T) {
	h.prove(t, "staff displace every conflicting unpinned hold, and each release is published before the new hold", func(p *proof) {
		first := p.claim(p.wish("ada", "09:00", amal))
		second := p.claim(p.wish("ada", "09:30", bela))
		beside := p.claim(p.wish("ada", "10:00", caro))
		wish := p.wish("ada", "09:15", holds.ClientID("client-staff-0a93b1de").Owner())
		wish.Displace = true
		got := p.claim(wish)
		for _, gone := range []holds.Hold{first, second} {
			if e := p.stream.event(holds.EventRelease, gone.ID); e.Reason != holds.ReasonDisplaced {
				p.Errorf("got reason %q, want %q", e.Reason, holds.ReasonDisplaced)
			}
			_, err := p.Hold(p.ctx, gone.ID)
			p.is(err, holds.ErrNotFound)
		}
		if _, err := p.Hold(p.ctx, beside.ID); err != nil {
			p.Errorf("the hold of another time: got %v, want it unchanged", err)
		}
		p.stream.event(holds.EventHold, got.ID) // if this event came first, the stream would report a conflict
	})
	h.prove(t, "a pinned hold is not displaced, and then no other hold is either", func(p *proof) {
		longer := p.wish("ada", "09:00", amal)
		longer.TTL = p.seconds(30)
		p.claim(longer)
		pinned := p.claim(p.wish("ada", "09:30", bela))
		pinned, err := p.Pin(p.ctx, pinned.ID, bela, p.seconds(20))
		p.no(err)
		wish := p.wish("ada", "09:15", caro)
		wish.Displace = true
		p.near("Until", p.refused(wish), pinned.ExpiresAt)
		if n := len(p.list()); n != 2 {
			p.Errorf("got %d holds, want both", n)
		}
	})
	h.prove(t, "a free seat is preferred to a displacement", func(p *proof) {
		wish := p.wish("ada", "09:00", amal)
		wish.Seats = []int{0, 1}
		p.claim(wish)
		wish.Owner, wish.Displace = bela, true
		if got := p.claim(wish); got.Seat != 1 || len(p.list()) != 2 {
			p.Errorf("got seat %d and %d holds, want 1 and 2", got.Seat, len(p.list()))
		}
		wish.Owner = caro
		if got := p.claim(wish); got.Seat != 0 || len(p.list()) != 2 {
			p.Errorf("after all seats were held: got seat %d and %d holds, want 0 and 2", got.Seat, len(p.list()))
		}
	})
	h.prove(t, "a client over the quota displaces no hold; holds that the claim displaces do not count", func(p *proof) {
		own := p.claim(p.wish("ada", "09:00", amal))
		p.claim(p.wish("bob", "09:00", bela))
		wish := p.wish("bob", "09:00", amal)
		wish.Displace, wish.Quota = true, 1
		_, err := p.Claim(p.ctx, wish)
		p.is(err, holds.ErrQuota)
		if n := len(p.list()); n != 2 {
			p.Errorf("got %d holds, want both", n)
		}
		wish = p.wish("ada", "09:15", amal)
		wish.Displace, wish.Quota = true, 1
		p.claim(wish)
		_, err = p.Hold(p.ctx, own.ID)
		p.is(err, holds.ErrNotFound)
	})
}
