package browsertest

import (
	"encoding/base64"
	"strings"
	"testing"

	"holdfast/store"
)

// previewed waits for a condition of the booking page in the preview of the settings. The condition can use that page's
// document as page.
func (p *tab) previewed(condition string) {
	p.t.Helper()
	p.until(`(page => page?.querySelector('.brand') && (` + condition + `))(document.querySelector('.page-frame iframe')?.contentDocument)`)
}

// TestSettingsHaveIndex: a click in the index of the settings moves to a section.
func TestSettingsHaveIndex(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.size(1440, 900)
	p.open("/staff?lang=en#settings")
	p.until(`document.querySelectorAll('.index button').length > 12`)
	p.until(`[...document.querySelectorAll('.index button')].some(b => b.innerText === 'Webhooks' && (b.click(), true))`)
	p.until(`document.activeElement.innerText === 'Webhooks' && document.activeElement.getBoundingClientRect().top < innerHeight`)
	p.accessible("the settings with their index")
}

// TestSettingsSaveTogether: the preview shows the booking page with the changes from several sections before they are
// saved. One button saves all of them, and another discards them. A colour must be dark enough for white text.
func TestSettingsSaveTogether(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.size(1440, 900)
	p.open("/staff?lang=en#settings")
	p.previewed(`page.querySelector('.brand').innerText.includes('Harbour Clinic')`)
	p.fill("#name", " North")
	p.click("[data-hue=own]")
	p.run(`document.querySelector('#accent').select()`)
	p.write("#ff8800")
	p.says("too light for white text")
	p.accessible("a colour that is too light")
	p.shot("settings-colour")
	p.press("Use a darker shade")
	p.says("easy to read")
	own := ask[string](p, `document.querySelector('#accent').value`)
	p.says("Not saved yet: Clinic and contact, Appearance")
	p.previewed(`page.querySelector('.brand').innerText.includes('North') && page.adoptedStyleSheets[0]?.cssRules[0].style.getPropertyValue('--accent') === ` + quoted(own))
	p.accessible("settings that are not saved")
	for name, size := range map[string][2]int64{"1440": {1440, 900}, "1280": {1280, 720}, "820": {820, 1180}, "390": {390, 844}} {
		p.size(size[0], size[1])
		p.shot("settings-preview-" + name)
	}
	p.size(1440, 900)

	p.press("Undo changes")
	p.until(`document.querySelector('#name').value === 'Harbour Clinic' && document.querySelector('[data-hue=kelp] input').checked`)
	p.previewed(`!page.querySelector('.brand').innerText.includes('North')`)

	p.fill("#name", " North")
	p.click("[data-hue=own]")
	p.run(`(async () => {
		const input = document.querySelector('#logo'), files = new DataTransfer()
		files.items.add(new File([` + quoted(drawing) + `], 'logo.svg', { type: 'image/svg+xml' }))
		input.files = files.files
		input.dispatchEvent(new Event('change', { bubbles: true }))
	})()`)
	p.previewed(`page.querySelector('.brand img')?.naturalWidth > 0`)
	before := h.must(200, "GET", "/v1/settings", nil, asAdmin)
	if before.get("settings", "logo") != nil {
		t.Error("the preview saved the logo")
	}
	p.click(".settings [type=submit]")
	p.says("Saved.")
	after := h.must(200, "GET", "/v1/settings", nil, asAdmin)
	logo := "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(drawing))
	if after.get("settings", "logo") != logo || after.get("settings", "accent") != "#3a4f9a" {
		t.Errorf("the settings are %s", after.raw)
	}
	if got := h.must(200, "GET", "/v1/clinic", nil).raw; !strings.Contains(got, "Harbour Clinic North") {
		t.Errorf("the clinic is %s", got)
	}
	p.until(`!document.querySelector('.savebar').innerText.includes('Not saved')`)

	// The booking page uses the clinic's colour, in both themes.
	p.open("/?lang=en")
	p.there(".card")
	p.accessible("the booking page in the clinic's colour")
	p.shot("own-colour")
	if got := ask[string](p, `getComputedStyle(document.documentElement).getPropertyValue('--accent').trim()`); got != "#3a4f9a" {
		t.Errorf("the accent of the booking page is %s", got)
	}
}

const drawing = `<svg xmlns="http://www.w3.org/2000/svg" width="96" height="32" viewBox="0 0 96 32"><path d="M4 28 L48 4 L92 28 Z" fill="#3a4f9a"/></svg>`

// TestFieldsNameLanguages: the fields for other languages name these in the language of the page.
func TestFieldsNameLanguages(t *testing.T) {
	t.Parallel()
	h := newHouse(t, atTwoPlaces)
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=de#settings")
	p.says("Auf Deutsch")
	p.says("Auf Spanisch")
}
