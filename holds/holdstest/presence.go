package holdstest

import (
	"strings"
	"testing"
	"time"

	"holdfast/holds"
)

// presence tests holds.Presence.
func (h Harness) presence(t *testing.T) {
	h.prove(t, "going online or offline reports whether it changed anything; the load stays", func(p *proof) {
		before := time.Now()
		p.changed(true)(p.Online(p.ctx, "ada", 3))
		p.changed(false)(p.Online(p.ctx, "ada", 2))
		got := p.one("ada")
		p.near("HeartbeatAt", got.HeartbeatAt, before)
		if !got.Online || got.Deactivated || got.Max != 2 || got.Load != 0 || got.SpecialistID != "ada" {
			p.Errorf("got %+v, want ada online with a capacity of 2", got)
		}
		p.loads("ada", 1, 1)
		p.changed(true)(p.Offline(p.ctx, "ada"))
		p.changed(false)(p.Offline(p.ctx, "ada"))
		p.changed(false)(p.Offline(p.ctx, "bob"))
		if got := p.one("ada"); got.Online || got.Load != 1 {
			p.Errorf("got %+v, want ada offline with a load of 1", got)
		}
	})
	h.prove(t, "specialists without a heartbeat go offline, and no others", func(p *proof) {
		p.brief()
		p.changed(true)(p.Online(p.ctx, "ada", 3))
		p.changed(true)(p.Online(p.ctx, "bob", 3))
		p.changed(true)(p.Online(p.ctx, "cleo", 3))
		p.loads("ada", 1, 1)
		p.changed(true)(p.Deactivate(p.ctx, "cleo"))
		p.pass(p.seconds(6))
		p.no(p.Beat(p.ctx, "bob"))
		for id, want := range map[string]bool{"ada": true, "bob": false, "cleo": false, "dora": false} {
			p.changed(want)(p.OfflineUnheard(p.ctx, id, p.seconds(5)))
			p.changed(false)(p.OfflineUnheard(p.ctx, id, p.seconds(5)))
		}
		p.everyone("bob")
		if got := p.one("ada"); got.Online || got.Load != 1 {
			p.Errorf("got %+v, want ada offline with a load of 1", got)
		}
		p.is(p.Beat(p.ctx, "ada"), holds.ErrOffline)
		p.changed(true)(p.Activate(p.ctx, "cleo"))
		p.everyone("bob cleo")
	})
	h.prove(t, "an unknown specialist has only an id", func(p *proof) {
		if got, want := p.one("nobody"), (holds.Present{SpecialistID: "nobody"}); got != want {
			p.Errorf("got %+v, want %+v", got, want)
		}
	})
	h.prove(t, "a deactivated specialist is in no list; activation restores the earlier state", func(p *proof) {
		p.brief()
		p.changed(true)(p.Online(p.ctx, "ada", 1))
		p.changed(true)(p.Deactivate(p.ctx, "ada"))
		p.changed(false)(p.Deactivate(p.ctx, "ada"))
		if got := p.one("ada"); got.Online || !got.Deactivated {
			p.Errorf("got %+v, want deactivated and offline", got)
		}
		_, err := p.Online(p.ctx, "ada", 1)
		p.is(err, holds.ErrDeactivated)
		p.is(p.Beat(p.ctx, "ada"), holds.ErrDeactivated)
		p.no(p.SetMax(p.ctx, "ada", 4))
		p.loads("ada", 1, 1)
		p.everyone("")
		p.available(0, "")
		p.pass(p.seconds(6))
		before := time.Now()
		p.changed(true)(p.Activate(p.ctx, "ada"))
		p.changed(false)(p.Activate(p.ctx, "ada"))
		p.changed(false)(p.Activate(p.ctx, "bob"))
		got := p.one("ada")
		if !got.Online || got.Deactivated || got.Max != 4 || got.Load != 1 {
			p.Errorf("got %+v, want ada online again with a load of 1 in 4", got)
		}
		p.near("HeartbeatAt", got.HeartbeatAt, before)
		p.everyone("ada")
		p.available(p.seconds(5), "ada")
		p.changed(false)(p.Online(p.ctx, "ada", 1))
		p.no(p.Beat(p.ctx, "ada"))
	})
	h.prove(t, "a specialist who is offline when activated stays offline", func(p *proof) {
		p.changed(true)(p.Online(p.ctx, "ada", 1))
		for _, id := range []string{"ada", "bob"} {
			p.changed(true)(p.Deactivate(p.ctx, id))
			p.changed(false)(p.Offline(p.ctx, id))
			p.changed(true)(p.Activate(p.ctx, id))
			p.is(p.Beat(p.ctx, id), holds.ErrOffline)
			if p.one(id).Online {
				p.Errorf("%s is online", id)
			}
		}
		p.everyone("")
		p.changed(true)(p.Online(p.ctx, "ada", 1))
	})
	h.prove(t, "a heartbeat counts from its arrival, and only for online specialists", func(p *proof) {
		p.brief()
		p.changed(true)(p.Online(p.ctx, "ada", 1))
		p.is(p.Beat(p.ctx, "bob"), holds.ErrOffline)
		p.pass(p.seconds(6))
		p.available(p.seconds(5), "")
		p.available(0, "ada")
		before := time.Now()
		p.no(p.Beat(p.ctx, "ada"))
		p.near("HeartbeatAt", p.one("ada").HeartbeatAt, before)
		p.available(p.seconds(5), "ada")
		p.pass(p.seconds(5) - 2*p.h.Late)
		p.available(p.seconds(5), "ada")
		p.pass(2 * p.h.Late)
		p.available(p.seconds(5), "")
	})
	h.prove(t, "the load is never negative, even with concurrent decrements", func(p *proof) {
		p.loads("ada", -1, 0)
		p.loads("ada", 2, 2)
		p.loads("ada", -5, 0)
		p.race(40, func(i int) func() {
			_, err := p.Load(p.ctx, "bob", 1)
			return func() { p.no(err) }
		})
		p.loads("bob", 0, 40)
		p.race(60, func(i int) func() {
			got, err := p.Load(p.ctx, "bob", -1)
			return func() {
				if err != nil || got < 0 {
					p.Errorf("got %d, %v, want 0 or more", got, err)
				}
			}
		})
		p.loads("bob", 0, 0)
	})
	h.prove(t, "Available lists online specialists below capacity, by load, then id, up to the limit", func(p *proof) {
		for _, id := range []string{"eve", "dan", "cora", "bob", "ada"} {
			p.changed(true)(p.Online(p.ctx, id, 2))
		}
		p.loads("ada", 1, 1)
		p.loads("bob", 2, 2)
		p.changed(true)(p.Offline(p.ctx, "eve"))
		p.available(0, "cora dan ada")
		some, err := p.Available(p.ctx, 0, 2)
		p.no(err)
		if len(some) != 2 || some[0].SpecialistID != "cora" || some[1].SpecialistID != "dan" {
			p.Errorf("got %+v, want cora and dan", some)
		}
		p.loads("bob", -1, 1)
		p.loads("ada", -1, 0)
		p.available(0, "ada cora dan bob")
		p.no(p.SetMax(p.ctx, "bob", 1))
		p.available(0, "ada cora dan")
		p.no(p.SetMax(p.ctx, "bob", 5))
		p.available(0, "ada cora dan bob")
		p.no(p.SetMax(p.ctx, "nobody", 5))
		p.everyone("ada bob cora dan")
	})
	h.prove(t, "setting all loads resets the other specialists' loads to zero", func(p *proof) {
		for _, id := range []string{"ada", "bob", "cora"} {
			p.changed(true)(p.Online(p.ctx, id, 9))
		}
		p.loads("ada", 5, 5)
		p.loads("dan", 2, 2)
		p.no(p.SetLoads(p.ctx, map[string]int{"bob": 3, "eve": 1, "cora": -4}))
		p.available(0, "ada cora bob")
		for id, want := range map[string]int{"ada": 0, "bob": 3, "cora": 0, "dan": 0, "eve": 1} {
			p.loads(id, 0, want)
		}
	})
	h.prove(t, "a seed adds unknown specialists and changes no known one", func(p *proof) {
		now := time.Now().UTC()
		p.changed(true)(p.Online(p.ctx, "ada", 1))
		p.changed(true)(p.Deactivate(p.ctx, "bob"))
		old := now.Add(-p.seconds(30))
		p.no(p.Seed(p.ctx, []holds.Present{
			{SpecialistID: "ada", Online: false, HeartbeatAt: old, Max: 7},
			{SpecialistID: "bob", Online: true, HeartbeatAt: old, Max: 2},
			{SpecialistID: "cora", Online: true, HeartbeatAt: old, Max: 3, Load: 2},
			{SpecialistID: "dan", Deactivated: true},
			{SpecialistID: "eve"},
			{SpecialistID: "fay", Online: true, Deactivated: true, HeartbeatAt: old, Max: 5},
		}))
		p.near("ada's heartbeat", p.one("ada").HeartbeatAt, now)
		p.near("cora's heartbeat", p.one("cora").HeartbeatAt, old)
		if got := p.one("cora"); !got.Online || got.Max != 3 || got.Load != 2 {
			p.Errorf("got %+v, want cora online as before", got)
		}
		p.everyone("ada cora")
		p.available(p.seconds(20), "ada")
		p.available(p.seconds(40), "ada cora")
		_, err := p.Online(p.ctx, "dan", 1)
		p.is(err, holds.ErrDeactivated)
		_, err = p.Online(p.ctx, "bob", 1)
		p.is(err, holds.ErrDeactivated)
		p.no(p.Seed(p.ctx, []holds.Present{{SpecialistID: "ada", Deactivated: true}}))
		p.everyone("ada cora")
		p.changed(true)(p.Activate(p.ctx, "fay"))
		p.changed(true)(p.Activate(p.ctx, "bob"))
		p.changed(true)(p.Activate(p.ctx, "dan"))
		p.everyone("ada bob cora fay")
		p.available(p.seconds(20), "ada bob fay")
	})
}

