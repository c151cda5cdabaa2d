package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/store"
)

// TestDeskBooksVisitOfThree: with "Add another person", one form contains a parent and two children. They are held,
// booked and cancelled as one, and an undo restores all of them.
func TestDeskBooksVisitOfThree(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.downTo("09:00, Dr Ada Brandt")
	p.key("lena vogt")
	p.there("#patient-name:focus")
	p.set("#patient-phone", "030 1112233")
	for range 2 {
		p.click("#visitor-add")
		p.there(".visitor:last-of-type input:focus")
		p.key("mia vogt")
	}
	p.until(`/^Book 3 people$/.test(document.querySelector('dialog [type=submit]').innerText)`)
	p.there(".holding.held")
	p.accessible("a visit of three")
	p.shot("staff-visit")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.closed()
	p.toasted("Booked: lena vogt and others, 3 people, starting")
	if n := len(h.bookings()); n != 3 {
		t.Fatalf("%d appointments, want 3", n)
	}
	p.cursor("09:00 lena vogt")
	p.until(`[...document.querySelectorAll('.appt .flag')].map(x => x.innerText.trim()).join() === '1/3,2/3,3/3'`)
	p.shot("staff-visit-board")
	p.key(kb.Enter)
	p.there("dialog .attendance")
	p.says("1 of 3")
	p.accessible("an appointment of a visit")
	p.shot("staff-visit-appointment")
	p.key(kb.Escape)
	p.closed()
	p.key("m")
	p.there("dialog [name=scope]")
	p.set("#when-time", "09:15")
	p.until(`document.querySelector('dialog [type=submit]').innerText === 'Move 3'`)
	p.accessible("a visit that is moved")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.closed()
	p.toasted("Moved: lena vogt, 3 appointments")
	p.cursor("09:15 lena vogt")
	p.key(kb.Delete)
	p.there("dialog [name=scope]")
	p.accessible("a visit that is cancelled")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.closed()
	p.toasted("Cancelled: lena vogt, 3 appointments")
	p.until(`!document.querySelector('.appt:not(.busy)')`)
	p.run(`[...document.querySelectorAll('.toast button, .toasts button')].find(b => /Undo/.test(b.innerText)).click()`)
	p.until(`document.querySelectorAll('.appt .flag').length === 3`)
	if n := len(h.bookings()); n != 3 {
		t.Errorf("%d appointments after the undo, want 3", n)
	}
}

// visitLink books a visit for a parent and a child at 9:00, and returns the path of the child's manage link.
func (h *house) visitLink() string {
	h.t.Helper()
	made := h.must(201, "POST", "/v1/visits", map[string]any{
		"slotStartDate": h.at("09:00"), "specialistId": "ada", "contact": map[string]any{"phone": "030 1112233"},
		"people": []any{map[string]any{"appointmentTypeId": "checkup", "name": "Lena Vogt"},
			map[string]any{"appointmentTypeId": "checkup", "name": "Mia Vogt"}},
	}, asAdmin)
	last := made.get("appointments").([]any)[1].(map[string]any)
	return last["manageUrl"].(string)[strings.Index(last["manageUrl"].(string), "/manage"):]
}

// TestVisitLinkMovesVisit: the page of a link moves all people in the visit to a time that fits all of them. A time
// becomes held as soon as another client holds part of it.
func TestVisitLinkMovesVisit(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	link := h.visitLink()
	h.hold("a-stranger-00002", "karim", h.at("09:30"), 300)
	p := h.tab(t)
	p.open(link)
	p.says("Mia Vogt")
	p.click(".row + .row .btn:not(.danger)")
	p.live()
	p.day(h.date)
	p.shows(h.at("09:30"), "free") // with the visit's own specialist, within its own time
	p.shows(h.at("14:30"), "free")
	p.shows(h.at("15:00"), "free")
	h.holdAll("a-stranger-00001", h.at("15:30"))
	p.shows(h.at("15:00"), "held") // the second person does not fit any more
	p.shows(h.at("14:30"), "free")
	p.accessible("choosing a time for a visit")
	p.look("visit-link-move")
	p.choose(h.at("14:30"))
	p.click(".bar button")
	p.there(".move")
	p.says("People in your visit: 2")
	p.accessible("confirming a visit's new time")
	p.look("visit-link-move-confirm")
	p.click(".actions .primary:not([aria-disabled])")
	p.says("Your appointment was moved.")
	p.until(`/14:30/.test(document.querySelector('.visit li').innerText)`)
	at := map[any]bool{}
	for _, a := range h.bookings() {
		at[a["slotStartDate"]] = true
	}
	if len(at) != 2 || !at[h.at("14:30")] || !at[h.at("15:00")] {
		t.Errorf("the people are at %v, want at 14:30 and 15:00", at)
	}
	p.reload()
	p.says("Mia Vogt")
	if strings.HasSuffix(ask[string](p, "location.href"), link) {
		t.Error("the old link is still in the address bar")
	}
}

