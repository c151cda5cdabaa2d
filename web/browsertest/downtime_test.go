package browsertest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"holdfast/engine"
	"holdfast/store"
	"holdfast/web"
)

// kept is a script that returns the plans that the browser has stored.
const kept = `new Promise(done => { const o = indexedDB.open('holdfast-plan', 1); o.onsuccess = () => { const q = o.result.transaction('people').objectStore('people').getAll(); q.onsuccess = () => { o.result.close(); done(q.result) } } })`

// changeKept runs a script that changes x, the first stored record, and stores the result.
func (p *tab) changeKept(script string) {
	p.t.Helper()
	p.until(`new Promise(done => { const o = indexedDB.open('holdfast-plan', 1); o.onsuccess = () => { const people = o.result.transaction('people', 'readwrite').objectStore('people'); const q = people.getAll()
		q.onsuccess = () => { const x = q.result[0]; ` + script + `; people.put(x).onsuccess = () => { o.result.close(); done(true) } } } })`)
}

// takePlan downloads a plan with the button, and waits until the page that opens the plan is also stored.
func (p *tab) takePlan() {
	p.t.Helper()
	const sealed = kept + `.then(all => all.map(x => new Uint8Array(x.plan?.sealed || 0).slice(0, 64).join()).join('; '))`
	p.run(`location.hash = '#plan'`)
	before := ""
	if ask[bool](p, `indexedDB.databases().then(all => all.some(x => x.name === 'holdfast-plan'))`) {
		before = ask[string](p, sealed)
	}
	p.press("Update the plan now")
	p.says("This browser has a plan")
	p.until(sealed + `.then(now => now && now !== ` + quoted(before) + `)`)
	p.until(`navigator.serviceWorker.ready.then(x => x.active?.state === 'activated')`)
}

// openPlan enters the password on the page that appears at the desk's address while the server is unreachable.
func (p *tab) openPlan(secret string) {
	p.t.Helper()
	p.there("#plan-password")
	p.says("The server cannot be reached.") // this notice moves the content below it
	p.run(`document.querySelector('#plan-password').value = ''`)
	p.fill("#plan-password", secret)
	p.key(kb.Enter)
}

// restart starts the server again on the same database.
func (h *house) restart() { h.start(engine.Options{}, web.Options{})() }

// TestDowntimePlanHasLanguageOfDesk: the stored plan has the language that the desk chose, not the browser's.
func TestDowntimePlanHasLanguageOfDesk(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.opensPlans = true
	p := h.desk(t, store.RoleReception)
	p.takePlan()
	const sealed = kept + `.then(all => new Uint8Array(all[0].plan.sealed).slice(0, 64).join())`
	before := ask[string](p, sealed)
	p.open("/staff?lang=de#plan")
	p.press("Plan jetzt aktualisieren")
	p.until(sealed + `.then(now => now !== ` + quoted(before) + `)`)
	h.stop()
	p.open("/staff?lang=de")
	p.there("#plan-password")
	p.says("Der Server ist nicht erreichbar.")
	p.fill("#plan-password", password)
	p.key(kb.Enter)
	p.there(".plan-sheet")
	p.set("#plan-specialist", "ada")
	p.until(`/08:00–\d\d:\d\d\s*frei/.test(document.querySelector('.plan-sheets').innerText)`)
	h.restart()
}

// TestDowntimePlanOpensOffline: while the server is unreachable, the desk's address offers the last plan. The plan
// opens only with the sign-in password, and is stored only in encrypted form. A changed plan is refused, and the next
// plan replaces it.
func TestDowntimePlanOpensOffline(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.opensPlans = true
	p := h.desk(t, store.RoleReception)
	p.appointment("Lena Vogt", "ada", "09:00")
	p.takePlan()
	p.accessible("the plan for a failure")
	p.shot("plan-desk")
	if all := ask[string](p, kept+`.then(all => JSON.stringify(all.map(x => [x, ...Object.values({ ...x, ...x.plan }).map(v => v instanceof ArrayBuffer ? new TextDecoder().decode(v) : String(v))])))`); !strings.Contains(all, "madeAt") || strings.Contains(all, "Lena") || strings.Contains(all, "1112233") || strings.Contains(all, password) {
		t.Errorf("the stored plan is readable: %.300s", all)
	}

	h.stop()
	p.open("/staff?lang=en")
	p.says("The server cannot be reached.")
	p.accessible("the desk without a server")
	p.shot("plan-gone")
	p.openPlan("another one's password")
	p.says("This password does not open the plan.")
	p.openPlan(password)
	p.there(".plan-sheet")
	p.set("#plan-date", h.date)
	p.says("Lena Vogt")
	p.says("030 1112233")
	p.set("#plan-specialist", "ada")
	if got := p.text(".plan-sheets"); strings.Contains(got, "Haddad") || !strings.Contains(got, "08:00–09:00 free") {
		t.Errorf("the sheet of one specialist: %s", got)
	}
	p.accessible("a plan that is open")
	p.ownArrows()
	p.shot("plan-open")
	p.paper("plan")

	// Data that has been changed since its encryption is not shown, whether the plan or its age was changed.
	for _, change := range []string{`new Uint8Array(x.plan.sealed)[100] ^= 1`,
		`new Uint8Array(x.plan.sealed)[100] ^= 1; x.plan.madeAt = new Date().toISOString()`} {
		p.changeKept(change)
		p.reload()
		p.openPlan(password)
		p.says("The plan is damaged or has been changed")
	}

	h.restart()
	p.says("The server is reachable again.")
	p.press("Enter paper bookings")
	p.there("#byhand-date")
	p.run(`location.hash = '#day/` + h.date + `'`)
	p.board()
	p.appointment("Per Lind", "karim", "11:00")
	p.takePlan()
	h.stop()
	p.open("/staff?lang=en")
	p.openPlan(password)
	p.there(".plan-sheet")
	p.set("#plan-date", h.date)
	p.says("Per Lind")
	if n := ask[int](p, kept+`.then(all => all.length)`); n != 1 {
		t.Errorf("%d plans of one person are stored", n)
	}
	h.restart()
}

