package browsertest

import (
	"strings"
	"testing"

	"holdfast/engine/clinic"
)

// empty turns the clinic into one without any setup.
func empty(f *clinic.File) { *f = clinic.File{} }

// setupLink returns the path and the token of the link that the server prints if it starts without an owner.
func (h *house) setupLink(t testing.TB) (path, token string) {
	t.Helper()
	token, err := h.engine.Account.NewSetupToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return "/setup", token
}

// TestSetupCreatesClinic: four screens lead to the first booking. Leaving a screen saves it, so a reload returns to
// the same screen. The link works once.
func TestSetupCreatesClinic(t *testing.T) {
	t.Parallel()
	for _, lang := range languagesOf(t) {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, empty)
			path, token := h.setupLink(t)
			p := h.tab(t)
			if lang != "de" { // German is tested on a phone
				p.size(1280, 900)
			}
			p.open(path + "?lang=" + lang + "#" + token)
			p.there("#clinic")
			p.click("[type=submit]")
			p.there(".summary:focus")
			p.accessible("the clinic with mistakes")
			p.fill("#clinic", "Harbour Clinic")
			p.fill("#name", "Olga Owner")
			p.fill("#email", "olga@example.org")
			p.reload()
			p.until(`document.querySelector('#email')?.value === 'olga@example.org'`)
			p.fill("#password", "a few words together")
			// The page proposes the address that it was opened at. The test enters another address for patients.
			if got := ask[string](p, `document.querySelector('#address').value === location.origin ? '' : document.querySelector('#address').value`); got != "" {
				t.Errorf("the proposed address is %q, want that of this page", got)
			}
			p.set("#address", "https://book.example.org")
			p.shot("setup-1-clinic-" + lang)
			p.click("[type=submit]")

			p.there("#specialist")
			if got := ask[string](p, "location.hash"); got != "" {
				t.Error("the token remains in the address bar")
			}
			p.fill("#specialist", "Dr Ada Brandt")
			p.there(".preview li:nth-child(7)")
			p.reload()
			p.until(`document.querySelector('#specialist')?.value === 'Dr Ada Brandt'`)
			p.until(`/\d/.test(document.querySelector('.preview [role=status]')?.innerText)`)
			p.accessible("the first bookings")
			p.shot("setup-2-first-" + lang)
			p.click("[type=submit]")

			p.there("#mail-host")
			p.reload()
			p.there("#mail-host")
			p.accessible("the mail server")
			p.shot("setup-2-mail-" + lang)
			p.click("#skip") // this skips only email

			p.there(".qr")
			p.reload()
			p.there(".qr")
			p.there(".mini .live[data-link=live]")
			p.accessible("ready")
			if link, of := ask[string](p, `document.querySelector('#link').value`),
				ask[string](p, `document.querySelector('.qr').getAttribute('aria-label')`); link != "https://book.example.org/" || !strings.Contains(of, link) {
				t.Errorf("the link for patients is %q and the code %q, want both with the entered address", link, of)
			}
			p.there(".mail .notice.warn code") // no mail server is set
			p.run(`document.querySelector('.mail').scrollIntoView({ block: 'center', behavior: 'instant' })`)
			p.shot("setup-4-mail-" + lang)
			types, _ := h.must(200, "GET", "/v1/appointment-types", nil).get("appointmentTypes").([]any)
			if len(types) != 1 || len(h.engine.Clinic.Schedule().Specialists) != 1 {
				t.Errorf("the clinic has %d types and %d specialists, want one of each", len(types),
					len(h.engine.Clinic.Schedule().Specialists))
			}

			// The first booking appears on the small board.
			id := types[0].(map[string]any)["id"].(string)
			next := h.must(200, "GET", "/v1/appointment-types/"+id+"/next-available", nil)
			slot, _ := next.get("slot").(map[string]any)
			if slot == nil {
				slot = next.body
			}
			h.must(201, "POST", "/v1/appointment-types/"+id+"/book", map[string]any{
				"clientId": "a-patient-at-home-1", "slotStartDate": slot["start"],
				"patient": map[string]any{"name": "First Patient", "email": "f@example.org"},
			})
			p.there(".mini .arrived")
			p.says("First Patient")
			p.shot("setup-3-ready-" + lang)

			// The link no longer works for any client.
			h.must(410, "POST", "/v1/setup/check", map[string]any{"token": token})
			late := h.tab(t)
			late.open(path + "?lang=" + lang + "#" + token)
			late.there(`a[href="/staff"]`)
			late.accessible("setup that is done")
			if n := late.count("#clinic"); n != 0 {
				t.Error("setup is done, but its form is still shown")
			}
		})
	}
}

func TestSetupRefusesWrongLink(t *testing.T) {
	t.Parallel()
	h := newHouse(t, empty)
	path, token := h.setupLink(t)
	p := h.tab(t)
	p.open(path + "?lang=en#" + token[1:] + "x")
	p.says("holdfast setup-url")
	p.open("/?lang=en")
	p.says("This clinic does not take bookings here yet.")
}
