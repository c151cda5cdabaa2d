package browsertest

import (
	"testing"

	"holdfast/store"
)

// TestAppointmentShowsPatientHistory: an appointment's dialog lists the patient's past and future appointments,
// including no-shows, with links to them.
func TestAppointmentShowsPatientHistory(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.size(1280, 1000) // so that the actions at the bottom cover nothing, whatever the font
	id := p.appointment("Lena Vogt", "ada", "09:00")
	p.run(`document.querySelector(` + quoted(card(id)) + `).click()`)
	p.says("No earlier appointments")
	p.run(`document.querySelector('dialog [aria-label=Close]').click()`)
	p.until(`!document.querySelector('dialog')`)
	missed := p.appointment("Lena Vogt", "karim", "10:00")
	h.must(200, "POST", "/v1/appointments/"+missed+"/attendance", map[string]any{"attendance": "no_show"}, asAdmin)
	gone := p.appointment("Lena Vogt", "karim", "14:00")
	h.must(200, "POST", "/v1/appointments/"+gone+"/cancel", map[string]any{}, asAdmin)
	p.appointment("Tom Vogt", "karim", "11:00") // with the family's phone number
	p.run(`document.querySelector(` + quoted(card(id)) + `).click()`)
	p.until(`/1 upcoming, 1 past/.test(document.querySelector('.history summary').innerText)`)
	p.click(".history summary")
	p.until(`document.querySelectorAll('.history li').length === 2`)
	p.accessible("an appointment with a history")
	p.shot("staff-history")
	p.click(".history li .textlink")
	p.until(`!document.querySelector('dialog')`)
	p.cursor("10:00 Lena Vogt")
}
