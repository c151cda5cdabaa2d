package browsertest

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/store"
)

// TestOwnerErasesOneOfFamily: an owner finds a person, sees the data to be deleted and the people who share the phone
// number, and erases only that person. The child with the mother's number is not erased.
func TestOwnerErasesOneOfFamily(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	book := func(name, born, clock string) string {
		id, _ := h.must(201, "POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup",
			"specialistId": "karim", "slotStartDate": h.at(clock),
			"patient": map[string]any{"name": name, "birthDate": born, "phone": "030 1112233"}},
			asAdmin).get("appointment", "id").(string)
		return id
	}
	lena, mia := book("Lena Vogt", "1991-12-01", "09:00"), book("Mia Vogt", "2019-05-05", "10:00")
	p := h.desk(t, store.RoleOwner)
	p.key("/")
	p.there("dialog [type=search]:focus")
	p.key("lena vogt")
	p.there("#found-0[aria-selected=true]")
	p.key(kb.ArrowDown) // past the appointment, to the person
	p.there("#found-1[aria-selected=true]")
	p.key(kb.Enter)
	p.there("dialog.person-card #person-note")
	p.press("Erase this person…")
	p.says("1 upcoming appointment stays booked")
	p.says("Others with the same phone number or email")
	p.until(`document.activeElement.innerText === 'Keep'`) // Enter must not erase the person
	p.accessible("erasing a person")
	p.shot("staff-erase")
	p.press("Erase this person")
	p.says("1 appointment no longer has a name")
	p.accessible("a person is erased")
	p.press("Close")
	for id, want := range map[string]any{lena: nil, mia: "Mia Vogt"} {
		if got := h.must(200, "GET", "/v1/appointments/"+id, nil, asAdmin).get("appointment", "patient",
			"name"); got != want && got != "" {
			t.Errorf("the patient of an appointment is %v, want %v", got, want)
		}
	}
	said := h.must(200, "GET", "/v1/audit?action=person.erased", nil, asAdmin)
	if list, _ := said.get("audit").([]any); len(list) != 1 {
		t.Errorf("the log is %s", said.raw)
	}
}

// TestReceptionCannotErase: the reception has no command that erases a person.
func TestReceptionCannotErase(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.appointment("Lena Vogt", "ada", "09:00")
	p.key("/")
	p.there("dialog [type=search]:focus")
	p.key("lena vogt")
	p.there("#found-0[aria-selected=true]")
	p.key(kb.ArrowDown) // past the appointment, to the person
	p.there("#found-1[aria-selected=true]")
	p.key(kb.Enter)
	p.there("dialog.person-card #person-note")
	if p.says("Add note"); ask[bool](p, `document.querySelector('dialog').innerText.includes('Erase')`) {
		t.Error("the card has a button to erase the person")
	}
}