// TestVisitLinkCancelsOnePerson: the page of a link cancels the appointment of one person, also that of the link's own
// person. The others can still be moved and cancelled with the same link.
func TestVisitLinkCancelsOnePerson(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.open(h.visitLink())
	p.says("Mia Vogt")
	p.click(".btn.danger")
	p.says("Whose appointment do you want to cancel?")
	p.until(`/^Cancel for everyone \(2\)$/.test(document.querySelector('form [type=submit]').innerText)`)
	p.click("fieldset .option:nth-of-type(3) input")
	p.until(`/^Cancel for Mia Vogt$/.test(document.querySelector('form [type=submit]').innerText)`)
	p.accessible("cancelling for one person")
	p.look("visit-link-one")
	p.click("form [type=submit]:not([aria-disabled])")
	p.says("The appointments below are still booked.")
	p.until(`document.querySelectorAll('.visit li').length === 1 && /Lena Vogt/.test(document.querySelector('.visit li').innerText)`)
	p.accessible("a visit with one person left")
	p.look("visit-link-left")
	if a := h.one(t); a["slotStartDate"] != h.at("09:00") {
		t.Errorf("the other person is at %v, want at 9:00", a["slotStartDate"])
	}
	p.click(".row + .row .btn:not(.danger)")
	p.live()
	p.day(h.date)
	p.choose(h.at("14:30"))
	p.click(".bar button")
	p.there(".move")
	p.click(".actions .primary:not([aria-disabled])")
	p.says("Your appointment was moved.")
	if a := h.one(t); a["slotStartDate"] != h.at("14:30") {
		t.Errorf("the other person is at %v, want at 14:30", a["slotStartDate"])
	}
	p.click(".btn.danger")
	p.click("form [type=submit]:not([aria-disabled])")
	p.says("Cancelled. The time is free again.")
	if n := len(h.bookings()); n != 0 {
		t.Errorf("%d appointments remain, want none", n)
	}
}

// TestVisitLinkCancelsVisit: the page of a link shows all people in the visit, and cancels the visit for all of them.
func TestVisitLinkCancelsVisit(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.open(h.visitLink())
	p.says("People in your visit: 2")
	p.says("Lena Vogt")
	p.says("Mia Vogt")
	p.accessible("the link of a visit")
	p.look("visit-link")
	p.click(".btn.danger")
	p.says("Whose appointment do you want to cancel?")
	p.accessible("cancelling a visit")
	p.look("visit-link-cancel")
	p.run(`document.querySelector('form').requestSubmit()`)
	p.says("Cancelled. The time is free again.")
	if n := len(h.bookings()); n != 0 {
		t.Errorf("%d appointments remain, want none", n)
	}
}

// family books a visit for a parent and two children at 9:00, and returns the ids of their appointments.
func (h *house) family() (ids [3]string) {
	h.t.Helper()
	made := h.must(201, "POST", "/v1/visits", map[string]any{
		"slotStartDate": h.at("09:00"), "specialistId": "ada", "contact": map[string]any{"phone": "030 1112233"},
		"people": []any{map[string]any{"appointmentTypeId": "checkup", "name": "Lena Vogt"},
			map[string]any{"appointmentTypeId": "checkup", "name": "Mia Vogt"},
			map[string]any{"appointmentTypeId": "checkup", "name": "Ben Vogt"}},
	}, asAdmin)
	for i, a := range made.get("appointments").([]any) {
		ids[i] = a.(map[string]any)["id"].(string)
	}
	return ids
}

