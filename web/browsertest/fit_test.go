package browsertest

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/store"
)

// brokenWords is a script that lists the words of the elements that are on two lines. Each element has one text node.
const brokenWords = `(selector => [...document.querySelectorAll(selector)].flatMap(e => {
	const text = [...e.childNodes].find(x => x.nodeType === 3)
	return [...text.data.matchAll(/\S+/g)].filter(m => {
		const range = document.createRange()
		range.setStart(text, m.index)
		range.setEnd(text, m.index + m[0].length)
		return range.getClientRects().length > 1
	}).map(m => m[0])
}).join())`

// TestGroupNextToCardBreaksNoWord: the card of a group session shares its column with an overbooked card. Neither card
// breaks a word.
func TestGroupNextToCardBreaksNoWord(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.size(820, 900)
	h.joins("Lena Vogt")
	p.seats("1/3")
	h.must(201, "POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at("10:00"),
		"patient": map[string]any{"name": "Per Lind"}, "overbook": map[string]any{"reason": "emergency"},
	}, asAdmin)
	p.until(`document.querySelectorAll('.appt').length === 2`)
	p.run(`document.querySelector('.board').style.gridTemplateColumns = 'var(--rail) 187px 187px'`)
	p.snap("group-lanes")
	if words := ask[string](p, brokenWords+`('.appt-name b, .appt .flag')`); words != "" {
		t.Errorf("broken: %s", words)
	}
}

// TestShortCardShowsWholeTypeOrNone: a card of one line shows the first word of the type or nothing of the type.
func TestShortCardShowsWholeTypeOrNone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	id := p.appointment("Konstantin Lindqvist", "ada", "09:00")
	p.run(`document.querySelector('` + card(id) + `').classList.add('flat')`)
	for _, width := range []string{"150px", "180px", "187px", "200px", "260px"} {
		p.run(`document.querySelector('.board').style.gridTemplateColumns = 'var(--rail) ` + width + ` 187px'`)
		if seen := ask[float64](p, `(e => {
			const line = e.parentElement.getBoundingClientRect(), box = e.getBoundingClientRect()
			return box.top >= line.bottom - 1 ? 0 : box.width
		})(document.querySelector('`+card(id)+` .appt-type > span'))`); seen > 0 && seen < 50 {
			t.Errorf("a column of %s shows %v pixels of the type", width, seen)
		}
	}
}

// TestColumnHeadShowsWholeName: next to a pane, each column's head shows the whole name of its specialist.
func TestColumnHeadShowsWholeName(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.size(1280, 720)
	id := p.appointment("Lena Vogt", "ada", "09:00")
	p.click(card(id))
	p.there(".pane")
	p.run(`document.querySelector('.board').style.gridTemplateColumns = 'var(--rail) repeat(2, 148px)'`)
	if cut := ask[string](p, `[...document.querySelectorAll('.head b')]
		.filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerText).join()`); cut != "" {
		t.Errorf("cut: %s", cut)
	}
}

// TestViewsStayInPlace: on a computer, the links to the views have the same position in each view.
func TestViewsStayInPlace(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	for _, width := range []int64{1280, 1440} {
		p.size(width, 800)
		want := -1.0
		for _, view := range []string{"day", "week", "month", "list"} {
			p.run(`location.hash = '#` + view + `/` + h.date + `'`)
			p.there(`.seg a[href^="#` + view + `/"][aria-current]`)
			top := ask[float64](p, `document.querySelector('.seg').getBoundingClientRect().top`)
			if want < 0 {
				want = top
			}
			if top != want {
				t.Errorf("%d pixels: the views are at %v in %s, at %v in the day", width, top, view, want)
			}
		}
	}
}

// TestButtonsEndWhereThePageEnds: at each width, the last button of the toolbar ends at the right edge of the page's
// content.
func TestButtonsEndWhereThePageEnds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	for _, width := range []int64{1280, 1440, 1920} {
		p.size(width, 900)
		for _, page := range []string{"specialists", "types", "users", "waitlist", "closed", "audit", "reports"} {
			p.run(`location.hash = '#` + page + `'`)
			p.there(`.side a[href="#` + page + `"][aria-current]`)
			p.there(".office-tools .btn")
			p.there(".office-in > .lines, .office-in > .nothing, .office-in > .filters")
			if off := ask[float64](p, `Math.abs(document.querySelector('.office-tools').getBoundingClientRect().right -
				document.querySelector('.office-in').getBoundingClientRect().right)`); off > 1 {
				t.Errorf("%d pixels, %s: the buttons end %v pixels from the edge", width, page, off)
			}
		}
	}
}

// TestWeekOpensAtToday: the week that contains today opens with the cursor in the column of today, which is visible.
func TestWeekOpensAtToday(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.size(820, 900)
	p.open("/staff?lang=en#week")
	p.there(".week .head .today")
	p.there("[data-col] .cursor")
	today := ask[string](p, `document.querySelector('.head .today').getAttribute('href').slice('#day/'.length)`)
	p.there(`[data-col="` + today + `"] .cursor`)
	p.until(`(e => e.left >= 0 && e.right <= innerWidth + 4)(document.querySelector('.cursor').getBoundingClientRect())`)
}

// TestReportLabelsDoNotTouch: the labels below the bars of a report have space between them.
func TestReportLabelsDoNotTouch(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.appointment("Lena Vogt", "ada", "09:00")
	for _, width := range []int64{390, 820, 1280, 1440} {
		p.size(width, 900)
		p.open("/staff?lang=en#reports")
		p.there(".bars")
		if n := ask[int](p, `[...document.querySelectorAll('.bars > svg')].filter(svg => {
			const labels = [...svg.querySelectorAll('text[text-anchor=middle]')]
				.map(e => e.getBoundingClientRect()).filter(r => r.width)
			return labels.some((r, i) => i && r.left < labels[i - 1].right + 2)
		}).length`); n > 0 {
			t.Errorf("%d pixels: the labels of %d charts touch", width, n)
		}
	}
}

// TestMenuNeverScrollsSideways: a long name in the menu wraps, as wide fonts and other languages require.
func TestMenuNeverScrollsSideways(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.there(".side nav a")
	p.run(`document.querySelector('.side nav').style.letterSpacing = '.2em'`)
	p.until(`[...document.querySelectorAll('.side nav, .side .nav-name')].every(e => e.scrollWidth <= e.clientWidth)`)
}

// TestSelectLeavesRoomForArrow: the text of a select ends before its arrow, in a dialog and in a panel.
func TestSelectLeavesRoomForArrow(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.size(1440, 900)
	for _, key := range []string{"+", "l"} { // the next free time, and a booking for a name that starts with L
		p.key(key)
		p.there(".dialog select")
		narrow := ask[string](p, `[...document.querySelectorAll('.dialog select')]
			.filter(e => e.getClientRects().length && parseFloat(getComputedStyle(e).paddingInlineEnd) < 24)
			.map(e => e.id || e.name).join()`)
		if narrow != "" {
			t.Errorf("the arrow covers the text of %s", narrow)
		}
		p.key(kb.Escape)
		p.closed()
	}
}
