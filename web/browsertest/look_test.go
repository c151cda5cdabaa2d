package browsertest

import (
	"math"
	"testing"

	"holdfast/store"
)

// TestNarrowCardShowsWholeName: a card in a narrow column shows the whole name, with the time on its second line.
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

// TestAppointmentPaneFitsItsText: on a screen of 1280 pixels, in English and German, the pane of an appointment breaks
// no word of the attendance status and shows it in at least 12 pixels. The summaries stay inside the pane. The test
// signs in as an owner, whose pages also load the style sheet of the settings.
func TestAppointmentPaneFitsItsText(t *testing.T) {
	t.Parallel()
	for language, completed := range map[string]string{"en": "Completed", "de": "Fertig"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			appointmentPaneFits(t, language, completed)
		})
	}
}

func appointmentPaneFits(t *testing.T, language, completed string) {
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.size(1280, 720)
	p.open("/staff?lang=" + language + "#day/" + h.date)
	id := p.appointment("Lena Vogt", "ada", "09:00")
	p.click(card(id))
	p.there(".pane .changes summary .muted")
	p.click(`.pane .attendance label:nth-of-type(4) input`)
	p.until(`document.querySelector('.pane .changes summary').innerText.includes(` + quoted(completed) + `)`)
	p.snap("attendance-" + language)
	if n := ask[int](p, `[...document.querySelectorAll('.pane .attendance .face')].filter(e => {
		const text = [...e.childNodes]
			.flatMap(x => x.nodeType === 3 ? [x] : x.matches?.('span, b') ? [x.firstChild] : [])
			.find(x => x?.nodeType === 3 && /[a-z]{4}/i.test(x.data))
		const range = document.createRange()
		range.selectNodeContents(text)
		return range.getClientRects().length > text.data.trim().split(' ').length
	}).length`); n > 0 {
		t.Errorf("%d words of the attendance are broken", n)
	}
	if size := ask[float64](p, `parseFloat(getComputedStyle(
		document.querySelector('.pane .attendance .face')).fontSize)`); size < 12 {
		t.Errorf("the attendance has %v pixels", size)
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

// TestThreeLanesShowNames: three cards side by side in a column next to a pane show each name, on two lines if
// necessary.
func TestThreeLanesShowNames(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.size(1280, 720)
	p.open("/staff?lang=de#day/" + h.date)
	id := p.appointment("Lena Vogt", "ada", "09:00")
	for _, name := range []string{"Per Lind", "Rosa Winter"} {
		h.must(201, "POST", "/v1/appointments", map[string]any{
			"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at("09:00"),
			"patient": map[string]any{"name": name}, "overbook": map[string]any{"reason": "Notfall"},
		}, asAdmin)
	}
	p.until(`document.querySelectorAll('.appt').length === 3`)
	p.click(card(id))
	p.there(".pane")
	if cut := ask[string](p, `[...document.querySelectorAll('.appt-name b')]
		.filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerText).join()`); cut != "" {
		t.Errorf("cut: %s", cut)
	}
	p.snap("lanes-de")
}

// left returns the left edge, in pixels, of the content of the first element that matches the selector.
func (p *tab) left(selector string) float64 {
	p.t.Helper()
	p.there(selector)
	return ask[float64](p, `(e => {
		const s = getComputedStyle(e)
		return e.getBoundingClientRect().left + parseFloat(s.paddingLeft) + parseFloat(s.borderLeftWidth)
	})(document.querySelector('`+selector+`'))`)
}

// TestHeaderStandsOverContent: at each width, the clinic's name is aligned with the left edge of the page's content.
func TestHeaderStandsOverContent(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	for _, width := range []int64{390, 740, 820, 960, 1020, 1100, 1440} {
		p.size(width, 900)
		for _, page := range []string{"/?lang=en", "/?lang=en&type=checkup", "/nowhere", "/manage?lang=en"} {
			p.open(page)
			p.there("main h1")
			if head, main := p.left(".brand"), p.left("main"); math.Abs(head-main) > 1 {
				t.Errorf("%d pixels, %s: the header begins at %v, the page at %v", width, page, head, main)
			}
		}
	}
}

// TestConsolePagesShareLeftEdge: the content of each page of the console is aligned with its title, and no state label
// takes two lines.
func TestConsolePagesShareLeftEdge(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	email := h.staff(store.RoleOwner)
	p := h.tab(t)
	p.size(1280, 800)
	p.open("/staff?lang=en#day/" + h.date)
	p.signIn(email)
	for _, width := range []int64{1280, 1680} {
		p.size(width, 900)
		p.visit("en", office, func(s state) {
			title := p.left(".toolbar h1")
			if page := p.left(".office-in, .index"); math.Abs(title-page) > 1 {
				t.Errorf("%d pixels, %s: the title begins at %v, the page at %v", width, s.name, title, page)
			}
			if n := ask[int](p, `[...document.querySelectorAll('.state')].filter(e => e.offsetHeight > 30).length`); n > 0 {
				t.Errorf("%d pixels, %s: %d states have two lines", width, s.name, n)
			}
		})
	}
}

// ownArrows checks that each select shows the pages' own arrow instead of the browser's.
func (p *tab) ownArrows() {
	p.t.Helper()
	if n := ask[int](p, `[...document.querySelectorAll('select')]
		.filter(e => getComputedStyle(e).appearance !== 'none').length`); n > 0 {
		p.t.Errorf("%d selects have the browser's arrow", n)
	}
}

// TestWeekOfSeveralNamesPeople: in a week view of several people, the column heads show their names, in at least 12
// pixels.
func TestWeekOfSeveralNamesPeople(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.open("/staff?lang=en#week/" + h.date + "/ada,karim")
	p.there(".several .head small")
	if size := ask[float64](p, `parseFloat(getComputedStyle(
		document.querySelector('.several .head small')).fontSize)`); size < 12 {
		t.Errorf("the names have %v pixels", size)
	}
}

// TestPlaceFormHasWholeFrame: the title of a place takes at most half of the width of its frame, and the button that
// removes the place is at the left edge of the fields.
func TestPlaceFormHasWholeFrame(t *testing.T) {
	t.Parallel()
	h := newHouse(t, atTwoPlaces)
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#settings")
	p.there(".hook legend")
	if share := ask[float64](p, `document.querySelector('.hook legend').offsetWidth /
		document.querySelector('.hook').offsetWidth`); share > 0.5 {
		t.Errorf("the title takes %.0f %% of the frame", share*100)
	}
	if button, field := p.left(".hook > .btn .icon"), p.left(".hook label"); button-field > 40 {
		t.Errorf("the button begins at %v, the fields at %v", button, field)
	}
}
