package browsertest

import (
	"testing"

	"holdfast/store"
)

// TestBoardSetsTimeOfPane: on a wide screen, the booking form is next to the board. A click on a cell sets the form's
// time. The typed text is kept if the desk opens an appointment in between.
func TestBoardSetsTimeOfPane(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.size(1440, 900)
	other, second := p.appointment("Per Lind", "karim", "15:00"), p.appointment("Lena Berg", "karim", "16:00")
	p.downTo("09:00, Dr Ada Brandt")
	p.key("lena vogt")
	p.there("dialog.pane .holding.held")
	p.until(`document.querySelector('.board').getBoundingClientRect().right <= document.querySelector('.pane').getBoundingClientRect().left`)
	p.accessible("a booking next to the board")
	p.shot("pane-book")

	p.run(`document.querySelector('.board').scrollTop = 0`)
	x, y := p.place("[data-col=karim]")
	p.mouse(mouseDown, x, y)
	p.mouse(mouseUp, x, y)
	p.until(`document.querySelector('#when-who').value === 'karim' && document.querySelector('#patient-name').value === 'lena vogt'`)

	p.run(`document.querySelector('` + card(other) + `').click()`)
	p.there("dialog.pane .attendance")
	p.accessible("an appointment next to the board")
	// A digit key on the board changes the appointment at the cursor, not the one in the pane.
	p.run(`document.querySelector('.board').focus()`)
	p.downTo("16:00 Lena Berg")
	p.key("2")
	p.there(card(second) + ".arrived")
	if p.count(card(other)+".arrived") != 0 {
		t.Error("the key has also changed the appointment in the pane")
	}
	p.click("dialog.pane .dialog-head .btn")
	p.until(`document.querySelector('#patient-name')?.value === 'lena vogt'`)
	p.set("#when-date", "nonsense")
	p.set("#when-time", "1630")
	p.until(`document.querySelector('.pane-lead') === null || !document.querySelector('.pane-lead').innerText`)
	p.set("#when-date", h.date)
	p.set("#when-who", "ada")
	p.set("#patient-phone", "030 1112233")
	p.there(".holding.held")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.closed()
	p.cursor("16:30 lena vogt")
}

// TestAbsentColumnIsStrip: the column of an absent specialist is a narrow strip, which a click widens.
func TestAbsentColumnIsStrip(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must(201, "POST", "/v1/specialists/ada/overrides", map[string]any{"date": h.date, "closed": true, "reason": "Sick"}, asAdmin)
	p := h.desk(t, store.RoleReception)
	p.until(`document.querySelector('[data-col=ada]').offsetWidth < 80 && document.querySelector('[data-col=karim]').offsetWidth > 200`)
	p.accessible("a board with a narrow column")
	p.click(".head.narrowed button")
	p.until(`document.querySelector('[data-col=ada]').offsetWidth > 150`)
}
