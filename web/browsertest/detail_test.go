package browsertest

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// TestTicketPadsItsText: all text on the ticket starts at the same edge.
func TestTicketPadsItsText(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(f *clinic.File) { f.AppointmentTypes[0].CancelText = "Please cancel a day before." })
	p := h.tab(t)
	p.open(h.stranger("10:00"))
	p.says("Please cancel a day before.")
	p.shot("detail-ticket")
	left := ask[[]float64](p, `[...document.querySelectorAll('.ticket dt, .ticket > .lines > *')].map(e => {
		const r = document.createRange(); r.selectNodeContents(e); return Math.round(r.getBoundingClientRect().left) })`)
	for _, at := range left {
		if at != left[0] {
			t.Errorf("the texts of the ticket start at %v, want one edge", left)
			break
		}
	}
}

// TestDeskDetailsFit checks details of the console's layout that were wrong in the past.
func TestDeskDetailsFit(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.size(1280, 720)
	p.there(".side")
	p.shot("detail-side-720")
	inView := ask[bool](p, `(() => {
		const side = document.querySelector('.side'), nav = side.querySelector('nav')
		return nav.scrollHeight <= nav.clientHeight && side.querySelector('.fold').getBoundingClientRect().bottom <= innerHeight
	})()`)
	if !inView {
		t.Error("the end of the side bar is cut off on a screen of 720 points")
	}
	if ask[float64](p, `document.querySelector('.toolbar').getBoundingClientRect().height`) > 60 {
		t.Error("the toolbar takes two lines on a screen of 1280 points")
	}
	p.click(".side .fold")
	p.until(`document.querySelector('.side').offsetWidth < 80 && document.querySelector('.side nav a').getAttribute('title') === 'Calendar'`)
	p.accessible("the navigation of icons")
	p.click(".side .fold")
	p.until(`document.querySelector('.side').offsetWidth > 180`)
	p.run(`document.querySelector('.board').focus()`)

	p.downTo("09:00, Dr Ada Brandt")
	p.key("lena vogt")
	p.there("#visitor-add")
	p.shot("detail-visit")
	if ask[bool](p, `document.querySelector('#visitor-add').offsetWidth > document.querySelector('#visitor-add').parentElement.offsetWidth * .75`) {
		t.Error("the button for another person is as wide as the form")
	}
	p.set("#patient-phone", "030 1112233")
	p.there(".holding.held")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.closed()
	p.cursor("09:00 lena vogt")
	p.key("2")
	p.there(".toast kbd")
	p.size(390, 720)
	p.shot("detail-toast")
	if lines := ask[int](p, `document.querySelector('.toast kbd').getClientRects().length`); lines != 1 {
		t.Errorf("the shortcut in the toast takes %d lines, want 1", lines)
	}
}

// TestListsStartAtTheirEdge: a numbered list of lines is not indented by the browser's default style.
func TestListsStartAtTheirEdge(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.open("/staff?lang=en#waitlist")
	p.press("Add person")
	p.there("#wl-name")
	p.fill("#wl-name", "Omar Ruiz")
	p.fill("#wl-phone", "030 1112233")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.there("ol.lines")
	p.shot("detail-list")
	if padding := ask[string](p, `getComputedStyle(document.querySelector('ol.lines')).paddingInlineStart`); padding != "0px" {
		t.Errorf("the list is indented by %s", padding)
	}
}

// TestFieldErrorEndsWithCorrection: a field's error message disappears as soon as the field is changed.
func TestFieldErrorEndsWithCorrection(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.open("/?lang=en")
	p.when("")
	p.take(h.at("10:00"))
	p.run(`document.querySelector('form').requestSubmit()`)
	p.says("Enter your full name")
	p.there(".summary:focus") // otherwise the summary would take the focus from the field
	p.run(`document.querySelector('#name').focus()`)
	p.key("Lena Vogt")
	p.until(`!document.querySelector('#name-error')`)
	p.run(`document.querySelector('#name').select()`)
	p.key(kb.Delete)
	// On a busy machine, the page may render the empty field only after the first attempt to submit it.
	p.until(`document.querySelector('#name-error') || (document.querySelector('form').requestSubmit(), false)`)

	desk := h.desk(t, store.RoleReception)
	desk.open("/staff?lang=en#waitlist")
	desk.press("Add person")
	desk.there("#wl-name")
	desk.run(`document.querySelector('dialog form').requestSubmit()`)
	desk.there("#wl-name-error")
	desk.there("dialog .summary:focus")
	desk.run(`document.querySelector('#wl-name').focus()`)
	desk.key("Omar Ruiz")
	desk.until(`!document.querySelector('#wl-name-error')`)
}

// TestFocusRingIsWhole: no part of a page cuts off the focus ring of the focused element.
func TestFocusRingIsWhole(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	p := h.desk(t, store.RoleOwner)
	p.key(kb.Tab) // from here on the focus is visible
	p.visit("en", office, func(s state) {
		cut := ask[[]string](p, `[...document.querySelectorAll('main :is(a[href], button, input, select, textarea, summary, [tabindex="0"]), .side :is(a, button), dialog :is(a[href], button, input, select, textarea)')].filter(e => {
			if (!e.getClientRects().length || e.closest('.sr, .board, [hidden], [inert]') || getComputedStyle(e).opacity === '0') return false
			e.focus()
			if (document.activeElement !== e || !e.matches(':focus-visible')) return false
			const style = getComputedStyle(e), ring = parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset)
			if (style.outlineStyle === 'none' || !(ring > 0)) return false
			e.scrollIntoView({ block: 'center' })
			const r = e.getBoundingClientRect()
			for (let up = e.parentElement; up && up !== document.body; up = up.parentElement) {
				const o = getComputedStyle(up)
				if (o.overflowX === 'visible' && o.overflowY === 'visible') continue
				const u = up.getBoundingClientRect()
				if (up.scrollHeight > up.clientHeight + 1 && up.matches('main, dialog, .dialog-body')) continue
				if (u.width > 2 && (r.left - ring < u.left - 1 || r.right + ring > u.right + 1 || r.top - ring < u.top - 1 || r.bottom + ring > u.bottom + 1)) return true
			}
			return false
		}).map(e => e.outerHTML.slice(0, 140))`)
		for _, e := range cut {
			t.Errorf("%s: the focus ring of %s is cut off", s.name, e)
		}
	})
}

// TestCardShowsReminderAsScheduled: the card does not say that a reminder is on its way before its time, nor after the
// appointment is cancelled. The search counts what it finds.
func TestCardShowsReminderAsScheduled(t *testing.T) {
	t.Parallel()
	h := mailing(t)
	h.must(200, "PATCH", "/v1/settings", map[string]any{"reminderHours": 1}, asAdmin)
	id := h.must(201, "POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada",
		"slotStartDate": h.at("10:00"), "patient": map[string]any{"name": "Lena Vogt", "email": "lena@example.org"},
	}, asAdmin).get("appointment", "id").(string)
	p := h.desk(t, store.RoleReception)
	open := func() {
		p.open("/staff?lang=en#day/" + h.date)
		p.board()
		p.key("/")
		p.there("dialog [type=search]:focus")
		p.key("lena")
		p.there("#found-0[aria-selected=true]")
		p.until(`document.querySelector('.dialog [role=status]').innerText === '2 results'`) // and the person
		p.key(kb.Enter)
	}
	open()
	p.key(kb.Enter)
	p.says("Reminder by email: scheduled")
	h.must(200, "POST", "/v1/appointments/"+id+"/cancel", map[string]any{"notify": false}, asAdmin)
	open()
	p.says("Reminder by email: not needed")
}
