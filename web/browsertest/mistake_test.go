package browsertest

import (
	"strings"
	"testing"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// TestServersMistakesAreInPagesLanguage: the server describes the mistakes in a request in English. The console shows
// them in its own language, with the limits that they name.
func TestServersMistakesAreInPagesLanguage(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(f *clinic.File) { f.Clinic.Locale = "de" })
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=de#types")
	p.press("Check-up bearbeiten")
	p.there("dialog #durationMinutes")
	p.fill("#durationMinutes", "9999")
	p.click("dialog [type=submit]")
	p.there(".summary:focus")
	p.says("Geben Sie eine Zahl von 1 bis 1440 ein")

	p.open("/staff?lang=de#users")
	p.press("Benutzer hinzufügen")
	p.there("dialog #password")
	p.fill("#name", "Jo Lind")
	p.fill("#email", h.staff(store.RoleReception))
	p.fill("#password", "passwordpassword")
	p.click("dialog [type=submit]")
	p.says("Wählen Sie ein anderes Passwort")
	p.fill("#password", "some words, together")
	p.click("dialog [type=submit]")
	p.says("Ein anderer Benutzer hat schon diese E-Mail-Adresse")

	// If no sentence of the page fits, the page names the field.
	p.open("/staff?lang=de#settings")
	p.set("#origins", strings.Repeat("https://www.example.org\n", 60))
	p.click(".savebar [type=submit]")
	p.there(".summary:focus")
	p.says("Prüfen Sie die Angabe „Websites“")
	p.says("Prüfen Sie diese Angabe")
	p.set("#origins", "")
	p.fill("#perEmail", "99999")
	p.fill("#perPhone", "99999")
	p.click(".savebar [type=submit]")
	p.until(`new Set([...document.querySelectorAll('.summary a')].map(a => a.innerText)).size === 2`)
	if said := p.text("main"); strings.Contains(said, "must ") {
		t.Errorf("the settings contain an English sentence: %q", said)
	}
}

// TestMistakeNamesPlace: the refusal to remove a place with hours names the place as the page does, although the server
// names its id. The mistakes of an imported file have their places in the file.
func TestMistakeNamesPlace(t *testing.T) {
	t.Parallel()
	h := newHouse(t, atTwoPlaces)
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=de#settings")
	p.there("#origins")
	p.press("Standort North entfernen")
	p.click(".savebar [type=submit]")
	p.says("Verlegen Sie zuerst die Sprechzeiten vom Standort Nord an einen anderen")

	p.open("/staff?lang=de#data")
	p.there("#export-from")
	p.chooseFile("#clinic-file", "praxis.json", `{"specialists":[{"id":"x y","name":"","timezone":"Mars"}]}`)
	p.says("specialists[0].id Nehmen Sie nur Buchstaben von A bis Z, Ziffern")
	p.says("specialists[0].name Füllen Sie dieses Feld aus")
	// a fact about the file, for its author
	p.says("specialists[0].timezone must be an IANA time zone like Europe/Berlin")
	p.chooseFile("#sheet-file", "t.csv", "name;datum\nLena;1.1.2026\n")
	p.says("Die Spalte start fehlt")
}

// TestSetupNamesMistakeInItsLanguage: the first page of the setup translates the server's refusal of a password.
func TestSetupNamesMistakeInItsLanguage(t *testing.T) {
	t.Parallel()
	h := newHouse(t, empty)
	path, token := h.setupLink(t)
	p := h.tab(t)
	p.open(path + "?lang=de#" + token)
	p.there("#clinic")
	p.fill("#clinic", "Hafenpraxis")
	p.fill("#name", "Jo Lind")
	p.fill("#email", "jo@example.org")
	p.fill("#password", "passwordpassword")
	p.click("[type=submit]")
	p.says("Wählen Sie ein anderes Passwort")
}
