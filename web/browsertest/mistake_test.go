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
