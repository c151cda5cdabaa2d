package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// without is a script that describes how an element is drawn, except for its background and colours, because a reader
// may replace these. If the element is a bookable time, the description includes its words, which are the time's state.
// In other elements, the words are names and days.
const without = `(e => {
	const c = getComputedStyle(e), inside = [...e.querySelectorAll('*')].map(x => [x, getComputedStyle(x)])
	const pseudo = ['::before', '::after'].map(p => getComputedStyle(e, p)).map(x => x.content === 'none' ? '' : x.borderTopWidth)
	return JSON.stringify([c.borderTopStyle, c.borderTopWidth, e.closest('.chip') && e.innerText.replace(/[\d:\s]/g, ''), pseudo,
		inside.some(([x, s]) => x.matches('.icon') && s.display !== 'none'), inside.some(([, s]) => s.textDecorationLine.includes('line-through'))])
})`

// toldApart checks that no two of these elements look the same once their background and colours are ignored.
func (p *tab) toldApart(selectors map[string]string) {
	p.t.Helper()
	drawn := map[string]string{}
	var all strings.Builder // one question, so that no state ends in between
	for state, selector := range selectors {
		p.there(selector)
		fmt.Fprintf(&all, "%s: %s(document.querySelector(%s)),", quoted(state), without, quoted(selector))
	}
	for state, is := range ask[map[string]string](p, `({`+all.String()+`})`) {
		if other, same := drawn[is]; same {
			p.t.Errorf("with the reader's colours, %s and %s look the same: %s", state, other, is)
		}
		drawn[is] = state
	}
}

// stopsSeen presses Tab through the page from its heading on, and checks that every stop has an outline with a colour
// other than the background.
func (p *tab) stopsSeen(page string) {
	p.t.Helper()
	p.moment() // a new page puts the focus on its heading
	p.run(`document.querySelector('main h1').focus()`)
	stops := 0
	for range 60 {
		p.key(kb.Tab)
		stop := ask[string](p, `(e => {
			if (e === document.body || e.dataset.seen) return ''
			e.dataset.seen = 'yes'
			const drawn = e.nextElementSibling?.matches('.face') ? e.nextElementSibling : e, c = getComputedStyle(drawn)
			const seen = c.outlineStyle !== 'none' && parseFloat(c.outlineWidth) >= 2 && c.outlineColor !== getComputedStyle(document.documentElement).backgroundColor
			return (seen ? 'seen ' : 'not seen ') + e.outerHTML.slice(0, 120)
		})(document.activeElement)`)
		if stop == "" {
			break
		}
		stops++
		if stop[:5] != "seen " {
			p.t.Errorf("%s: with the reader's colours, the focus ring is %s", page, stop)
		}
	}
	if stops < 3 {
		p.t.Errorf("%s: Tab reached only %d elements, so the test proves little", page, stops)
	}
}

// TestPatientPagesInForcedColours: many readers with low vision replace the colours. Borders, words and marks must let
// them recognize which times are free, held, taken and chosen, and where the focus is.
func TestPatientPagesInForcedColours(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.ownColours()
	p.open("/?lang=en")
	p.click(".card input[value=checkup]")
	p.toldApart(map[string]string{"a chosen type": ".card input:checked + .face",
		"another": ".card input[value=class] + .face"})
	p.toldApart(map[string]string{"the chosen specialist": ".option input:checked + .face", "another specialist": ".option input:not(:checked) + .face"})
	p.stopsSeen("choosing what")
	p.click(".bar button")
	p.live()
	p.day(h.date)
	h.holdAll("a-stranger-00001", h.at("09:00"))
	for _, specialist := range []string{"ada", "karim"} {
		h.must(201, "POST", "/v1/appointments", map[string]any{
			"appointmentTypeId": "checkup", "specialistId": specialist, "slotStartDate": h.at("11:00"),
			"patient": map[string]any{"name": "Walk In", "phone": "030 5555555"},
		}, asAdmin)
	}
	p.shows(h.at("09:00"), "held")
	p.shows(h.at("11:00"), "taken")
	p.choose(h.at("14:00"))
	face := func(clock string) string { return chip(h.at(clock)) + " .face" }
	// last, because a selection expires after a few seconds
	h.must(200, "POST", "/v1/slots/select", map[string]any{"clientId": "a-stranger-00002",
		"appointmentTypeId": "checkup", "slotStartDate": h.at("10:00")})
	p.there(chip(h.at("10:00")) + ".looking")
	p.toldApart(map[string]string{
		"a free time": face("08:00"), "a held one": face("09:00"), "a selected one": face("10:00"), "a taken one": face("11:00"), "the chosen one": face("14:00"),
	})
	p.toldApart(map[string]string{"the shown day": ".day input:checked + .face",
		"another day": ".day input:not(:checked) + .face"})
	p.snap("own-colours-1-times")
	p.stopsSeen("choosing a time")
	p.click(".bar button")
	p.held()
	p.stopsSeen("giving details")
	p.snap("own-colours-2-held")

	p.open(h.stranger("15:00"))
	p.booked()
	p.stopsSeen("an appointment")
	p.snap("own-colours-3-manage")
	p.click(".btn.danger")
	p.there("#reason")
	p.stopsSeen("cancelling")
	p.click(".btn.solid")
	p.there(".ticket.cancelled")
	p.until(`getComputedStyle(document.querySelector('.ticket.cancelled .ticket-when b')).textDecorationLine === 'line-through'`)
}
