package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/store"
)

// TestExpiredSignInKeepsDraft: if a sign-in expires during a booking, the page asks for the password again, and the
// booking continues unchanged.
func TestExpiredSignInKeepsDraft(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.key("per lind")
	p.there("#patient-name:focus")
	p.fill("#patient-phone", "030 1112233")
	p.there(".holding.held")
	// The test waits for the search for the name, so that the booking is the first request after the sign-in has
	// expired.
	p.until(`performance.getEntriesByType('resource').some(e => /\/v1\/appointments\/search$/.test(e.name))`)
	p.forget()
	p.key(kb.Enter)
	p.there("#sign-password:focus")
	p.write("not the password")
	p.key(kb.Enter)
	p.there("dialog .notice.danger")
	p.fill("#sign-password", "")
	p.run(`document.querySelector('#sign-password').select()`)
	p.write(password)
	p.key(kb.Enter)
	p.until(`!document.querySelector('dialog')`)
	p.until(`[...document.querySelectorAll('.appt')].some(a => /per lind/.test(a.innerText))`)
	if patient, _ := h.one(t)["patient"].(map[string]any); patient["name"] != "per lind" ||
		patient["phone"] != "030 1112233" {
		t.Errorf("the database has %v", patient)
	}
}

// TestIdleDeskWarnsAndLocks: an idle desk shows a warning two minutes before it locks itself. The typed text is kept
// while the desk is locked.
func TestIdleDeskWarnsAndLocks(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	email := h.staff(store.RoleReception)
	p := h.tab(t)
	p.size(1280, 800)
	// With this script, the test can put the page's clock forward.
	p.everyDocument(`{
		const now = performance.now.bind(performance)
		window.later = 0
		performance.now = () => now() + window.later
	}`)
	p.open("/staff?lang=en#day/" + h.date)
	p.signIn(email)
	idle := ask[float64](p, `fetch('/v1/auth/me').then(r => r.json()).then(me => me.idleSeconds)`)
	p.run(fmt.Sprintf(`window.later = %f * 1000 - 100e3`, idle))
	p.says("Are you still there?")
	p.accessible("the warning before the lock")
	p.shot("desk-idle-warning")
	p.click("dialog .btn.primary")
	p.closed()
	p.key("per lind")
	p.there("#patient-name:focus")
	p.run(fmt.Sprintf(`window.later = %f * 2000 + 100e3`, idle))
	p.there("#sign-password")
	if raw := p.text("dialog:last-of-type"); strings.Contains(raw, "per lind") {
		t.Errorf("the lock screen shows the page behind it: %s", raw)
	}
	p.until(`fetch('/v1/auth/me').then(r => r.status === 401)`) // the server also ends the sign-in
	p.fill("#sign-password", password)
	p.key(kb.Enter)
	p.until(`document.querySelector('#patient-name')?.value === 'per lind' && !document.querySelector('#sign-password')`)
}

// TestDeskDisplacesPatientsHold: a patient is booking a time online. The desk sees that before it takes the time, and
// takes it only after a confirmation.
func TestDeskDisplacesPatientsHold(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	hold := h.hold("a-stranger-00001", "ada", h.at("09:00"), 300)
	p.there(".ghosted")
	p.key("per lind")
	p.there("#patient-name:focus")
	p.fill("#patient-phone", "030 1112233")
	p.set("#when-time", "09:00")
	p.says("Someone is booking this time online.")
	p.click("dialog .slotside .notice .btn")
	p.there(".holding.held")
	p.click("dialog [type=submit]")
	p.until(`!document.querySelector('dialog')`)
	p.until(`[...document.querySelectorAll('.appt')].some(a => /per lind/.test(a.innerText))`)
	p.until(`!document.querySelector('.ghosted')`)
	h.one(t)
	h.must(410, "PATCH", "/v1/holds", map[string]any{"holdId": hold.get("holdId"), "clientId": "a-stranger-00001"})
}

// TestBlockKeepsAppointments: a block includes the time of an appointment. The page names the appointment, and the
// appointment does not change.
func TestBlockKeepsAppointments(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.appointment("Lena Vogt", "ada", "09:00")
	p.menu("stop")
	p.there("#block-reason:focus")
	p.set("#block-from", "08:30")
	p.set("#block-to", "11:00")
	p.until(`/09:00 Lena Vogt/.test(document.querySelector('dialog .notice').innerText)`)
	p.key("team meeting")
	p.click("dialog [type=submit]")
	p.until(`!document.querySelector('dialog')`)
	p.until(`/team meeting/i.test(document.querySelector('[data-col=ada]').innerText)`)
	h.one(t)
	// The rest of the block cannot be booked online.
	got := h.call("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at("10:00"),
		"specialistId": "ada", "clientId": "a-stranger-00001"})
	if got.status != 409 || got.get("reason") != "override_closed" {
		t.Errorf("a hold in the blocked time: %d %s", got.status, got.raw)
	}
}

// TestSpecialistSeesColleaguesAsBusy: specialists work in their own calendars, and see only the busy times of their
// colleagues.
func TestSpecialistSeesColleaguesAsBusy(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleSpecialist)
	p.appointment("Lena Vogt", "ada", "09:00")
	h.must(201, "POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "specialistId": "karim", "slotStartDate": h.at("10:00"),
		"patient": map[string]any{"name": "Per Lind", "phone": "030 1112233"},
	}, asAdmin)
	p.there("[data-col=karim] .busy")
	p.says("Busy")
	p.accessible("a specialist's day")
	if raw := ask[string](p, `document.documentElement.outerHTML`); strings.Contains(raw, "Per Lind") {
		t.Error("the page has the name of a colleague's patient")
	}
	p.key(kb.ArrowRight)
	p.cursor("Dr Karim Haddad")
	p.key("x")
	p.says("You can only change your own calendar.")
	p.drag(card(p.ofAda()), `[data-col=karim]`, 0)
	p.moment()
	if n := p.count("dialog"); n != 0 {
		t.Error("a specialist is asked whether to move an appointment to a colleague")
	}
	p.open("/staff?lang=en#search")
	p.board()
	p.key("/")
	p.there("dialog [type=search]:focus")
	p.key("per")
	p.says("No matches for")
}

// ofAda returns the id of the only appointment in ada's column.
func (p *tab) ofAda() string {
	p.t.Helper()
	return ask[string](p, `document.querySelector('[data-col=ada] .appt').dataset.id`)
}
