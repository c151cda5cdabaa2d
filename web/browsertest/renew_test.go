package browsertest

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// renewed waits until the page has reloaded because the clinic has changed its data.
func (p *tab) renewed() {
	p.t.Helper()
	p.says("The clinic has just changed its online booking.")
	p.there(".notice:focus")
}

// typed fills the form in, on a page with a held time.
func (p *tab) typed() {
	p.t.Helper()
	p.fill("#name", "Lena Vogt")
	p.fill("#email", "lena@example.org")
}

// submit presses the button of the form.
func (p *tab) submit() {
	p.t.Helper()
	p.click(".details [type=submit]")
}

func (h *house) change(id string, with map[string]any) {
	h.t.Helper()
	h.must(200, "PATCH", "/v1/appointment-types/"+id, with, asAdmin)
}

// TestOpenFormShowsNewQuestions: the clinic adds a question while a patient has the form open. The form shows the
// question and keeps the time and the typed text.
func TestOpenFormShowsNewQuestions(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	p.take(h.at("10:00"))
	p.typed()
	h.must(200, "PUT", "/v1/settings", map[string]any{"consent": map[string]any{"text": "We keep what you type."}},
		asAdmin)
	h.change("checkup", map[string]any{"questions": []store.Question{{ID: "why", Kind: store.AskText,
		Label: "Why do you come?", Required: true}}})
	p.submit()
	p.renewed()
	p.forgive()
	p.held()
	p.says("We keep what you type.")
	p.until(`document.querySelector('#name').value === 'Lena Vogt'`)
	p.accessible("a reloaded form")
	p.shot("renewed-form")

	// One question replaces another, and then there is none.
	p.run(`document.getElementById('answers.why').focus()`)
	p.write("My knee.")
	p.click("#consent")
	h.change("checkup", map[string]any{"questions": []store.Question{{ID: "who", Kind: store.AskText,
		Label: "Who sent you?", Required: true}}})
	p.submit()
	p.renewed()
	p.forgive()
	p.says("Who sent you?")
	p.run(`document.getElementById('answers.who').focus()`)
	p.write("My mother.")
	h.change("checkup", map[string]any{"questions": []store.Question{}})
	p.submit()
	p.renewed()
	p.forgive()
	p.held()
	p.until(`!document.getElementById('answers.who') && document.querySelector('#consent').checked`)
	p.submit()
	p.booked()
	if text := p.text("main"); strings.Contains(text, "has just changed") {
		t.Errorf("the page of the booking shows an earlier notice: %q", text)
	}
	h.one(t)
}

// TestOpenFormShowsNewLength: a type becomes shorter. The page holds the time again with the new length.
func TestOpenFormShowsNewLength(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(f *clinic.File) { f.AppointmentTypes[0].SlotStepMinutes = 30 })
	p := h.tab(t)
	p.when("&specialist=ada")
	p.take(h.at("10:00"))
	p.typed()
	h.change("checkup", map[string]any{"durationMinutes": 20})
	p.submit()
	p.renewed()
	p.forgive()
	p.held()
	p.submit()
	p.booked()
	one := h.one(t)
	start, _ := time.Parse(time.RFC3339, one["slotStartDate"].(string))
	end, _ := time.Parse(time.RFC3339, one["slotEndDate"].(string))
	if end.Sub(start) != 20*time.Minute {
		t.Errorf("booked from %v to %v, want 20 minutes", start, end)
	}
}

// TestOpenPageDropsRemovedType: if a type has been removed, no step of the page searches for it endlessly.
func TestOpenPageDropsRemovedType(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	what, details := h.tab(t), h.tab(t)
	what.open("/?lang=en")
	what.there(".card input[value=longer]")
	details.open("/?lang=en&type=longer")
	details.live()
	details.day(h.date)
	details.take(h.at("10:00"))
	details.typed()
	h.must(200, "DELETE", "/v1/appointment-types/longer", nil, asAdmin)
	what.click(".card input[value=longer]")
	what.click(".bar button")
	what.renewed()
	what.forgive()
	what.there(".card input[value=checkup]")
	if n := what.count(".card input[value=longer]"); n != 0 {
		t.Error("a deactivated type is still offered")
	}
	what.shot("renewed-what")
	what.click(".card input[value=checkup]")
	what.click(".bar button")
	what.live()
	if strings.Contains(what.text("main"), "has just changed") {
		t.Error("the notice remains on the next step")
	}
	if details.count(".details [type=submit]") > 0 { // unless the page has already removed the form
		details.run(`document.querySelector('.details [type=submit]')?.click()`)
	}
	details.renewed()
	details.forgive()
	details.there(".card input[value=checkup]")

	// A deactivated type has the same effect as a removed one: patients cannot book it.
	details.click(".card input[value=checkup]")
	details.click(".bar button")
	details.live()
	details.day(h.date)
	details.take(h.at("11:00"))
	if name := ask[string](details, `document.querySelector('#name').value`); name != "Lena Vogt" {
		t.Errorf("the form contains %q, want the entered text", name)
	}
	h.change("checkup", map[string]any{"active": false})
	details.run(`document.querySelector('.details [type=submit]')?.click()`)
	details.renewed()
	details.forgive()
	details.says("Choose a time") // only this type is left
}

// TestRestoredPageIsRefreshed: a user who returns to a page after a long time sees the changes that the clinic has
// made.
func TestRestoredPageIsRefreshed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.open("/?lang=en")
	p.there(".card input[value=longer]")
	hidden := func(is string) {
		t.Helper()
		p.run(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => ` + is +
			` }), document.dispatchEvent(new Event('visibilitychange'))`)
	}
	hidden("true")
	h.must(200, "DELETE", "/v1/appointment-types/longer", nil, asAdmin)
	p.run(`Date.now = (now => () => now() + 16 * 60e3)(Date.now)`)
	hidden("false")
	p.renewed()
	p.there(".card input[value=checkup]")
	if n := p.count(".card input[value=longer]"); n != 0 {
		t.Error("a deactivated type is still offered")
	}
}

// TestOpenMoveDropsRemovedType: a type is removed while a patient is choosing a new time for an appointment. The page
// explains this, and does not report an expired link.
func TestOpenMoveDropsRemovedType(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	p.take(h.at("10:00"))
	p.confirm()
	p.booked()
	p.click(".row + .row .btn")
	p.live()
	p.day(h.date)
	h.must(200, "DELETE", "/v1/appointment-types/checkup", nil, asAdmin)
	p.run(`document.querySelector('.chip.free input')?.click()`)
	p.run(`document.querySelector('.bar button')?.click()`)
	p.renewed()
	p.forgive()
	p.there(".ticket.confirmed")
	if text := p.text(".ticket"); !strings.Contains(text, "Check-up") {
		t.Errorf("the appointment of a deactivated type is shown as %q, without its type", text)
	}
	p.shot("renewed-manage")
}