// paper prints the page to a PDF in the folder of the pictures.
func (p *tab) paper(name string) {
	p.t.Helper()
	folder := os.Getenv("HOLDFAST_SHOTS")
	if folder == "" || aboutFirefox(p.t) {
		return
	}
	p.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		answer, err := chromedp.Call(ctx, page.PrintToPDF, page.PrintToPDFParams{PreferCSSPageSize: ptr(true),
			PrintBackground: ptr(true)})
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(folder, name+".pdf"), answer.Data, 0o600)
	}))
	p.size(794, 1123) // A4
	p.do(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	p.snap(name + "-paper")
	p.do(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{}))
	p.size(1280, 800)
}

func ptr[T any](v T) *T { return &v }

// TestRevokedSignInDeletesDowntimePlan: if a sign-in is revoked from another browser, its plan is deleted. If the user
// signs out in the same browser, the plan stays.
func TestRevokedSignInDeletesDowntimePlan(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.opensPlans = true
	p := h.desk(t, store.RoleReception)
	p.takePlan()
	p.press("Sign out")
	p.there("#sign-email")
	p.moment()
	p.run(`location.hash = '#day/` + h.date + `'`)
	if n := ask[int](p, kept+`.then(all => all.filter(x => x.plan).length)`); n != 1 {
		t.Fatalf("%d plans remain after signing out, want 1", n)
	}
	// The next sign-in downloads no new plan, since the stored one is less than an hour old. It still extends the
	// validity of the stored plan, whether the user signs in here or is already signed in when the desk is opened.
	const answered = kept + `.then(all => all.length === 1 && all[0].plan && all[0].until > Date.now())`
	p.signIn("reception@clinic.example")
	p.until(answered)
	p.changeKept(`x.until = 0`)
	p.reload()
	p.board()
	p.until(answered)
	users, err := h.engine.Account.Users(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := h.engine.Account.SignIns(t.Context(), users[0].ID)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d sign-ins, %v", len(list), err)
	}
	if err := h.engine.Account.SignOut(t.Context(), list[0].ID); err != nil {
		t.Fatal(err)
	}
	p.reload()
	p.there("#sign-email")
	p.until(kept + `.then(all => all.length === 0)`)
}

// TestOnlyDeskHasServiceWorker: only the desk has the service worker. The worker never serves a patient's page, and its
// files belong to this release.
func TestOnlyDeskHasServiceWorker(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.size(1280, 800)
	p.open("/?lang=en")
	p.there(".card input[value=checkup]")
	// The service worker deletes files that a different release has stored.
	p.until(`caches.open('holdfast-plan /ui/of-before').then(() => true)`)
	email := h.staff(store.RoleReception)
	p.open("/staff?lang=en#day/" + h.date)
	p.signIn(email)
	p.takePlan()
	if scope := ask[string](p, `navigator.serviceWorker.ready.then(x => new URL(x.scope).pathname)`); scope != "/staff" {
		t.Errorf("its scope is %s, want /staff", scope)
	}
	p.open("/?lang=en")
	p.there(".card input[value=checkup]")
	if ask[bool](p, `Boolean(navigator.serviceWorker.controller)`) {
		t.Error("the service worker controls the patient's page")
	}
	worker := h.must(200, "GET", "/staff-worker.js", nil).raw
	base := ask[string](p, `new URL(document.querySelector('link[rel=stylesheet]').href).pathname.split('/').slice(0, 3).join('/')`)
	if !strings.Contains(worker, base+"/") || strings.Contains(worker, "{{base}}") {
		t.Errorf("the service worker does not contain %s: %.200s", base, worker)
	}
	if all := ask[[]string](p, `caches.keys()`); len(all) != 1 || all[0] != "holdfast-plan "+base {
		t.Errorf("the stored files are %q, want only those of this release", all)
	}
}

