package browsertest

import (
	"strings"
	"testing"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// withRoom adds a room to the clinic.
func withRoom(f *clinic.File) {
	f.Specialists = append(f.Specialists, clinic.SpecialistEntry{ID: "room-1",
		Kind: "resource", Name: "Room One", Timezone: f.Clinic.Timezone, Active: true})
}

// TestOwnerSetsRoomsOfType: an owner adds a device, and configures a type to need a room.
func TestOwnerSetsRoomsOfType(t *testing.T) {
	t.Parallel()
	h := newHouse(t, withRoom)
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#specialists")
	p.press("Add specialist")
	p.set("dialog #kind", "resource")
	p.fill("dialog #name", "Laser")
	p.accessible("a new device")
	p.shot("together-device")
	p.saved()
	p.says("Laser")
	for _, lang := range []string{"en", "de", "es"} {
		p.leave()
		p.open("/staff?lang=" + lang + "#types")
		p.there(".line-do button")
		p.run(`document.querySelector('.line-do button.btn:not(.square)').click()`)
		p.there("dialog #needs")
		p.run(`document.querySelector('#needs > p:last-child button').click()`)
		p.there("#needs fieldset label.check")
		p.accessible("what a type needs, in " + lang)
		p.shot("together-needs-" + lang)
	}
	p.run(`[...document.querySelectorAll('#needs fieldset label.check')].find(x => x.innerText.includes('Room One')).click()`)
	p.saved()
	if got := h.must(200, "GET", "/v1/appointment-types", nil, asAdmin); !strings.Contains(got.raw,
		`"needs":[["room-1"]]`) {
		t.Errorf("the types are %s, want one that needs the room", got.raw)
	}
}

// TestRoomHasColumn: an appointment that needs a room also appears in the room's column, and patients see no room.
func TestRoomHasColumn(t *testing.T) {
	t.Parallel()
	h := newHouse(t, withRoom)
	h.must(200, "PATCH", "/v1/appointment-types/checkup", map[string]any{"needs": []any{[]any{"room-1"}}}, asAdmin)
	h.must(201, "POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "slotStartDate": h.at("10:00"),
		"patient": map[string]any{"name": "Rosa Winter", "phone": "030 1112233"},
	}, asAdmin)
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#day/" + h.date)
	p.says("Room One")
	p.until(`[...document.querySelectorAll('.appt.busy')].some(x => x.innerText.includes('Rosa Winter'))`)
	if n := ask[int](p, `document.querySelectorAll('.col[data-col=room-1] .closed').length`); n != 0 {
		t.Errorf("a room without hours is shown as closed %d times", n)
	}
	p.accessible("a board with a room")
	p.shot("together-board")
	guest := h.tab(t)
	guest.open("/?lang=en")
	guest.there(".card")
	if seen := ask[string](guest, "document.documentElement.innerHTML"); strings.Contains(seen, "Room One") {
		t.Error("the patient's page shows the room")
	}
}

// TestDeskBooksFromARoomColumn: the dialog opens with an appointment type that needs the room, and with a specialist
// who offers that type. The dialog does not offer a room as a specialist.
func TestDeskBooksFromARoomColumn(t *testing.T) {
	t.Parallel()
	h := newHouse(t, withRoom)
	h.must(200, "PATCH", "/v1/appointment-types/checkup", map[string]any{"needs": []any{[]any{"room-1"}}}, asAdmin)
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#day/" + h.date)
	p.says("Room One")
	p.click("[data-col=room-1]")
	p.there("dialog #when-who")
	p.until(`document.querySelector('dialog input[name=type]:checked')?.value === 'checkup'`)
	if got := ask[string](p, `[...document.querySelectorAll('#when-who option')].map(o => o.value).join()`); strings.Contains(got, "room-1") || got == "" {
		t.Errorf("the specialists are %q, want only people", got)
	}
	if said := ask[string](p, `document.querySelector('dialog').innerText`); strings.Contains(said, "{") {
		t.Errorf("the dialog shows an empty place: %s", said)
	}
	p.shot("together-book")
}

// TestWholeDayBlockKeepsItsWord: the reason for a whole-day block is visible at the beginning and at the end of the
// day.
func TestWholeDayBlockKeepsItsWord(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must(201, "POST", "/v1/specialists/ada/overrides", map[string]any{"date": h.date,
		"closed": true, "reason": "Conference"}, asAdmin)
	p := h.desk(t, store.RoleReception)
	p.size(1200, 600)
	p.there("[data-col=ada] .closed-why span")
	for _, where := range []string{"0", "board.scrollHeight"} {
		p.run(`(board => board.scrollTop = ` + where + `)(document.querySelector('.board'))`)
		p.until(`((word, board, head) => word.top >= head.bottom && word.bottom <= board.bottom && word.height > 8)(` +
			`[...document.querySelectorAll('[data-col=ada] .closed-why span')].find(x => x.innerText === 'Conference').getBoundingClientRect(), ` +
			`document.querySelector('.board').getBoundingClientRect(), document.querySelector('.corner').getBoundingClientRect())`)
	}
	p.shot("staff-whole-day")
}
