package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// grouped does the same as many, and adds four groups, colours, prices, and some texts in a second language.
func grouped(f *clinic.File) {
	many(f)
	groups := []clinic.TypeGroup{
		{ID: "first", Name: "First visits", Names: map[string]string{"de": "Erste Besuche", "es": "Primeras visitas"}},
		{ID: "teeth", Name: "Teeth"}, {ID: "children", Name: "Children"}, {ID: "empty", Name: "Nothing in it"},
	}
	f.Clinic.Settings = &clinic.Settings{TypeGroups: groups}
	for n := range f.AppointmentTypes {
		t := &f.AppointmentTypes[n]
		if n < 36 {
			t.Group = groups[n%3].ID
		}
		t.Color = []string{"kelp", "ocean", "plum", "amber", "rose", "olive"}[n%6]
		t.Price = []string{"", "40 €"}[n%2]
		t.NewPatientsOnly, t.Remote = n%5 == 0, n%7 == 0
	}
	f.AppointmentTypes[7].Name, f.AppointmentTypes[7].Texts = "Crown",
		map[string]store.TypeText{"de": {Name: "Zahnkrone", Description: "Zwei Besuche."}}
	f.Specialists[3].Name, f.Specialists[3].Line = "Dr Zoë Ünal", "Crowns and bridges"
}

// TestPatientSearchesManyTypes: a patient finds one of forty types by a word, and one of the type's fifteen specialists
// by name. The specialists appear next to the chosen type.
func TestPatientSearchesManyTypes(t *testing.T) {
	t.Parallel()
	h := newHouse(t, grouped)
	h.must(200, "PUT", "/v1/specialists/specialist-03/picture", map[string]any{"content": pixel}, asAdmin)
	p := h.tab(t)
	p.open("/?lang=en")
	p.there("details.group")
	if n := ask[int](p, `document.querySelectorAll('.group').length`); n != 4 {
		t.Errorf("there are %d groups, want three and the types without a group", n)
	}
	p.shot("choose-groups")
	p.accessible("closed groups")
	p.click("details.group:nth-of-type(2) summary")
	p.there("details.group[open] .card")
	p.shot("choose-group-open")
	p.accessible("an open group")

	p.fill("#what-search", "crown")
	p.until(`document.querySelectorAll('.card').length === 1`)
	p.says("1 found")
	p.click(".card input")
	p.there(".choice .who") // the specialists appear next to the type
	p.until(`document.querySelectorAll('.who .option').length === 16`)
	p.fill("#who-search", "unal")
	p.until(`document.querySelectorAll('.who .option').length === 2`)
	p.there(`.option img[src*="/picture?v="]`)
	p.until(`document.querySelector('.option img').complete && document.querySelector('.option img').naturalWidth === 1`)
	p.says("Crowns and bridges")
	p.shot("choose-specialist")
	p.accessible("a specialist found by name")
	p.click(".who input[value=specialist-03]")
	p.click(".bar button")
	p.there(".chip")
	p.says("Dr Zoë Ünal")

	// A search for the name of a specialist lists their types, and choosing a type also chooses the specialist.
	p.open("/?lang=en")
	p.there("#what-search")
	p.fill("#what-search", "zoe unal")
	p.until(`document.querySelectorAll('.card').length === 10`)
	p.click(".card input[value=type-11]")
	p.there(".who input[value=specialist-03]:checked")
	p.fill("#what-search", "nothing like it")
	p.says("No matches.")
	p.key(kb.Enter) // Enter in the search submits nothing
	p.there("#what-search")
}

// TestClinicTextsFollowPageLanguage: the clinic's own texts and groups are in the language of the page.
func TestClinicTextsFollowPageLanguage(t *testing.T) {
	t.Parallel()
	h := newHouse(t, grouped)
	p := h.tab(t)
	p.open("/?lang=de&type=type-07")
	p.there(".chip")
	p.says("Zahnkrone")
	p.open("/?lang=de")
	p.there(".group")
	p.says("Erste Besuche")
	p.shot("choose-de")
	p.size(390, 844)
	p.accessible("many types on a phone")
	p.shot("choose-phone")
}

