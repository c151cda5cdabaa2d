package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/store"
)

// TestDeskBooksNextFreeTime: a caller wants the next free time with any specialist. Two keys, or two clicks, open a
// booking at that time. One key holds a time while the caller decides, so that no client can take it online. The
// booking then uses that hold.
func TestDeskBooksNextFreeTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.key("+")
	p.there(".found-time:focus")
	p.accessible("the next free times")
	p.shot("staff-find")
	if n := ask[int](p, `document.querySelectorAll('.found-time').length`); n != 12 {
		t.Errorf("the page found %d times, want 12", n)
	}
	// The search is limited to Dr Haddad, to afternoons, and to dates from the house's date on.
	p.set("#find-from", h.date)
	p.click(".wishes .chips label:nth-of-type(3)")
	p.run(`[...document.querySelectorAll('.chips label')].find(l => l.innerText === 'Dr Karim Haddad').click()`)
	p.until(`(all => all.length === 12 && all.every(x => /Haddad/.test(x) && !/Brandt/.test(x)) && /12:00/.test(all[0]))([...document.querySelectorAll('.found-time')].map(x => x.innerText))`)
	p.run(`document.querySelector('.found-time').focus()`)
	p.key(kb.ArrowDown)
	p.until(`/12:30|12:15/.test(document.activeElement.innerText)`)
	clock := ask[string](p, `/1[0-9]:[0-9][0-9]/.exec(document.activeElement.innerText)[0]`)
	p.key("h")
	p.there(".foundtimes [aria-pressed=true]")
	p.accessible("a time that is held")
	p.shot("staff-find-held")
	refused := func() int {
		return h.call("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup",
			"slotStartDate": h.at(clock), "specialistId": "karim", "clientId": "a-stranger-00001"}).status
	}
	if got := refused(); got != 409 {
		t.Errorf("another client's hold of a time that the desk holds: %d", got)
	}
	p.key(kb.Enter)
	p.there("#patient-name:focus")
	p.there(".holding.held")
	if got := refused(); got != 409 {
		t.Errorf("another client's hold of a time that is being booked: %d", got)
	}
	p.key("Lena Vogt")
	p.there(".holding.held")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.closed()
	p.toasted("Booked: Lena Vogt")
	// The same works with the mouse: a click on the button, and one on the first time.
	p.click(".tools [title*='+']")
	p.there(".found-time")
	p.click(".found-time")
	p.there("#patient-name:focus")
	p.key(kb.Escape)
	p.until(`!document.querySelector('dialog')`) // then the focus returns to the button
	p.run(`document.querySelector('.board').focus()`)
	// A time that was held but not booked is free again.
	p.key("+")
	p.there(".found-time:focus")
	p.key("h")
	p.there(".foundtimes [aria-pressed=true]")
	p.key(kb.Escape)
	p.closed()
	p.until(`!document.querySelector('.appt.own')`)
}

// TestDeskKeepsHoldIfNextIsRefused: the desk holds a time and then chooses another one that a patient has just taken.
// The desk keeps the first hold, in the list of free times and in the booking dialog.
func TestDeskKeepsHoldIfNextIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	hold := func(clock string) int {
		return h.call("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "ttlSeconds": 600,
			"slotStartDate": h.at(clock), "specialistId": "karim", "clientId": "a-stranger-0000" + clock[:1]}).status
	}
	p.key("+")
	p.there(".found-time:focus")
	p.set("#find-from", h.date)
	p.run(`[...document.querySelectorAll('.chips label')].find(l => l.innerText === 'Dr Karim Haddad').click()`)
	p.until(`(all => all.length === 12 && all.every(x => /Haddad/.test(x) && !/Brandt/.test(x)))(
		[...document.querySelectorAll('.found-time')].map(x => x.innerText))`)
	time := func(n int) string {
		return ask[string](p, fmt.Sprintf(
			`/\d\d:\d\d/.exec(document.querySelectorAll('.found-time')[%d].innerText)[0]`, n))
	}
	first, second := time(0), time(4)
	p.run(`document.querySelectorAll('.found-time')[0].focus()`)
	p.key("h")
	p.there(".foundtimes li:first-child [aria-pressed=true]")
	if got := hold(second); got != 201 {
		t.Fatalf("the patient's hold: %d", got)
	}
	p.run(`document.querySelectorAll('.found-time')[4].focus()`)
	p.key("h")
	p.there(".findings .notice.warn")
	p.forgive() // the server has refused the hold
	p.there(".foundtimes li:first-child [aria-pressed=true]")
	if got := hold(first); got != 409 {
		t.Errorf("another client's hold of the first time: %d, want 409", got)
	}

	p.run(`document.querySelectorAll('.found-time')[0].focus()`)
	p.key(kb.Enter)
	p.there(".holding.held")
	p.set("#when-time", second)
	p.says("Someone is booking this time online.")
	if got := hold(first); got != 409 {
		t.Errorf("another client's hold of the dialog's first time: %d, want 409", got)
	}
	p.set("#when-time", first)
	p.there(".holding.held")
	p.run(`document.querySelector('#patient-name').focus()`)
	p.key("Lena Vogt")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.closed()
	p.toasted("Booked: Lena Vogt")
	if list := h.bookings(); len(list) != 1 || list[0]["slotStartDate"] != h.at(first) {
		t.Errorf("booked: %v, want one at %s", list, first)
	}
}

// TestBookingWaitsForItsHold: the desk chooses another time and books it while the hold of that time is still on its
// way. The booking uses that hold, and the time that the desk held before is free again.
func TestBookingWaitsForItsHold(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.key("+")
	p.there(".found-time:focus")
	p.set("#find-from", h.date)
	p.until(`document.querySelectorAll('.found-time').length > 4`)
	times := ask[[]string](p,
		`[...document.querySelectorAll('.found-time')].map(x => /\d\d:\d\d/.exec(x.innerText)[0])`)
	first, second := times[0], times[4]
	p.run(`document.querySelector('.found-time').focus()`)
	p.key(kb.Enter)
	p.there(".holding.held")
	p.run(`(send => { // holds wait for goOn, and for a booking that is sent before that
		let booking
		const gate = new Promise(done => { window.goOn = done })
		window.fetch = async (to, o) => {
			const isPost = path => o.method === 'POST' && to.endsWith(path)
			if (isPost('/v1/holds')) {
				window.isHolding = true
				await gate
				await booking
			}
			const answer = send(to, o)
			if (isPost('/v1/appointments')) booking = answer
			return answer
		}
	})(window.fetch)`)
	p.set("#when-time", second)
	p.until(`window.isHolding`)
	p.run(`document.querySelector('#patient-name').focus()`)
	p.key("Lena Vogt")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.run(`window.goOn()`)
	p.closed()
	p.toasted("Booked: Lena Vogt")
	if n := len(h.bookings()); n != 1 {
		t.Errorf("got %d bookings, want one", n)
	}
	if held, err := h.engine.Booking.Holds(t.Context()); err != nil || len(held) > 0 {
		t.Errorf("after the booking: %v, %v; want no hold, also not of the first time, %s", held, err, first)
	}
}