// TestVisitDialogNeedsPeople: pressing Enter too quickly does not cancel or move one child alone. The page sends
// nothing before it has loaded the list of the visit's people, and nothing if it cannot load that list.
func TestVisitDialogNeedsPeople(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.family()
	p := h.desk(t, store.RoleReception)
	p.run(`(() => {
		const real = window.fetch
		window.fetch = (to, o) => String(to).endsWith('/visit') ? new Promise(done => { window.say = answer => { window.say = null; done(answer || real(to, o)) } }) : real(to, o)
	})()`)
	for key, words := range map[string]string{kb.Delete: "Cancel 3", "m": "Move 3"} {
		p.downTo("09:00 Lena Vogt")
		p.key(key)
		p.there("dialog [type=submit][aria-disabled=true]")
		if key == "m" {
			p.set("#when-time", "09:15")
		}
		p.run(`document.querySelector('dialog form').requestSubmit()`)
		p.there("dialog [type=submit][aria-disabled=true]")
		p.until(`window.say`)
		p.run(`window.say(new Response(JSON.stringify({ code: 'internal', status: 418 }), { status: 418 }))`)
		p.there("dialog .notice.danger")
		p.run(`document.querySelector('dialog form').requestSubmit()`)
		p.there("dialog [type=submit][aria-disabled=true]")
		p.run(`window.say = null`)
		p.key(kb.Escape)
		p.closed()
		p.cursor("09:00 Lena Vogt")
		p.key(key)
		p.there("dialog [type=submit][aria-disabled=true]")
		p.until(`window.say`)
		p.run(`window.say()`)
		p.there("dialog [name=scope]")
		if key == "m" {
			p.set("#when-time", "09:15")
			p.until(`document.querySelector('dialog [type=submit]').innerText === ` + quoted(words) + ``)
		}
		p.there("dialog [type=submit]:not([aria-disabled])")
		p.key(kb.Escape)
		p.closed()
	}
	if n := len(h.bookings()); n != 3 {
		t.Errorf("%d appointments remain, want 3", n)
	}
}

// TestVisitDialogExplainsRefusal: the dialog shows a conflict for any person in a visit before the move. If one
// person's appointment has been cancelled, the others close the gap, and the named person gets the time that the dialog
// shows.
func TestVisitDialogExplainsRefusal(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ids := h.family()
	h.must(200, "POST", "/v1/appointments/"+ids[1]+"/cancel", nil, asAdmin)
	h.must(201, "POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "slotStartDate": h.at("11:00"), "specialistId": "ada",
		"patient": map[string]any{"name": "Per Lind", "phone": "030 4445566"},
	}, asAdmin)
	p := h.desk(t, store.RoleReception)
	p.downTo("10:00 Ben Vogt")
	p.key("m")
	p.there("dialog [name=scope]")
	p.set("#when-time", "11:30") // then the first person would come at 11:00
	p.there("dialog .notice.danger")
	p.there("dialog [type=submit][aria-disabled=true]")
	p.set("#when-time", "12:15")
	p.until(`!document.querySelector('dialog .notice.danger')`)
	p.there("dialog [type=submit]:not([aria-disabled])")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.closed()
	p.cursor("12:15 Ben Vogt")
}

// TestVisitDialogNamesRefusedPerson: during the booking, the dialog shows a conflict for the last person in a visit.
func TestVisitDialogNamesRefusedPerson(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must(201, "POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "slotStartDate": h.at("10:00"), "specialistId": "ada",
		"patient": map[string]any{"name": "Per Lind", "phone": "030 4445566"},
	}, asAdmin)
	p := h.desk(t, store.RoleReception)
	p.downTo("09:00, Dr Ada Brandt")
	p.key("lena vogt")
	p.there("#patient-name:focus")
	p.there(".holding.held")
	p.click("#visitor-add")
	p.there(".visitor:last-of-type input:focus")
	p.there(".holding.held")
	p.click("#visitor-add")
	p.until(`document.querySelector('dialog .notice.danger')?.innerText.includes('Per Lind')`)
	p.there("dialog .notice.danger")
	p.there("dialog [type=submit][aria-disabled=true]")
}
