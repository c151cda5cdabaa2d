package holdstest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/holds"
)

// restore tests holds.Restorer, for the backends that implement it.
func (h Harness) restore(t *testing.T) {
	prove := func(promise string, body func(p *proof, r holds.Restorer)) {
		h.prove(t, promise, func(p *proof) {
			r, ok := p.Backend.(holds.Restorer)
			if !ok {
				p.Skip("this backend cannot restore holds")
			}
			body(p, r)
		})
	}
	// left returns a hold from another backend with half of its minute used up.
	left := func(p *proof, start string, c holds.Owner) holds.Remains {
		now := time.Now().UTC().Truncate(time.Millisecond)
		return holds.Remains{
			Hold: holds.Hold{ID: "01890a5d-ac96-774b-bcce-b302099a8057", Span: p.span("ada", start), Owner: c,
				Restarts:  holds.MaxRestarts - 1,
				ExpiresAt: now.Add(p.seconds(5)), MaxExpiresAt: now.Add(p.seconds(30))},
			LapsesAt: now.Add(p.seconds(5)), Life: p.seconds(60),
		}
	}
	prove("a restored hold has its remaining time, its maximum and its restarts", func(p *proof, r holds.Restorer) {
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
	prove("several holds are restored in order, each independently", func(p *proof, r holds.Restorer) {
		many, ok := r.(holds.ManyRestorer)
		if !ok {
			p.Skip("this backend cannot restore holds after one another")
		}
		theirs := p.claim(p.wish("ada", "11:00", bela))
		var all []holds.Remains
		for i, start := range []string{"09:00", "10:00", "11:00", "09:00", "12:00"} {
			x := left(p, start, amal)
			x.ID = fmt.Sprintf("01890a5d-ac96-774b-bcce-b302099a805%d", i)
			all = append(all, x)
		}
		all[3].Owner, all[4].Pinned, all[4].ExpiresAt = caro, true, all[4].LapsesAt.Add(p.seconds(20))
		got, err := many.RestoreAll(p.ctx, all)
		p.no(err)
		for i, until := range []time.Time{{}, {}, theirs.ExpiresAt, all[0].ExpiresAt, {}} {
			var held *holds.HeldError
			switch {
			case until.IsZero() && (got[i].Err != nil || got[i].Hold.ID != all[i].ID ||
				got[i].Hold.Span != all[i].Span):
				p.Errorf("%d: got %+v, want it restored", i, got[i])
			case !until.IsZero() && !errors.As(got[i].Err, &held):
				p.Errorf("%d: got %+v, want a HeldError", i, got[i])
			case !until.IsZero():
				p.near("Until", held.Until, until)
			}
		}
		p.near("pinned", got[4].Hold.ExpiresAt, all[4].ExpiresAt)
		for i := range 3 { // of the two at 09:00, the first has the time
			if i != 1 {
				p.near("Until", p.refused(p.wish("ada", []string{"09:00", "", "10:00"}[i], caro)), all[i].ExpiresAt)
			}
		}
		var free []holds.Remains // holds without a conflict
		for i := range 3 {
			x := left(p, "09:00", amal)
			x.ID, x.SpecialistID = fmt.Sprintf("01890a5d-ac96-774b-bcce-b302099a807%d", i), fmt.Sprint("other-", i)
			free = append(free, x)
		}
		alone, err := many.RestoreAll(p.ctx, free)
		p.no(err)
		for i := range alone {
			if alone[i].Err != nil || alone[i].Hold.ID != free[i].ID || alone[i].Hold.Span != free[i].Span ||
				alone[i].Hold.Restarts != free[i].Restarts {
				p.Errorf("without a conflict: got %+v", alone[i])
			}
			p.near("ExpiresAt", alone[i].Hold.ExpiresAt, free[i].ExpiresAt)
			p.near("MaxExpiresAt", alone[i].Hold.MaxExpiresAt, free[i].MaxExpiresAt)
		}
		if n := len(p.list("other-0", "other-1", "other-2")); n != len(free) {
			p.Errorf("got %d of the holds in the list, want %d", n, len(free))
		}
		again, err := many.RestoreAll(p.ctx, all[:2])
		p.no(err)
		if len(again) != 2 || again[0].Hold.ID != all[0].ID || again[1].Err != nil {
			p.Errorf("second restore: got %+v, want the current hold", again)
		}
		if empty, err := many.RestoreAll(p.ctx, nil); err != nil || len(empty) != 0 {
			p.Errorf("none: got %+v, %v", empty, err)
		}
	})
	prove("a pin is restored, and the hold's expiry without the pin", func(p *proof, r holds.Restorer) {
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
			p.Error("the hold is still pinned")
		}
		p.near("without the pin", got.ExpiresAt, x.LapsesAt)
	})
	prove("a time that another client claimed in the meantime is refused, and that hold stays", func(p *proof, r holds.Restorer) {
		taken := p.claim(p.wish("ada", "09:15", bela))
		_, err := r.Restore(p.ctx, left(p, "09:00", amal))
		held, ok := err.(*holds.HeldError)
		if !ok {
			p.Fatalf("got %v, want a HeldError", err)
		}
		p.near("Until", held.Until, taken.ExpiresAt)
		p.unchanged(taken)
	})
	prove("the owner's new hold of the same slot is replaced", func(p *proof, r holds.Restorer) {
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
	prove("an existing hold gets the remaining time", func(p *proof, r holds.Restorer) {
		p.brief()
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
			p.Errorf("after its first expiry time: got %v, want the hold", err)
		}
	})
	prove("a restored selection has its remaining time", func(p *proof, r holds.Restorer) {
		p.brief()
		_, err := p.Select(p.ctx, bela, p.span("ada", "09:00"))
		p.no(err)
		// less than a selection's full lifetime, which does not depend on the suite's seconds
		left := min(p.seconds(4), 4*time.Second)
		until := time.Now().UTC().Add(left)
		p.no(r.RestoreSelection(p.ctx, holds.Selection{Span: p.span("ada", "09:30"), Owner: amal, ExpiresAt: until}))
		p.selects("ada", "09:00 09:30")
		p.pass(left + min(p.h.Late, 3*time.Second))
		p.selects("ada", "09:00")
		if e := p.stream.event(holds.EventDeselect, ""); e.Owner != amal || e.Reason != holds.ReasonExpired {
			p.Errorf("got %+v, want amal's hold, expired", e)
		}
	})
	prove("restored presence has the later heartbeat and the current load",
		func(p *proof, r holds.Restorer) {
			now := time.Now().UTC()
			p.loads("ada", 2, 2)
			p.no(r.RestorePresent(p.ctx, holds.Present{SpecialistID: "ada", Online: true, Max: 3, Load: 9,
				HeartbeatAt: now.Add(-p.seconds(4))}))
			got := p.one("ada")
			p.near("HeartbeatAt", got.HeartbeatAt, now.Add(-p.seconds(4)))
			if !got.Online || got.Max != 3 || got.Load != 2 {
				p.Errorf("got %+v, want ada online with 2 of 3 sessions", got)
			}
			p.available(p.seconds(5), "ada")
			p.available(p.seconds(3), "")
			p.no(r.RestorePresent(p.ctx, holds.Present{SpecialistID: "ada", Deactivated: true,
				HeartbeatAt: now.Add(-p.seconds(8))}))
			got = p.one("ada")
			p.near("HeartbeatAt", got.HeartbeatAt, now.Add(-p.seconds(4)))
			if got.Online || !got.Deactivated {
				p.Errorf("got %+v, want ada deactivated", got)
			}
		})
}