// TestDeskEntersPaperBookings: paper bookings are entered together. Each line shows its conflicts, and no appointment
// is overbooked without a reason.
func TestDeskEntersPaperBookings(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.appointment("Lena Vogt", "ada", "09:00")
	p.run(`location.hash = '#byhand'`)
	p.set("#byhand-date", h.date)
	for i, row := range [][2]string{{"09:15", "Mia Sand"}, {"10:00", "Per Lind"}, {"10:15", "Jo Berg"},
		{"07:00", "Ada Frost"}} {
		at := ".byhand tbody tr:nth-child(" + string(rune('1'+i)) + ") "
		p.set(at+"td:nth-child(1) input", row[0])
		p.fill(at+"td:nth-child(4) input", row[1])
	}
	p.press("Check")
	p.says("Taken: Lena Vogt 09:00 to 09:30")
	p.says("Taken by line 2")
	p.says("Outside working hours")
	p.accessible("what was written by hand")
	// The columns leave enough space for the name of a specialist.
	if cut := ask[string](p, `[...document.querySelectorAll('.byhand td select')].filter(e => {
		const own = getComputedStyle(e), canvas = document.createElement('canvas').getContext('2d')
		canvas.font = own.font
		return canvas.measureText(e.selectedOptions[0].text).width >
			e.clientWidth - parseFloat(own.paddingLeft) - parseFloat(own.paddingRight)
	}).map(e => e.selectedOptions[0].text).join()`); cut != "" {
		t.Errorf("cut: %s", cut)
	}
	p.shot("byhand")
	p.press("Book 1 free line")
	p.says("Booked")
	if n := len(h.bookings()); n != 2 {
		t.Errorf("%d appointments are booked, want 2", n)
	}
	p.press("Line 4: Book")
	p.until(`document.querySelector('.byhand tbody tr:nth-child(4)').innerText.includes('Booked')`)
	p.run(`document.querySelector('[aria-label="Line 1: Overbook"]').click()`) // no reason yet
	p.moment()
	if n := len(h.bookings()); n != 3 {
		t.Errorf("%d appointments are booked without a reason, want 3", n)
	}
	p.fill(".byhand-reason", "came without an appointment")
	p.press("Line 1: Overbook")
	p.until(`document.querySelector('.byhand tbody tr:nth-child(1)').innerText.includes('Booked')`)
	all := h.bookings()
	over := 0
	for _, a := range all {
		if a["overbook"] == true {
			over++
		}
	}
	if len(all) != 4 || over != 1 {
		t.Errorf("%d are booked, %d of them overbooked; want 4 and 1", len(all), over)
	}
	if got := h.must(200, "GET", "/v1/audit?limit=5", nil, asAdmin).raw; !strings.Contains(got,
		"came without an appointment") {
		t.Errorf("the reason is not in the log: %s", got)
	}
}

// TestEditedPaperBookingIsKept: the form is locked while all lines are booked. If a line changes anyway, it is not
// booked with its old values.
func TestEditedPaperBookingIsKept(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.run(`location.hash = '#byhand'`)
	p.set("#byhand-date", h.date)
	line := func(n string) string { return ".byhand tbody tr:nth-child(" + n + ") " }
	for _, row := range [][3]string{{"1", "10:00", "Per Lind"}, {"2", "11:00", "Jo Berg"}, {"3", "14:00", "Mia Sand"}} {
		p.set(line(row[0])+"td:nth-child(1) input", row[1])
		p.set(line(row[0])+"td:nth-child(4) input", row[2])
	}
	p.press("Check")
	// The first request waits until the test lets it continue.
	p.run(`window.plain = fetch; window.fetch = async (path, how) => { if (how.method === 'POST' && path.endsWith('/v1/appointments')) await new Promise(go => { window.go = go }); return plain(path, how) }`)
	p.press("Book all 3 free lines")
	p.until(`Boolean(window.go)`)
	p.until(`[...document.querySelectorAll('.byhand td input, .byhand select, #byhand-date')].every(x => x.disabled)`)
	p.set(line("2")+"td:nth-child(1) input", "15:00")
	p.run(`window.fetch = plain; go()`)
	p.until(`[1, 3].every(n => document.querySelector('.byhand tbody tr:nth-child(' + n + ')').innerText.includes('Booked'))`)
	p.until(`!document.querySelector('.byhand tbody tr:nth-child(2) td:nth-child(1) input').disabled`)
	if all := h.bookings(); len(all) != 2 {
		t.Errorf("%d are booked, want the 2 unchanged ones: %v", len(all), all)
	}
	p.press("Check")
	p.press("Book 1 free line")
	p.until(`document.querySelector('.byhand tbody tr:nth-child(2)').innerText.includes('Booked')`)
	if all := h.bookings(); len(all) != 3 {
		t.Errorf("%d are booked, want each of them once: %v", len(all), all)
	}
}
