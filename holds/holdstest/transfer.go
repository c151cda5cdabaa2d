package holdstest

import (
	"errors"
	"testing"

	"holdfast/holds"
)

// transfer tests how a hold is transferred to another owner.
func (h Harness) transfer(t *testing.T) {
	h.prove(t, "a transferred hold keeps its id and gets the new owner's lifetime", func(p *proof) {
		was := p.claim(p.wish("ada", "09:00", amal))
		_, err := p.Pin(p.ctx, was.ID, amal, p.seconds(50))
		p.no(err)
		got, err := p.Transfer(p.ctx, was.ID, amal, bela, p.seconds(20), p.seconds(40))
		p.no(err)
		if got.ID != was.ID || got.Owner != bela || got.Span != was.Span || got.Pinned || got.Restarts != 0 {
			p.Errorf("got %+v, want %+v of its new owner", got, was)
		}
		if left := got.MaxExpiresAt.Sub(got.ExpiresAt); left != p.seconds(20) {
			p.Errorf("got %v between expiry and maximum, want %v", left, p.seconds(20))
		}
		if e := p.stream.event(holds.EventHeartbeat, was.ID); !e.Owner.Is(bela) || !e.ExpiresAt.Equal(got.ExpiresAt) {
			p.Errorf("got %+v, want the new owner and expiry", e)
		}
		p.near("Until", p.refused(p.wish("ada", "09:00", amal)), got.ExpiresAt)
		_, err = p.Release(p.ctx, was.ID, amal, holds.ReasonReleased)
		p.is(err, holds.ErrNotOwner)
		if again := p.claim(p.wish("ada", "09:00", bela)); again.ID != was.ID {
			p.Errorf("got %s, want the owner's hold %s", again.ID, was.ID)
		}
		p.released(got)
	})
	h.prove(t, "only the owner can transfer a hold, and only before it expires", func(p *proof) {
		was := p.claim(p.wish("ada", "09:00", amal))
		_, err := p.Transfer(p.ctx, was.ID, bela, caro, p.seconds(20), p.seconds(40))
		p.is(err, holds.ErrNotOwner)
		p.unchanged(was)
		p.released(was)
		_, err = p.Transfer(p.ctx, was.ID, amal, bela, p.seconds(20), p.seconds(40))
		p.is(err, holds.ErrNotFound)
	})
	h.prove(t, "no claim takes the time of a hold while it is transferred", func(p *proof) {
		was := p.claim(p.wish("ada", "09:00", amal))
		p.race(8, func(i int) func() {
			if i == 0 {
				_, err := p.Transfer(p.ctx, was.ID, amal, bela, p.seconds(20), p.seconds(40))
				return func() { p.no(err) }
			}
			_, err := p.Claim(p.ctx, p.wish("ada", "09:00", client(i)))
			return func() {
				var held *holds.HeldError
				if !errors.As(err, &held) {
					p.Errorf("got %v, want a HeldError", err)
				}
			}
		})
		if list := p.list("ada"); len(list) != 1 || list[0].ID != was.ID || list[0].Owner != bela {
			p.Errorf("got %+v, want the hold %s of its new owner", list, was.ID)
		}
	})
	h.prove(t, "a transferred hold no longer counts against its first owner's quota", func(p *proof) {
		wish := p.wish("ada", "09:00", amal)
		wish.Quota = 1
		was := p.claim(wish)
		_, err := p.Transfer(p.ctx, was.ID, amal, bela, p.seconds(20), p.seconds(40))
		p.no(err)
		next := p.wish("ada", "10:00", amal)
		next.Quota = 1
		p.claim(next)
	})
}
