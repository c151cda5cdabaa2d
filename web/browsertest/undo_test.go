package browsertest

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/store"
)

// stands puts the cursor on an appointment's card while no dialog is open.
func (p *tab) stands(id string) {
	p.t.Helper()
	p.run(`document.querySelector(` + quoted(card(id)) + `).click()`)
	p.there("dialog .attendance")
	p.key(kb.Escape)
	p.closed()
	p.run(`document.querySelector('.board').focus()`)
	p.there(".cursor.on")
}

// toasted waits for a message in the corner of the board.
func (p *tab) toasted(text string) {
	p.t.Helper()
	p.until(`document.querySelector('.toast p')?.innerText.includes(` + quoted(text) + `)`)
}

const ctrl = 2

// TestDeskCorrectsPhoneWithTwoKeys: a wrong phone number is corrected with two keys plus the number itself.
func TestDeskCorrectsPhoneWithTwoKeys(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	id := p.appointment("Lena Vogt", "ada", "10:00")
	p.stands(id)
	p.key("e")
	p.there("#patient-name:focus")
	p.set("#patient-phone", "030 9998877")
	p.run(`document.querySelector("#patient-phone").focus()`)
	p.shot("staff-correct")
	p.key(kb.Enter)
	p.closed()
	p.toasted("Corrected: Lena Vogt")
	a := h.appointmentOf(id)
	if patient := a["patient"].(map[string]any); patient["phone"] != "030 9998877" || patient["name"] != "Lena Vogt" {
		t.Errorf("the patient is %v", patient)
	}
	// The dialog accepts a type that fits at the time. It refuses one that does not fit, and shows the reason.
	p.appointment("Per Lind", "ada", "10:30")
	p.key("e")
	p.there("#correct-type")
	p.until(`document.querySelector('#correct-type option[value=longer]').disabled && /Per Lind at 10:30/.test(document.querySelector('#correct-type option[value=longer]').innerText)`)
	p.key(kb.Escape)
	p.closed()
	other := p.appointment("Mira Sand", "ada", "14:00")
	p.stands(other)
	p.key("e")
	p.set("#correct-type", "longer")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.closed()
	p.toasted("Mira Sand is now")
	if got := h.appointmentOf(other); got["appointmentTypeId"] != "longer" || got["slotStartDate"] != h.at("14:00") {
		t.Errorf("the appointment is %v", got)
	}
	p.chord(ctrl, "z")
	p.toasted("Undone")
	if got := h.appointmentOf(other); got["appointmentTypeId"] != "checkup" {
		t.Errorf("the appointment is %v", got)
	}
}

// TestBoardUndoes: every change on the board can be undone within ten seconds, with keys or with the button.
func TestBoardUndoes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	id := p.appointment("Lena Vogt", "ada", "10:00")
	p.stands(id)

	p.key("2")
	p.toasted("Arrived")
	p.key("u")
	p.toasted("Undone")
	p.there(card(id) + ".expected")

	p.key(kb.Delete)
	p.there("#cancel-reason:focus")
	p.key(kb.Enter)
	p.closed()
	p.until(`!document.querySelector(` + quoted(card(id)) + `)`)
	p.toasted("Cancelled")
	p.shot("staff-undo")
	p.run(`document.querySelector('.board').focus()`)
	p.chord(ctrl, "z")
	p.there(card(id))
	p.toasted("Undone")

	p.stands(id)
	p.key("m")
	p.set("#when-time", "11:00")
	p.there(".dialog [type=submit]:not([aria-disabled])")
	p.key(kb.Enter)
	p.closed()
	p.toasted("Moved")
	p.click(".toast.undo .btn")
	p.toasted("Undone")
	if got := h.appointmentOf(id); got["slotStartDate"] != h.at("10:00") || got["status"] != "confirmed" {
		t.Errorf("the appointment is %v", got)
	}

	// Another client has taken the time first, and the message says so.
	p.stands(id)
	p.key(kb.Delete)
	p.there("#cancel-reason:focus")
	p.key(kb.Enter)
	p.closed()
	p.toasted("Cancelled")
	h.must(201, "POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at("10:00"),
		"patient": map[string]any{"name": "Per Lind", "phone": "030 1112233"},
	}, asAdmin)
	p.click(".toast.undo .btn")
	p.toasted("the old time has since been booked")
	p.there(".toast.bad")
}

// TestUndoKeepsColleaguesAttendance: the desk sets an attendance, and a colleague then sets another one. The undo is
// refused, and the colleague's attendance stays.
func TestUndoKeepsColleaguesAttendance(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	id := p.appointment("Lena Vogt", "ada", "10:00")
	p.stands(id)
	p.key("2")
	p.toasted("Arrived")
	h.must(200, "POST", "/v1/appointments/"+id+"/attendance", map[string]any{"attendance": "in_progress"}, asAdmin)
	p.there(card(id) + ".in_progress")
	p.key("u")
	p.toasted("someone has changed the appointment since then")
	p.there(".toast.bad")
	if got := h.appointmentOf(id)["attendance"]; got != "in_progress" {
		t.Errorf("the attendance is %v, want the colleague's", got)
	}
}

// TestBlockIsUndone: creating or removing a block can be undone.
func TestBlockIsUndone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.cursor("08:00, Dr Ada Brandt")
	p.blocks("09:00", "10:00", "Meeting")
	p.click(".toast.undo .btn")
	p.until(`![...document.querySelectorAll('[data-col=ada] .closed-why')].some(c => c.innerText.trim() === 'Meeting')`)
	p.toasted("Undone")
}
