package browsertest

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// press clicks the button, link or box with these words, in the dialog if one is open.
func (p *tab) press(words string) {
	p.t.Helper()
	p.until(`(b => b && (b.dataset.press = '', true))([...(document.querySelector('dialog') || document).querySelectorAll('button, summary, a.btn, label.check, label.hue')].find(b => b.innerText.trim().split('\n')[0] === ` + quoted(words) + ` || b.ariaLabel === ` + quoted(words) + `))`)
	p.click("[data-press]")
	p.run(`document.querySelectorAll('[data-press]').forEach(b => delete b.dataset.press)`)
}

// saved presses the button that submits a form, and waits until its dialog is closed.
func (p *tab) saved() {
	p.t.Helper()
	p.click("dialog [type=submit]")
	p.until(`!document.querySelector('dialog')`)
}

// TestOwnerManagesSchedule: an owner sets the clinic up by hand: specialists, hours, days off, types, users, keys and
// settings. The audit log records all of these changes.
func TestOwnerManagesSchedule(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)

	// The owner adds a specialist, with hours that are copied to the whole week. Before it is saved, a preview shows
	// what patients will see.
	p.open("/staff?lang=en#specialists")
	p.press("Add specialist")
	p.click("dialog [type=submit]")
	p.there("dialog .summary:focus") // a name is required
	p.fill("dialog #name", "Dr Mia Sand")
	p.set("dialog #hours", "")
	p.saved()
	p.says("Hours")
	p.until(`location.hash.startsWith('#hours/')`)
	id := ask[string](p, `decodeURIComponent(location.hash.slice(7))`)
	p.click("#hours-monday-add")
	p.set("#hours-monday-0-end", "08:00")
	p.says("The end must be after the start") // the error is next to the field
	p.set("#hours-monday-0-end", "12:30")
	p.press("Copy to Tue–Fri")
	p.says("Not saved yet")
	p.press("Save hours")
	p.says("The hours for Dr Mia Sand have been saved.")
	got := h.must(200, "GET", "/v1/specialists/"+id+"/weekly-hours", nil, asAdmin)
	if list, _ := got.get("weeklyHours").([]any); len(list) != 5 || !strings.Contains(got.raw, `"end":"12:30"`) {
		t.Errorf("the hours are %s, want five mornings until 12:30", got.raw)
	}

	// Three days off form one line, and one click deletes them.
	p.open("/staff?lang=en#overrides/" + id)
	p.press("Add absence")
	p.there("dialog #from")
	p.set("#from", "2030-12-24")
	p.set("#to", "2030-12-26")
	p.fill("#reason", "Christmas")
	p.saved()
	p.says("3 days")
	days := func() int {
		list, _ := h.must(200, "GET", "/v1/specialists/"+id+"/overrides", nil, asAdmin).get("overrides").([]any)
		return len(list)
	}
	if n := days(); n != 3 {
		t.Errorf("there are %d days off, want 3", n)
	}
	p.click(".line-do .btn.quiet")
	p.there("dialog .btn.solid")
	p.saved()
	p.says("No absences or special hours planned")
	if n := days(); n != 0 {
		t.Errorf("there are %d days off, want none", n)
	}

	// The page of a type explains its settings in sentences. An arrow changes the order of its specialists.
	p.open("/staff?lang=en#types")
	p.press("Edit Check-up")
	p.there("dialog #durationMinutes")
	p.run(`document.querySelector('dialog #minNoticeMinutes').select()`)
	p.write("2")
	p.set("dialog #minNoticeMinutes + select", "hours")
	p.says("Patients can book from 2 hours to 60 days ahead.")
	p.press("Move Dr Karim Haddad up")
	p.saved()
	kind := h.must(200, "GET", "/v1/appointment-types/checkup", nil)
	who, _ := kind.get("appointmentType", "specialists").([]any)
	first := map[any]any{}
	for _, x := range who {
		first[x.(map[string]any)["specialistId"]] = x.(map[string]any)["priority"]
	}
	if kind.get("appointmentType", "minNoticeMinutes") != 120.0 || first["karim"].(float64) <= first["ada"].(float64) {
		t.Errorf("the type is %s, want two hours of notice and karim before ada", kind.raw)
	}

	// A new user can sign in immediately, until the user is deactivated.
	p.open("/staff?lang=en#users")
	p.press("Add user")
	p.fill("dialog #name", "Rosa Reception")
	p.fill("dialog #email", "rosa@clinic.example")
	p.fill("dialog #password", password)
	p.saved()
	p.says("Rosa Reception")
	signIn := map[string]any{"email": "rosa@clinic.example", "password": password}
	h.must(200, "POST", "/v1/auth/sign-in", signIn)
	p.press("Edit Rosa Reception")
	p.press("Can sign in")
	p.saved()
	p.says("Deactivated")
	h.must(401, "POST", "/v1/auth/sign-in", signIn)

	// A key is shown once, works, and is revoked.
	p.open("/staff?lang=en#keys")
	p.press("New key")
	p.fill("dialog #name", "Phone agent")
	p.click("dialog [type=submit]")
	p.says("This key is shown only once.")
	key := header{"Authorization": "Bearer " + ask[string](p, `document.querySelector('#key').value`)}
	p.press("I have copied the key")
	h.must(200, "GET", "/v1/queue-status", nil, key)
	if raw := ask[string](p, `document.documentElement.outerHTML`); strings.Contains(raw,
		key["Authorization"][len("Bearer "):]) {
		t.Error("the key is still in the page")
	}
	p.press("Revoke key: Phone agent")
	p.there("dialog .btn.solid")
	p.saved()
	h.must(401, "GET", "/v1/queue-status", nil, key)

	// One button saves the changed sections of the settings, and leaves the others unchanged.
	p.open("/staff?lang=en#settings")
	p.there("#phone")
	p.run(`document.querySelector('#phone').select()`)
	p.write("030 7654321")
	p.click(".settings [type=submit]")
	p.says("Saved.")
	p.click("[data-hue=plum]")
	p.says("Not saved yet: Appearance")
	p.run(`document.querySelector('[data-hue=plum]').closest('form').requestSubmit()`)
	p.until(`fetch('/v1/settings').then(r => r.json()).then(x => x.settings.accent === 'plum')`)
	p.there(".setting .notice.warn") // no public address is set
	p.set("#baseurl", "https://book.example.org/")
	p.run(`document.querySelector('#baseurl').closest('form').requestSubmit()`)
	p.until(`document.querySelector('#snippet').value.includes('https://book.example.org/embed.js')`)
	p.set("#cutoff", "24")
	p.run(`document.querySelector('#cutoff').closest('form').requestSubmit()`)
	p.until(`fetch('/v1/settings').then(r => r.json()).then(x => x.settings.changeCutoffHours === 24 && x.settings.accent === 'plum')`)
	if got := h.must(200, "GET", "/v1/clinic", nil); !strings.Contains(got.raw, "030 7654321") {
		t.Errorf("the clinic is %s", got.raw)
	}
	p.run(`(async () => {
		const input = document.querySelector('#logo'), files = new DataTransfer()
		files.items.add(new File([new Uint8Array(101 * 1024).fill(0x89)], 'logo.png', { type: 'image/png' }))
		input.files = files.files
		input.dispatchEvent(new Event('change', { bubbles: true }))
	})()`)
	p.says("at most 100 KB")

	// The audit log has a sentence for each change, including the old value, and can be downloaded as a table. An
	// appointment is identified by its time, never by its patient.
	h.must(201, "POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at("16:00"),
		"patient": map[string]any{"name": "Rosa Winter", "phone": "030 1112233"},
	}, asAdmin)
	p.open("/staff?lang=en#audit")
	p.there(`.lines.log a[href="#day/` + h.date + `"]`)
	if got := p.text(`.lines.log a`); !strings.HasSuffix(got, "16:00, Dr Ada Brandt") {
		t.Errorf("the log shows an appointment as %q", got)
	}
	for _, sentence := range []string{"Jo owner changed the weekly hours of Dr Mia Sand",
		"Jo owner changed the appointment type Check-up", "Jo owner revoked the key Phone agent",
		"Jo owner changed the settings"} {
		p.says(sentence)
	}
	if raw := p.text(".lines.log"); strings.Contains(raw, " did ") {
		t.Errorf("the log has an entry without a text: %s", raw)
	}
	p.set("#action", "settings.changed")
	p.until(`[...document.querySelectorAll('.lines.log .line')].every(l => /changed the settings/.test(l.innerText))`)
	p.click(".lines.log summary")
	p.until(`/24/.test(document.querySelector('.lines.log details[open] table')?.innerText)`)
	p.run(`{
		const keep = URL.createObjectURL
		URL.createObjectURL = blob => { blob.text().then(text => { window.table = text }); return keep.call(URL, blob) }
		HTMLAnchorElement.prototype.click = function () {}
	}`)
	p.press("Save as CSV")
	p.until(`/"settings.changed"/.test(window.table) && window.table.split('\r\n').length >= 3`)
}

