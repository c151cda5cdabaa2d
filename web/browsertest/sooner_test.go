package browsertest

import (
	"testing"

	"holdfast/store"
)

// openedCard books Lena Vogt with Dr Brandt and opens the appointment on the board of a small screen.
func (h *house) openedCard(t *testing.T, clock string) (p *tab, id string) {
	t.Helper()
	p = h.desk(t, store.RoleReception)
	p.size(1280, 720)
	id = p.appointment("Lena Vogt", "ada", clock)
	p.run(`document.querySelector(` + quoted(card(id)) + `).click()`)
	p.there("dialog .attendance")
	// the history and the changes load later, and move the buttons below them
	p.until(`/No earlier appointments[^]*Booked by/.test(document.querySelector('dialog').innerText)`)
	return p, id
}

// TestMoveFindsNextFreeTime: the move form lists the next free times, and one click chooses one of them.
func TestMoveFindsNextFreeTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p, id := h.openedCard(t, "09:00")
	p.click("dialog .actions .btn")
	p.there(".nextfree .btn:nth-of-type(3)")
	p.accessible("the next free times of a move")
	p.shot("move-next-free")
	p.click(".nextfree .textlink")
	p.says("Dr Ada Brandt")
	p.click(".nextfree .textlink")
	p.there(".nextfree .btn:nth-of-type(3)")
	p.click(".nextfree .btn:nth-of-type(2)")
	p.there("dialog .ask .icon")
	p.click("dialog [type=submit]:not([aria-disabled])")
	p.until(`!document.querySelector('dialog')`)
	if a := h.appointmentOf(id); a["slotStartDate"] == h.at("09:00") {
		t.Errorf("the appointment did not move: %v", a)
	}
}

// TestCardWaitsForEarlierTime: two clicks on a card put its appointment on the waiting list for an earlier time.
func TestCardWaitsForEarlierTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p, id := h.openedCard(t, "15:00")
	p.click("dialog .sooner")
	p.there("dialog #wl-from")
	p.accessible("a wish for an earlier time")
	p.shot("sooner")
	p.click("dialog [type=submit]")
	p.says("Lena Vogt is on the waiting list for an earlier time.")
	x := h.waiting()
	if x.AppointmentID != id || x.Wish.To.String() != h.date || len(x.Wish.SpecialistIDs) != 1 {
		t.Errorf("the entry is %+v", x)
	}
}

// TestWaitlistFindsKnownPatient: the desk types two letters, and the known patient's details are filled in.
func TestWaitlistFindsKnownPatient(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.size(1280, 720)
	p.appointment("Lena Vogt", "ada", "15:00")
	p.open("/staff?lang=en#waitlist")
	p.press("Add person")
	p.there("#wl-name:focus")
	p.write("le")
	p.there("#person-0")
	p.accessible("known patients for the waiting list")
	p.shot("waitlist-known")
	p.click("#person-0")
	p.until(`document.querySelector('#wl-name').value === 'Lena Vogt' && document.querySelector('#wl-phone').value !== ''`)
	p.click("dialog [type=submit]")
	p.until(`!document.querySelector('dialog')`)
	if x := h.waiting(); x.Patient.Name != "Lena Vogt" || x.Patient.Phone == "" {
		t.Errorf("the entry is %+v", x)
	}
}
