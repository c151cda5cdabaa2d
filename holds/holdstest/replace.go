package holdstest

import (
	"errors"
	"sync/atomic"
	"testing"

	"holdfast/holds"
)

// replace tests claims that replace a hold. In every test, the stream checks that a new hold that overlaps the old one
// is published directly before the release.
func (h Harness) replace(t *testing.T) {
	h.prove(t, "a claim replaces a hold that it overlaps, and the new hold is published before the release",
		func(p *proof) {
			old := p.claim(p.wish("ada", "09:00", amal))
			got := p.claim(instead(p.wish("ada", "09:15", caro), old))
			p.replaced(old, got)
			if list := p.list(); len(list) != 1 || list[0] != got {
				p.Errorf("got %+v, want just %+v", list, got)
			}
			p.refused(p.wish("ada", "09:30", bela))
		})
	h.prove(t, "a claim replaces a hold of the same slot for another owner", func(p *proof) {
		old := p.claim(p.wish("ada", "09:00", amal))
		got := p.claim(instead(p.wish("ada", "09:00", caro), old))
		p.replaced(old, got)
		p.unchanged(got)
		if again := p.claim(p.wish("ada", "09:00", caro)); again.ID != got.ID {
			p.Errorf("repeat: got %s, want %s", again.ID, got.ID)
		}
	})
	h.prove(t, "a claim replaces a hold at another time and with another specialist", func(p *proof) {
		for _, specialist := range []string{"bob", "cyd", "dan", "eve"} {
			old := p.claim(p.wish("ada", "09:00", amal))
			p.replaced(old, p.claim(instead(p.wish(specialist, "11:00", amal), old)))
		}
	})
	h.prove(t, "another client's hold in the rest of the time refuses the claim, and the old hold is unchanged",
		func(p *proof) {
			old := p.claim(p.wish("ada", "09:00", amal))
			longer := p.wish("ada", "09:30", bela)
			longer.TTL = p.seconds(20)
			theirs := p.claim(longer)
			wish := instead(p.wish("ada", "09:15", amal), old)
			p.near("Until", p.refused(wish), theirs.ExpiresAt)
			p.unchanged(old)
			p.released(theirs)
			p.replaced(old, p.claim(wish))
		})
	h.prove(t, "booked time refuses the claim, and the old hold is unchanged", func(p *proof) {
		old := p.claim(p.wish("ada", "09:00", amal))
		p.book("ada", "09:30", "10:00")
		_, err := p.Claim(p.ctx, instead(p.wish("ada", "09:15", amal), old))
		p.is(err, holds.ErrTaken)
		p.unchanged(old)
	})
	h.prove(t, "staff displace the other holds and replace their own", func(p *proof) {
		old, theirs := p.claim(p.wish("ada", "09:00", amal)), p.claim(p.wish("ada", "09:30", bela))
		wish := instead(p.wish("ada", "09:15", amal), old)
		wish.Displace = true
		p.replaced(old, p.claim(wish))
		if e := p.stream.event(holds.EventRelease, theirs.ID); e.Reason != holds.ReasonDisplaced {
			p.Errorf("got reason %q, want %q", e.Reason, holds.ReasonDisplaced)
		}
	})
	h.prove(t, "a replaced hold does not count against its owner's quota, and not for another owner's", func(p *proof) {
		old := p.claim(p.wish("ada", "09:00", amal))
		p.claim(p.wish("bob", "09:00", caro))
		wish := instead(p.wish("ada", "09:15", caro), old)
		wish.Quota = 1
		_, err := p.Claim(p.ctx, wish)
		p.is(err, holds.ErrQuota)
		p.unchanged(old)
		for _, start := range []string{"09:15", "11:00"} {
			wish := instead(p.wish("ada", start, amal), old)
			wish.Quota = 1
			got := p.claim(wish)
			p.replaced(old, got)
			old = got
		}
	})
	h.prove(t, "a claim ignores an unknown, expired or pinned hold, and refuses to replace another owner's hold",
		func(p *proof) {
			p.brief()
			old := p.claim(p.wish("ada", "09:00", amal))
			wish := instead(p.wish("bob", "09:00", bela), old)
			wish.Replaces.Owner = bela
			_, err := p.Claim(p.ctx, wish)
			p.is(err, holds.ErrNotOwner)
			p.unchanged(old)
			if n := len(p.list("bob")); n != 0 {
				p.Errorf("got %d holds after a refusal, want none", n)
			}
			pinned, err := p.Pin(p.ctx, old.ID, amal, p.seconds(20))
			p.no(err)
			p.refused(instead(p.wish("ada", "09:15", amal), pinned))
			p.claim(instead(p.wish("bob", "09:15", amal), pinned))
			p.unchanged(pinned)
			if _, err = p.Unpin(p.ctx, old.ID, amal, 0); err == nil {
				p.pass(p.seconds(11))
			}
			p.no(err)
			p.claim(instead(p.wish("ada", "09:15", amal), old))
			p.claim(instead(p.wish("cyd", "09:15", amal),
				holds.Hold{ID: "01890a5d-ac96-774b-bcce-b302099a8057", Owner: amal}))
		})
	h.prove(t, "a repeated claim returns its hold and ends the one that it replaces, unless they are the same",
		func(p *proof) {
			old, kept := p.claim(p.wish("ada", "09:00", amal)), p.claim(p.wish("ada", "11:00", amal))
			if got := p.claim(instead(p.wish("ada", "11:00", amal), kept)); got.ID != kept.ID {
				p.Errorf("got %s, want %s", got.ID, kept.ID)
			}
			if got := p.claim(instead(p.wish("ada", "11:00", amal), old)); got.ID != kept.ID {
				p.Errorf("got %s, want %s", got.ID, kept.ID)
			}
			p.stream.event(holds.EventRelease, old.ID)
			if list := p.list(); len(list) != 1 || list[0].ID != kept.ID {
				p.Errorf("got %+v, want just %s", list, kept.ID)
			}
		})
	h.prove(t, "a claim takes the resources of the hold that it replaces, or leaves it all of them", func(p *proof) {
		old := p.claim(p.needing("ada", "09:00", amal, []string{"room-1"}))
		theirs := p.claim(p.needing("cyd", "09:00", bela, []string{"laser"}))
		wish := instead(p.needing("bob", "09:15", amal, []string{"room-1"}, []string{"laser"}), old)
		p.refused(wish)
		p.unchanged(old)
		if list := p.list("room-1"); len(list) != 1 || list[0].ID != old.ID {
			p.Errorf("got %+v, want just the old hold", list)
		}
		p.released(theirs)
		got := p.claim(wish)
		p.replaced(old, got)
		if got.Resources != "room-1 laser" {
			p.Errorf("got %q, want both", got.Resources)
		}
	})
	h.prove(t, "while other clients race for the rest of the time, the owner always has one of the two holds",
		func(p *proof) {
			refused, won := 0, 0
			for round := range 40 {
				old := p.claim(p.wish("ada", "09:00", amal))
				var got holds.Hold
				var err error
				p.race(2, func(i int) func() {
					if i != round%2 {
						theirs, err := p.Claim(p.ctx, p.wish("ada", "09:30", client(i)))
						return func() {
							if err == nil {
								p.released(theirs)
							}
						}
					}
					mine, failed := p.Claim(p.ctx, instead(p.wish("ada", "09:15", amal), old))
					return func() { got, err = mine, failed }
				})
				var held *holds.HeldError
				switch {
				case err == nil:
					won++
					p.replaced(old, got)
					p.unchanged(got)
				case errors.As(err, &held):
					refused++
					p.unchanged(old)
					got = old
				default:
					p.Fatalf("got %v, want a hold or a HeldError", err)
				}
				p.released(got)
			}
			p.Logf("%d replaced, %d refused", won, refused)
		})
	h.prove(t, "of concurrent claims that replace one hold under a quota of one, exactly one succeeds", func(p *proof) {
		for range 20 {
			old := p.claim(p.wish("ada", "09:00", amal))
			var won atomic.Int32
			p.race(8, func(i int) func() {
				wish := instead(p.wish([]string{"ada", "bob", "cyd", "dan"}[i%4],
					[]string{"09:15", "11:00"}[i/4], amal), old)
				wish.Quota = 1
				if _, err := p.Claim(p.ctx, wish); err == nil {
					won.Add(1)
				} else if !errors.Is(err, holds.ErrQuota) {
					p.Errorf("got %v, want a hold or ErrQuota", err)
				}
				return func() {}
			})
			list := p.list()
			if won.Load() != 1 || len(list) != 1 {
				p.Fatalf("got %d winners and %d holds, want one", won.Load(), len(list))
			}
			p.released(list[0])
		}
	})
}

// instead returns the claim, so that it replaces a hold.
func instead(c holds.Claim, old holds.Hold) holds.Claim {
	c.Replaces = holds.Replaced{ID: old.ID, Owner: old.Owner}
	return c
}

// replaced fails unless the old hold ended for the new one, and its release was published after the new hold.
func (p *proof) replaced(old, got holds.Hold) {
	p.Helper()
	begun, over := p.stream.event(holds.EventHold, got.ID), p.stream.event(holds.EventRelease, old.ID)
	if over.Reason != holds.ReasonReleased || over.Seq < begun.Seq {
		p.Errorf("got reason %q and release %d, want %q after the new hold, %d", over.Reason, over.Seq,
			holds.ReasonReleased, begun.Seq)
	}
	_, err := p.Hold(p.ctx, old.ID)
	p.is(err, holds.ErrNotFound)
}