// TestRoleSeesItsPages checks the navigation of each role against the specification.
func TestRoleSeesItsPages(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for role, want := range map[store.Role]string{
		store.RoleOwner:      "day requests waitlist queue sessions live plan specialists overrides closed types users keys settings data reports audit",
		store.RoleReception:  "day requests waitlist queue sessions live plan overrides closed",
		store.RoleSpecialist: "day requests sessions plan overrides closed",
	} {
		p := h.desk(t, role)
		got := ask[string](p, `[...document.querySelectorAll('.side nav a')].map(a => a.getAttribute('href').slice(1)).join(' ')`)
		if got != want {
			t.Errorf("%s finds %q, want %q", role, got, want)
		}
		// Entering the address of a page for other roles does not open that page.
		if role != store.RoleOwner {
			p.open("/staff?lang=en#users")
			p.board()
		}
	}
}

// TestDayPrints: the printed day has a page for every specialist with appointments, with the names or, if they are
// hidden, initials.
func TestDayPrints(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(f *clinic.File) { f.Specialists[0].Name = "Dr Ada Brandt-Löwenherz" })
	p := h.desk(t, store.RoleReception)
	p.appointment("Lena Vogt", "ada", "09:00")
	p.appointment("Per Lind", "karim", "10:00")
	var pdf []byte
	p.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		got, err := chromedp.Call(ctx, page.PrintToPDF, page.PrintToPDFParams{})
		if err == nil {
			pdf = got.Data
		}
		return err
	}))
	if pages := strings.Count(string(pdf), "/Type /Page\n"); pages != 2 {
		t.Errorf("the day is on %d pages, want one for each specialist", pages)
	}
	p.do(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	p.size(794, 1123)
	p.run(`dispatchEvent(new Event('beforeprint'))`)
	p.there(".sheet section:nth-child(2) tbody tr")
	for _, words := range []string{"Dr Ada Brandt-Löwenherz", "Lena Vogt", "030 1112233", "Check-up", "Per Lind"} {
		if !strings.Contains(p.text(".sheet"), words) {
			t.Errorf("the sheet does not contain %s: %s", words, p.text(".sheet"))
		}
	}
	if n := ask[int](p, `[...document.querySelectorAll('.side, .toolbar, .calendar')].filter(e => e.offsetHeight).length`); n != 0 {
		t.Errorf("%d parts of the screen are printed", n)
	}
	p.run(`dispatchEvent(new Event('afterprint')); localStorage.setItem('holdfast.desk', JSON.stringify({ names: false }))`)
	p.reload()
	p.board()
	p.run(`dispatchEvent(new Event('beforeprint'))`)
	p.there(".sheet tbody tr")
	if raw := p.text(".sheet"); strings.Contains(raw, "Lena") || strings.Contains(raw, "030 111") ||
		!strings.Contains(raw, "L. V.") {
		t.Errorf("names are hidden, but the sheet contains %s", raw)
	}
	p.run(`dispatchEvent(new Event('afterprint')); location.hash = 'week/' + (/\d{4}-\d\d-\d\d/.exec(location.hash) || [''])[0]`)
	p.there(".week .calendar, .week .board")
	p.until(`(dispatchEvent(new Event('beforeprint')), document.querySelector('.sheet tbody tr'))`)
	if raw := p.text(".sheet"); !strings.Contains(raw, "Check-up") ||
		!strings.Contains(raw, "Dr Ada Brandt-Löwenherz") {
		t.Errorf("the title of the printed week is %q", raw)
	}
}
