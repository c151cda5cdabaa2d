package browsertest

import (
	"testing"

	"holdfast/store"
)

// TestNarrowCardShowsWholeName: a card in a narrow column shows the whole name, and the time in its second line.
func TestNarrowCardShowsWholeName(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.size(1280, 720)
	id := p.appointment("Samir Marsh", "ada", "09:00")
	p.open("/staff?lang=en#week/" + h.date + "/ada")
	p.there(card(id))
	if ask[bool](p, `(e => e.scrollWidth > e.clientWidth)(document.querySelector('`+card(id)+` .appt-name b'))`) {
		t.Error("the week cuts the name of a card")
	}
	second := ask[string](p,
		`getComputedStyle(document.querySelector('`+card(id)+` .appt-type'), '::before').content`)
	if second != `"09:00"` {
		t.Errorf("the second line starts with %s, want the time", second)
	}
}

// TestAppointmentPaneFitsItsText: at 1280 pixels, the pane of an appointment breaks no word of the attendance, and its
// summaries stay inside the pane. The owner has the style sheet of the office too.
func TestAppointmentPaneFitsItsText(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.size(1280, 720)
	id := p.appointment("Lena Vogt", "ada", "09:00")
	p.click(card(id))
	p.there(".pane .changes summary .muted")
	p.click(`.pane .attendance label:nth-of-type(4) input`)
	p.until(`document.querySelector('.pane .changes summary').innerText.includes('Completed')`)
	if n := ask[int](p, `[...document.querySelectorAll('.pane .attendance .face')].filter(e => {
		const text = [...e.childNodes]
			.flatMap(x => x.nodeType === 3 ? [x] : x.matches?.('span, b') ? [x.firstChild] : [])
			.find(x => x?.nodeType === 3 && /[a-z]{4}/i.test(x.data))
		const range = document.createRange()
		range.selectNodeContents(text)
		return range.getClientRects().length > 1
	}).length`); n > 0 {
		t.Errorf("%d words of the attendance are broken", n)
	}
	if n := ask[int](p, `[...document.querySelectorAll('.pane summary')].filter(e =>
		e.getBoundingClientRect().right > e.closest('.dialog-body').getBoundingClientRect().right).length`); n > 0 {
		t.Errorf("%d summaries run out of the pane", n)
	}
}

// TestPhoneScrollsNoPageSideways: on a phone, no page of the console is wider than the screen.
func TestPhoneScrollsNoPageSideways(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.size(390, 844)
	inside := map[string]string{"day": ".board", "week": ".board", "month": ".months", "list": ".page-list",
		"settings": "#name", "reports": ".bars"}
	for _, page := range []string{"week", "month", "list", "requests", "waitlist", "queue", "sessions", "live",
		"plan", "byhand", "specialists", "overrides", "away", "closed", "types", "users", "keys", "settings", "data",
		"reports", "audit", "account", "day"} {
		p.run(`document.querySelector('main > *').dataset.last = ''; location.hash = '#` + page + `'`)
		p.until(`!document.querySelector('main > [data-last]') &&
			document.querySelector('` + inside[page] + `' || '.office-in > *')`)
		if wide := ask[int](p, `document.documentElement.scrollWidth`); wide > 390 {
			t.Errorf("%s is %d pixels wide", page, wide)
		}
	}
}

// TestPhoneToolbarIsOneRow: on a phone, the views and the buttons of the board are in one row, in every language.
func TestPhoneToolbarIsOneRow(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.size(390, 844)
	for _, language := range []string{"en", "de", "es"} {
		p.open("/staff?lang=" + language + "#day/" + h.date)
		p.there(".tools .primary")
		p.there(".tools .news")
		if high := ask[float64](p, `document.querySelector('.tools').getBoundingClientRect().height`); high > 50 {
			t.Errorf("%s: the tools are %v pixels high", language, high)
		}
	}
}
