package holdstest

import (
	"testing"
	"time"

	"holdfast/holds"
)

// restore is the promises of holds.Restorer, of the backends that are one.
func (h Harness) restore(t *testing.T) {
	prove := func(promise string, body func(p *proof, r holds.Restorer)) {
		h.prove(t, promise, func(p *proof) {
			r, ok := p.Backend.(holds.Restorer)
			if !ok {
				p.Skip("this backend takes over nothing")
			}
			body(p, r)
		})
	}
	// left is a hold from elsewhere, half way through its minute.
	left := func(p *proof, start string, c holds.Owner) holds.Remains {
		now := time.Now().UTC().Truncate(time.Millisecond)
		return holds.Remains{
			Hold: holds.Hold{ID: "01890a5d-ac96-774b-bcce-b302099a8057", Span: p.span("ada", start), Owner: c, Restarts: holds.MaxRestarts - 1,
				ExpiresAt: now.Add(p.seconds(5)), MaxExpiresAt: now.Add(p.seconds(30))},
			LapsesAt: now.Add(p.seconds(5)), Life: p.seconds(60),
		}
	}
	prove("a hold goes on with the time it has left, its maximum and its restarts", func(p *proof, r holds.Restorer) {
		x := left(p, "09:00", amal)
		got, err := r.Restore(p.ctx, x)
		p.no(err)
		if got.Span != x.Span || got.Owner != amal || got.Restarts != x.Restarts || got.Pinned {
			p.Errorf("got %+v, want %+v", got, x.Hold)
		}
		p.near("ExpiresAt", got.ExpiresAt, x.ExpiresAt)
		p.near("MaxExpiresAt", got.MaxExpiresAt, x.MaxExpiresAt)
		p.stream.event(holds.EventHold, got.ID)
		p.near("Until", p.refused(p.wish("ada", "09:00", bela)), x.ExpiresAt)
		longer, err := p.Extend(p.ctx, got.ID, amal, p.seconds(60), false)
		p.no(err)
		p.near("its maximum", longer.ExpiresAt, x.MaxExpiresAt)
		before := time.Now()
		longer, err = p.Extend(p.ctx, got.ID, amal, p.seconds(60), true)
		p.no(err)
		p.near("its whole life", longer.ExpiresAt, before.Add(p.seconds(60)))
		_, err = p.Extend(p.ctx, got.ID, amal, p.seconds(60), true)
		p.is(err, holds.ErrRestarts)
	})
	prove("a pin is taken over, and what the hold has without it", func(p *proof, r holds.Restorer) {
		x := left(p, "09:00", amal)
		x.Pinned, x.ExpiresAt = true, x.LapsesAt.Add(p.seconds(20))
		got, err := r.Restore(p.ctx, x)
		p.no(err)
		p.near("pinned", got.ExpiresAt, x.ExpiresAt)
		staff := p.wish("ada", "09:00", bela)
		staff.Displace = true
		p.refused(staff)
		got, err = p.Unpin(p.ctx, got.ID, amal, p.seconds(1))
		p.no(err)
		if got.Pinned {
			p.Error("got it still pinned")
		}
		p.near("without the pin", got.ExpiresAt, x.LapsesAt)
	})
	prove("what somebody else took meanwhile is refused, and stays", func(p *proof, r holds.Restorer) {
		taken := p.claim(p.wish("ada", "09:15", bela))
		_, err := r.Restore(p.ctx, left(p, "09:00", amal))
		held, ok := err.(*holds.HeldError)
		if !ok {
			p.Fatalf("got %v, want a HeldError", err)
		}
		p.near("Until", held.Until, taken.ExpiresAt)
		p.unchanged(taken)
	})
	prove("what its owner took meanwhile on the same slot gives way", func(p *proof, r holds.Restorer) {
		other := p.claim(p.wish("ada", "09:00", amal))
		got, err := r.Restore(p.ctx, left(p, "09:00", amal))
		p.no(err)
		if e := p.stream.event(holds.EventRelease, other.ID); e.Reason != holds.ReasonReleased {
			p.Errorf("got reason %q, want %q", e.Reason, holds.ReasonReleased)
		}
		if list := p.list(); len(list) != 1 || list[0].ID != got.ID {
			p.Errorf("got %+v, want only %s", list, got.ID)
		}
	})
	prove("a hold that is there is set to what is left", func(p *proof, r holds.Restorer) {
		h := p.claim(p.wish("ada", "09:00", amal))
		x := holds.Remains{Hold: h, LapsesAt: h.ExpiresAt.Add(p.seconds(5)), Life: p.seconds(60)}
		x.ExpiresAt = x.LapsesAt
		got, err := r.Restore(p.ctx, x)
		p.no(err)
		if got.ID != h.ID {
			p.Errorf("got %s, want %s", got.ID, h.ID)
		}
		p.near("ExpiresAt", got.ExpiresAt, x.ExpiresAt)
		p.pass(p.seconds(12))
		if _, err := p.Hold(p.ctx, h.ID); err != nil {
			p.Errorf("past its first end: got %v, want the hold", err)
		}
	})
	prove("a selection goes on with the time it has left", func(p *proof, r holds.Restorer) {
		_, err := p.Select(p.ctx, bela, p.span("ada", "09:00"))
		p.no(err)
		until := time.Now().UTC().Add(p.seconds(4))
		p.no(r.RestoreSelection(p.ctx, holds.Selection{Span: p.span("ada", "09:30"), Owner: amal, ExpiresAt: until}))
		p.selects("ada", "09:00 09:30")
		p.pass(p.seconds(4) + p.h.Late)
		p.selects("ada", "09:00")
		if e := p.stream.event(holds.EventDeselect, ""); e.Owner != amal || e.Reason != holds.ReasonExpired {
			p.Errorf("got %+v, want amal's, expired", e)
		}
	})
	prove("who is present goes on as they were, with the later heartbeat and the load that is here", func(p *proof, r holds.Restorer) {
		now := time.Now().UTC()
		p.loads("ada", 2, 2)
		p.no(r.RestorePresent(p.ctx, holds.Present{SpecialistID: "ada", Online: true, Max: 3, Load: 9, HeartbeatAt: now.Add(-p.seconds(4))}))
		got := p.one("ada")
		p.near("HeartbeatAt", got.HeartbeatAt, now.Add(-p.seconds(4)))
		if !got.Online || got.Max != 3 || got.Load != 2 {
			p.Errorf("got %+v, want ada online with 2 of 3", got)
		}
		p.available(p.seconds(5), "ada")
		p.available(p.seconds(3), "")
		p.no(r.RestorePresent(p.ctx, holds.Present{SpecialistID: "ada", Deactivated: true, HeartbeatAt: now.Add(-p.seconds(8))}))
		got = p.one("ada")
		p.near("HeartbeatAt", got.HeartbeatAt, now.Add(-p.seconds(4)))
		if got.Online || !got.Deactivated {
			p.Errorf("got %+v, want ada deactivated", got)
		}
	})
}
