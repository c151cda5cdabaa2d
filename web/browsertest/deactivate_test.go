package browsertest

import (
	"testing"

	"holdfast/store"
)

// TestDeactivatedSpecialistCanReturn: an owner deactivates a specialist and a type that have appointments. The board
// still shows the appointments, and the owner can activate both again. The board also shows the appointments of
// archived ones, with their names. The list of users says that the specialist's account cannot sign in, and the owner
// can deactivate it.
func TestDeactivatedSpecialistCanReturn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	h.staff(store.RoleSpecialist)
	id := p.appointment("Lena Vogt", "ada", "10:00")
	deactivate := func(page, name string) {
		p.open("/staff?lang=en#" + page)
		p.press("Deactivate " + name)
		p.there("dialog")
		p.press("Deactivate")
		p.until(`!document.querySelector('dialog')`)
		p.says("Deactivated")
	}
	onBoard := func() {
		p.open("/staff?lang=en#day/" + h.date)
		p.board()
		p.there(card(id))
		p.until(`/Dr Ada Brandt[^]*1 booked/.test(document.querySelector('.calendar, .board').innerText)`)
		p.until(`/Lena Vogt, Check-up/.test(document.querySelector(` + quoted(card(id)) + `).ariaLabel)`)
	}
	deactivate("specialists", "Dr Ada Brandt")
	deactivate("types", "Check-up")
	onBoard()
	p.open("/staff?lang=en#users")
	p.says("Cannot sign in: the specialist is deactivated Specialist, Dr Ada Brandt")
	p.open("/staff?lang=en#specialists")
	p.until(`document.querySelector('.line:last-child').innerText.includes('Dr Ada Brandt')`) // the last one
	p.press("Reactivate Dr Ada Brandt")
	p.says("Dr Ada Brandt can be booked again.")
	p.open("/staff?lang=en#types")
	p.press("Reactivate Check-up")
	p.says("Check-up can be booked again.")
	h.must(200, "GET", "/v1/appointment-types/checkup/explain?specialistId=ada&slotStartDate="+h.at("11:00"), nil)
	if got := h.must(200, "GET", "/v1/specialists/ada", nil, asAdmin); got.get("specialist", "active") != true {
		t.Errorf("ada is %s", got.raw)
	}

	h.must(200, "DELETE", "/v1/specialists/ada", nil, asAdmin)
	h.must(200, "DELETE", "/v1/appointment-types/checkup", nil, asAdmin)
	onBoard()
	p.open("/staff?lang=en#users")
	p.says("Cannot sign in: the specialist is deactivated Specialist, Dr Ada Brandt")
	p.press("Edit Jo specialist")
	p.press("Can sign in")
	p.saved()
	p.says("Deactivated Specialist, Dr Ada Brandt")
}

// TestTypeFormNamesMistakes: the form of a type finds the mistakes in questions and required rooms itself, in the
// language of the page.
func TestTypeFormNamesMistakes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must(201, "POST", "/v1/specialists", map[string]any{"id": "room", "name": "Raum 1", "kind": "resource"}, asAdmin)
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=de#types")
	p.press("Check-up bearbeiten")
	p.there("dialog #capacity")
	p.fill("#capacity", "6")
	p.press("Raum oder Gerät hinzufügen")
	p.press("Raum 1")
	p.press("Fragen")
	p.press("Frage hinzufügen")
	p.set(`[id="questions[0].kind"]`, "choice")
	p.click("dialog [type=submit]")
	p.says("Gruppentermine können keinen Raum und kein Gerät anfordern.")
	p.says("Geben Sie die Frage ein")
	p.says("Geben Sie 2 bis 30 verschiedene Antworten ein, eine pro Zeile")
}
