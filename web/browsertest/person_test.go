package browsertest

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/store"
)

// TestPersonHasCard: the search finds the person despite a typo in the name. The person's card shows past and future
// appointments and a permanent note. The desk merges the person with another spelling of the name.
func TestPersonHasCard(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.appointment("Lena Großmann", "ada", "09:00")
	h.must(201, "POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "specialistId": "karim", "slotStartDate": h.at("11:00"),
		"patient": map[string]any{"name": "Lena Vogt", "birthDate": "1991-12-01"},
	}, asAdmin)
	p.key("/")
	p.there("dialog [type=search]:focus")
	p.key("grosman")
	p.there("#found-0[aria-selected=true]")
	p.key(kb.Enter)
	p.there("dialog.person-card #person-note")
	p.says("Lena Großmann")
	p.set("#person-note", "Needs a lift")
	p.press("Add note")
	p.until(`/Needs a lift/.test(document.querySelector('.person-card ul').innerText)`)
	p.press("Merge with a duplicate")
	p.set("#person-merge", "1.12.1991")
	p.there(".merge .textlink")
	p.click(".merge .textlink")
	p.says("Lena Großmann = Lena Vogt")
	p.says("2 upcoming, 0 past")
	if gap := ask[float64](p, `(e => e.getBoundingClientRect().right -
		e.querySelector('.dialog-head .square').getBoundingClientRect().right)(document.querySelector('dialog'))`); gap > 40 {
		t.Errorf("the card leaves %v pixels of its dialog empty", gap)
	}
	p.accessible("a patient's card")
	p.shot("staff-person")
}