// changed checks the result of a call that reports whether it changed anything.
func (p *proof) changed(want bool) func(bool, error) {
	return func(got bool, err error) {
		p.Helper()
		if got != want || err != nil {
			p.Errorf("got changed %v, %v, want %v", got, err, want)
		}
	}
}

func (p *proof) one(id string) holds.Present {
	p.Helper()
	got, err := p.Present(p.ctx, id)
	p.no(err)
	return got
}

// loads adds to a load and fails unless the new load is want.
func (p *proof) loads(id string, delta, want int) {
	p.Helper()
	if got, err := p.Load(p.ctx, id, delta); got != want || err != nil {
		p.Errorf("load of %s %+d: got %d, %v, want %d", id, delta, got, err, want)
	}
}

// available fails unless exactly these specialists are available and Count agrees.
func (p *proof) available(staleAfter time.Duration, want string) {
	p.Helper()
	list, err := p.Available(p.ctx, staleAfter, 0)
	p.no(err)
	if got := ids(list); got != want {
		p.Errorf("available: got %q, want %q", got, want)
	}
	if n, err := p.Count(p.ctx, staleAfter); n != len(list) || err != nil {
		p.Errorf("count: got %d, %v, want %d", n, err, len(list))
	}
}

func (p *proof) everyone(want string) {
	p.Helper()
	list, err := p.Everyone(p.ctx)
	p.no(err)
	if got := ids(list); got != want {
		p.Errorf("everyone: got %q, want %q", got, want)
	}
}

func ids(list []holds.Present) string {
	var text []string
	for _, one := range list {
		text = append(text, one.SpecialistID)
	}
	return strings.Join(text, " ")
}
