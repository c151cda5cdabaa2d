package browsertest

import (
	"testing"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// TestOwnerEditsEmailTexts: an owner writes the text of an email, sees a preview and a warning about an unknown
// placeholder, and saves.
func TestOwnerEditsEmailTexts(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#settings")
	p.there(".mail")
	p.says("Your appointment is booked.")
	p.run(`document.getElementById('mailTexts.confirmation.en.text').focus()`)
	p.write("See you {soon}.")
	p.press("Preview")
	p.says("Remove the placeholder {soon}")
	p.run(`(e => { e.focus(); e.select() })(document.getElementById('mailTexts.confirmation.en.text'))`)
	p.write("See you {when} with {who}.")
	p.press("Preview")
	p.until(`document.querySelector('.mail').innerText.includes('with Dr Ada Brandt.')`)
	p.press("Placeholders")
	p.shot("mail-texts")
	p.accessible("the words of a mail")
	p.run(`document.querySelector('.mail').closest('form').querySelector('[type=submit]').click()`)
	p.says("Saved")
	if got := h.must(200, "GET", "/v1/settings", nil, asAdmin); got.get("settings", "mailTexts", "confirmation", "en",
		"text") != "See you {when} with {who}." {
		t.Errorf("kept is %s", got.raw)
	}
}

// TestTextsOpenInClinicsLanguage: the settings show the texts for patients in the clinic's language first, also to an
// owner who reads the console in another language.
func TestTextsOpenInClinicsLanguage(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(f *clinic.File) { f.Clinic.Locale = "de-AT" })
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#settings")
	p.there(`#mail-language`)
	p.until(`document.querySelector('#mail-language').value === 'de'`)
	p.says("Ihr Termin ist gebucht.")
	p.until(`document.querySelector('#sms-language').value === 'de'`)
}
