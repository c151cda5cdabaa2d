package browsertest

import (
	"fmt"
	"testing"

	"holdfast/store"
)

// TestOwnerAddsSpecialistInOneForm: an owner enters a name, checks appointment types and presses one button to create a
// specialist whom patients can book, with the clinic's hours. The columns and colours of the other specialists do not
// change.
func TestOwnerAddsSpecialistInOneForm(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.size(1280, 720)
	p.open("/staff?lang=en#specialists")
	p.press("Add specialist") // click 1
	p.there("dialog #name:focus")
	p.write("Aaron Abel")
	p.accessible("a new specialist")
	p.press("Check-up")     // click 2
	p.press("Longer visit") // click 3
	p.shot("specialist-new")
	p.saved() // click 4
	p.says("Aaron Abel has been saved.")
	people, _ := h.must(200, "GET", "/v1/specialists", nil, asAdmin).get("specialists").([]any)
	var order []string
	var id string
	for _, x := range people {
		order = append(order, fmt.Sprint(x.(map[string]any)["name"]))
		id = fmt.Sprint(x.(map[string]any)["id"])
	}
	if got := fmt.Sprint(order); got != "[Dr Ada Brandt Dr Karim Haddad Aaron Abel]" {
		t.Errorf("the order of the specialists is %s", got)
	}
	hours, _ := h.must(200, "GET", "/v1/specialists/"+id+"/weekly-hours", nil, asAdmin).get("weeklyHours").([]any)
	if len(hours) != 7 {
		t.Errorf("the new specialist has %d windows, want the clinic's 7", len(hours))
	}
	h.must(200, "GET", "/v1/appointment-types/checkup/next-available?specialistId="+id, nil)
	h.must(422, "GET", "/v1/appointment-types/class/next-available?specialistId="+id, nil)
	p.open("/staff?lang=en#day/" + h.date)
	p.until(`[...document.querySelectorAll('[data-col]')].length >= 3`)
	p.shot("specialist-new-board")
}

// TestOwnerCopiesType: a copy of an appointment type opens as a new type, in everyday units, and is added at the end.
// The colours of the other types do not change. The Save button is visible without scrolling.
func TestOwnerCopiesType(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.size(1280, 720)
	p.open("/staff?lang=en#types")
	p.there(".line.t2")
	p.press("Copy this type: Longer visit")
	p.until(`document.querySelector('dialog #name').value === 'Longer visit (copy)'`)
	p.until(`(r => r.bottom <= innerHeight && r.top > 0)(document.querySelector('dialog [type=submit]').getBoundingClientRect())`)
	p.run(`document.querySelector('dialog #minNoticeMinutes').select()`)
	p.write("3")
	p.set("dialog #minNoticeMinutes + select", "days")
	p.accessible("the copy of a type")
	p.shot("type-copy")
	p.saved()
	p.says("Longer visit (copy) has been saved.")
	types, _ := h.must(200, "GET", "/v1/appointment-types", nil, asAdmin).get("appointmentTypes").([]any)
	last := types[len(types)-1].(map[string]any)
	if len(types) != 4 || last["name"] != "Longer visit (copy)" || last["minNoticeMinutes"] != 3*1440.0 || last["durationMinutes"] != 60.0 {
		t.Errorf("the types end with %v", last)
	}
	p.until(`document.querySelectorAll('.line')[1].classList.contains('t2') && document.querySelectorAll('.line').length === 4`)
	p.press("Edit Longer visit (copy)")
	p.until(`document.querySelector('dialog #minNoticeMinutes').value === '3' && document.querySelector('dialog #minNoticeMinutes + select').value === 'days'`)
}
