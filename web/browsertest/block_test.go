package browsertest

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/store"
)

// blocks creates a block at the cursor, as the desk does.
func (p *tab) blocks(from, to, reason string) {
	p.t.Helper()
	p.menu("stop")
	p.there("#block-reason:focus")
	p.set("#block-from", from)
	p.set("#block-to", to)
	p.key(reason)
	p.key(kb.Enter)
	p.closed()
	p.until(`[...document.querySelectorAll('[data-col=ada] .closed-why')].some(c => c.innerText.trim() === ` +
		quoted(reason) + `)`)
}

// TestBlocksOfOneDayAreRemovedSeparately: two blocks of one day are separate on the board, each with its reason. The
// menu removes one of them, and the other still refuses bookings.
func TestBlocksOfOneDayAreRemovedSeparately(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.cursor("08:00, Dr Ada Brandt")
	p.blocks("09:00", "10:00", "Meeting")
	p.blocks("14:00", "15:30", "Dentist")
	p.shot("staff-two-blocks")
	hold := func(clock string) reply {
		return h.call("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup",
			"slotStartDate": h.at(clock), "specialistId": "ada", "clientId": "a-stranger-00001"})
	}
	for _, clock := range []string{"09:30", "14:00", "15:00"} {
		if got := hold(clock); got.status != 409 || got.get("reason") != "override_closed" {
			t.Errorf("a hold of %s: %d %s", clock, got.status, got.raw)
		}
	}

	p.downTo("09:00, Dr Ada Brandt, Meeting until 10:00")
	p.chord(shift, kb.Enter)
	p.there("[role=menu] :focus")
	p.until(`[...document.querySelectorAll('[role=menu] button')].every(b => !/Usual hours|Block time/.test(b.innerText))`)
	p.key("r")
	p.until(`document.activeElement.innerText.startsWith('Remove the block from 09:00 to 10:00')`)
	p.key(kb.Enter)
	p.there("dialog .btn.primary:focus")
	p.says("Reason given: Meeting")
	p.accessible("a block to be removed")
	p.shot("staff-remove-block")
	p.key(kb.Enter)
	p.closed()
	p.until(`(closed => closed.includes('Dentist') && !closed.includes('Meeting'))([...document.querySelectorAll('[data-col=ada] .closed-why')].map(c => c.innerText.trim()))`)
	if got := hold("15:00"); got.status != 409 || got.get("reason") != "override_closed" {
		t.Errorf("a hold in the remaining block: %d %s", got.status, got.raw)
	}
	if got := hold("09:30"); got.status != 201 {
		t.Errorf("a hold in the removed block: %d %s", got.status, got.raw)
	}
	if list, _ := h.must(200, "GET", "/v1/specialists/ada/overrides", nil,
		asAdmin).get("overrides").([]any); len(list) != 0 {
		t.Errorf("the blocks created overrides: %v", list)
	}
}
