package browsertest

import (
	"strconv"
	"testing"

	"holdfast/store"
)

// TestAppointmentShowsWhoChangedIt: the dialog of an appointment shows who moved it and who cancelled it, even after
// the cancellation. An owner finds the same entries in the audit log by patient, by words and by appointment.
func TestAppointmentShowsWhoChangedIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	id := p.appointment("Lena Vogt", "ada", "09:00")
	p.appointment("Per Lind", "karim", "09:30")
	send := func(what, body string) {
		p.run(`fetch('/v1/appointments/` + id + `/` + what +
			`', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: ` + quoted(body) + `})`)
	}
	send("reschedule", `{"slotStartDate":"`+h.at("11:00")+`"}`)
	p.until(`document.querySelector(` + quoted(card(id)) + `)?.innerText.includes('11:00')`)
	p.run(`document.querySelector(` + quoted(card(id)) + `).click()`)
	p.until(`/Moved by Jo owner, \d/.test(document.querySelector('.changes summary').innerText)`)
	p.click(".changes summary")
	p.says("09:00 → ")
	p.accessible("the changes of an appointment")
	p.shot("staff-changes")
	p.run(`document.querySelector('dialog [aria-label=Close]').click()`)
	p.until(`!document.querySelector('dialog')`)

	// The search finds a cancelled appointment, and its dialog shows who cancelled it.
	send("cancel", `{"reason":"has the flu"}`)
	p.until(`!document.querySelector(` + quoted(card(id)) + `)`)
	p.run(`document.querySelector('.board').focus()`)
	p.key("/")
	p.there("dialog input[type=search]")
	p.fill("dialog input[type=search]", "lena")
	p.click("#found [role=option].cancelled")
	p.says("This appointment has been cancelled.")
	p.until(`/Cancelled by Jo owner, \d/.test(document.querySelector('.changes summary').innerText)`)
	p.says("Reason: has the flu")
	p.accessible("a cancelled appointment")
	p.shot("staff-cancelled")

	lines := func(n int) {
		t.Helper()
		p.until(`document.querySelectorAll('.log > .line').length === ` + strconv.Itoa(n))
	}
	p.press("Open in the audit log")
	p.says("One appointment only")
	lines(3)
	p.press("Show all")
	p.fill("#patient", "vogt")
	p.press("Lena Vogt")
	p.says("Only appointments for Lena Vogt")
	lines(3)
	p.fill("#words", "FLU cancelled")
	lines(1)
	p.accessible("the audit log of a patient")
	p.shot("staff-audit-patient")
	p.press("Only this appointment")
	p.says("One appointment only")
}