// TestOwnerEditsNameInClinicLanguage: a type has a name in the clinic's own language, which the booking page shows,
// because the clinic's language has changed. The owner can edit that name.
func TestOwnerEditsNameInClinicLanguage(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(f *clinic.File) {
		f.Clinic.Locale = "de"
		f.AppointmentTypes[0].Texts = map[string]store.TypeText{"de": {Name: "Vorsorge"}}
	})
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#types")
	p.press("Edit Check-up")
	p.press("On the booking page")
	p.there(`dialog details[open]`)
	if n := ask[int](p, `document.querySelectorAll('[id="texts.de.name"]').length`); n != 1 {
		t.Fatal("the form has no field for the German name")
	}
	p.run(`document.getElementById('texts.de.name').select()`)
	p.write("Kontrolle")
	p.saved()
	got := h.must(200, "GET", "/v1/appointment-types/checkup", nil, asAdmin)
	if got.get("appointmentType", "texts", "de", "name") != "Kontrolle" {
		t.Errorf("the type is %s", got.raw)
	}
	p.press("Edit Longer visit")
	p.press("On the booking page")
	p.there(`dialog details[open]`)
	if n := ask[int](p, `document.querySelectorAll('[id="texts.de.name"]').length`); n != 0 {
		t.Error("a type without a German name has a second field for it")
	}
}

// TestOwnerEditsTypePage: an owner puts a type into a group, sets its colour, price and German texts, and moves it
// up. The owner also writes a line of text about a specialist.
func TestOwnerEditsTypePage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#types")
	p.press("Groups")
	p.press("Add group")
	p.there("dialog .hook input")
	p.run(`document.querySelector('dialog .hook input').focus()`)
	p.write("First visits")
	p.shot("groups")
	p.accessible("the groups")
	p.saved()
	p.press("Edit Longer visit")
	p.press("On the booking page")
	p.until(`document.querySelector('dialog details[open] #group').options.length > 1`)
	p.run(`(s => { s.selectedIndex = 1; s.dispatchEvent(new Event('change', { bubbles: true })) })(document.querySelector('#group'))`)
	p.run(`(s => { s.value = 'rose'; s.dispatchEvent(new Event('change', { bubbles: true })) })(document.querySelector('#color'))`)
	p.fill("#price", "40 €")
	p.press("For the desk only")
	p.run(`document.getElementById('texts.de.name').focus()`)
	p.write("Längerer Besuch")
	p.shot("type-page")
	p.accessible("a type's page")
	p.saved()
	got := h.must(200, "GET", "/v1/appointment-types/longer", nil, asAdmin)
	group, _ := got.get("appointmentType", "group").(string)
	if !strings.HasPrefix(group, "g-") || got.get("appointmentType", "color") != "rose" ||
		got.get("appointmentType", "price") != "40 €" ||
		got.get("appointmentType", "deskOnly") != true || got.get("appointmentType",
		"texts", "de", "name") != "Längerer Besuch" {
		t.Errorf("the type is %s", got.raw)
	}
	p.there(".line.edged.t5")
	p.press("Move Longer visit up")
	p.until(`document.querySelector('.lines .line b').innerText === 'Longer visit'`)
	p.there("#move-longer-up:focus")

	p.open("/staff?lang=en#specialists")
	p.press("Edit Dr Ada Brandt")
	p.fill("dialog #line", "Children")
	p.shot("specialist-page")
	p.accessible("a specialist's page")
	p.saved()
	if got := h.must(200, "GET", "/v1/specialists/ada", nil); got.get("specialist", "line") != "Children" {
		t.Errorf("the specialist is %s", got.raw)
	}
}

// pixel is a PNG of one pixel, in base64.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
