package holdstest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/holds"
)

// selection tests holds.Selections.
func (h Harness) selection(t *testing.T) {
	h.prove(t, "a selection lasts for its time, is listed and blocks no client", func(p *proof) {
		before := time.Now()
		got, err := p.Select(p.ctx, amal, p.span("ada", "09:00"))
		p.no(err)
		if got.Owner != amal || got.Span != p.span("ada", "09:00") {
			p.Errorf("got %+v, want amal on ada's slot at nine", got)
		}
		p.near("ExpiresAt", got.ExpiresAt, before.Add(holds.SelectionTTL))
		_, err = p.Select(p.ctx, bela, p.span("ada", "09:00"))
		p.no(err)
		p.claim(p.wish("ada", "09:00", caro))
		p.selects("ada", "09:00 09:00")
		e := p.stream.event(holds.EventSelect, "")
		if e.Span != got.Span || !e.Owner.Is(amal) || e.Owner.Is(bela) {
			p.Errorf("got %+v, want amal's span", e)
		}
	})
	h.prove(t, "a client has one selection: the previous one ends first", func(p *proof) {
		for _, at := range []string{"09:00", "09:30"} {
			_, err := p.Select(p.ctx, amal, p.span("ada", at))
			p.no(err)
		}
		_, err := p.Select(p.ctx, amal, p.span("bob", "09:30"))
		p.no(err)
		p.selects("ada", "")
		p.selects("bob", "09:30")
		p.stream.seen(5)
		var got []string
		for _, e := range p.stream.events {
			got = append(got, string(e.Kind)+" "+e.SpecialistID+e.SlotStart.Format("15:04"))
		}
		want := []string{"select ada09:00", "deselect ada09:00", "select ada09:30", "deselect ada09:30",
			"select bob09:30"}
		if !slices.Equal(got, want) {
			p.Errorf("got %v, want %v", got, want)
		}
	})
	h.prove(t, "selecting the same slot again renews and publishes nothing", func(p *proof) {
		p.brief()
		_, err := p.Select(p.ctx, amal, p.span("ada", "09:00"))
		p.no(err)
		p.pass(6 * time.Second)
		before := time.Now()
		again, err := p.Select(p.ctx, amal, p.span("ada", "09:00"))
		p.no(err)
		p.near("ExpiresAt", again.ExpiresAt, before.Add(holds.SelectionTTL))
		p.pass(6 * time.Second)
		p.selects("ada", "09:00")
		if n := p.stream.count(holds.EventSelect); n != 1 {
			p.Errorf("got %d events, want 1", n)
		}
	})
	h.prove(t, "a renewal resets its lifetime and publishes nothing", func(p *proof) {
		p.brief()
		for _, c := range []holds.Owner{amal, bela} {
			_, err := p.Select(p.ctx, c, p.span("ada", "09:00"))
			p.no(err)
		}
		p.pass(6 * time.Second)
		if ok, err := p.Renew(p.ctx, amal); !ok || err != nil {
			p.Errorf("got %v, %v, want true", ok, err)
		}
		p.pass(6 * time.Second)
		p.selects("ada", "09:00")
		if ok, err := p.Renew(p.ctx, bela); ok || err != nil {
			p.Errorf("ending an expired selection: got %v, %v, want false", ok, err)
		}
		if ok, err := p.Renew(p.ctx, caro); ok || err != nil {
			p.Errorf("of none: got %v, %v, want false", ok, err)
		}
		if n := p.stream.count(holds.EventSelect); n != 2 {
			p.Errorf("got %d events, want 2", n)
		}
	})
	h.prove(t, "Deselect ends the selection and reports whether it existed", func(p *proof) {
		_, err := p.Select(p.ctx, amal, p.span("ada", "09:00"))
		p.no(err)
		for _, want := range []bool{true, false} {
			if ok, err := p.Deselect(p.ctx, amal); ok != want || err != nil {
				p.Errorf("got %v, %v, want %v", ok, err, want)
			}
		}
		p.selects("ada", "")
		if e := p.stream.event(holds.EventDeselect, ""); e.Span != p.span("ada", "09:00") ||
			e.Reason == holds.ReasonExpired {
			p.Errorf("got %+v, want the span and an expiry in the future", e)
		}
	})
	h.prove(t, "a selection expires at its expiry, and that is published on time without a call", func(p *proof) {
		p.brief()
		got, err := p.Select(p.ctx, amal, p.span("ada", "09:00"))
		p.no(err)
		p.pass(p.seconds(1))
		_, err = p.Select(p.ctx, bela, p.span("bob", "09:00"))
		p.no(err)
		p.pass(holds.SelectionTTL - p.seconds(1) - p.moment())
		p.selects("ada", "09:00")
		p.pass(p.moment())
		p.selects("ada", "")
		if e := p.stream.event(holds.EventDeselect, ""); e.Reason != holds.ReasonExpired || e.Span != got.Span {
			p.Errorf("got %+v, want the span and reason expired", e)
		}
		p.pass(p.seconds(1) + p.h.Late)
		p.punctual(func() { p.stream.seen(4) })
	})
	h.prove(t, "the list has the given specialists' selections that overlap the given time, in order", func(p *proof) {
		for i, at := range []string{"10:00", "09:00", "09:30"} {
			for j, specialist := range []string{"ada", "bob"} {
				_, err := p.Select(p.ctx, client(10*i+j), p.span(specialist, at))
				p.no(err)
			}
		}
		for _, c := range []struct {
			from, to string
			of       []string
			want     string
		}{
			{"09:00", "10:30", nil, "ada09:00 ada09:30 ada10:00 bob09:00 bob09:30 bob10:00"},
			{"09:30", "10:00", nil, "ada09:30 bob09:30"},
			{"09:29", "10:01", []string{"bob", "bob"}, "bob09:00 bob09:30 bob10:00"},
			{"09:00", "10:30", []string{"nobody"}, ""},
			{"10:30", "23:00", nil, ""},
		} {
			list, err := p.Selected(p.ctx, p.at(c.from), p.at(c.to), c.of...)
			p.no(err)
			var got []string
			for _, s := range list {
				got = append(got, s.SpecialistID+s.SlotStart.Format("15:04"))
			}
			if text := strings.Join(got, " "); text != c.want {
				p.Errorf("from %s to %s of %v: got %q, want %q", c.from, c.to, c.of, text, c.want)
			}
		}
	})
	h.prove(t, "concurrent selections of one client leave one", func(p *proof) {
		p.race(16, func(i int) func() {
			_, err := p.Select(p.ctx, amal, p.span([]string{"ada", "bob"}[i%2], "09:00"))
			return func() { p.no(err) }
		})
		list, err := p.Selected(p.ctx, p.day, p.day.Add(24*time.Hour))
		p.no(err)
		if len(list) != 1 {
			p.Errorf("got %d selections, want 1", len(list))
		}
		selects, deselects := p.stream.count(holds.EventSelect), p.stream.count(holds.EventDeselect)
		p.stream.await("a select more than there are deselects", func() bool {
			selects, deselects = 0, 0
			for _, e := range p.stream.events {
				switch e.Kind {
				case holds.EventSelect:
					selects++
				case holds.EventDeselect:
					deselects++
				}
			}
			return selects == deselects+1
		})
	})
}

// selects fails unless exactly these of a specialist's slots are selected.
func (p *proof) selects(specialistID, want string) {
	p.Helper()
	list, err := p.Selected(p.ctx, p.day, p.day.Add(24*time.Hour), specialistID)
	p.no(err)
	var got []string
	for _, s := range list {
		got = append(got, s.SlotStart.Format("15:04"))
	}
	slices.Sort(got)
	if text := strings.Join(got, " "); text != want {
		p.Errorf("selected of %s: got %q, want %q", specialistID, text, want)
	}
}
