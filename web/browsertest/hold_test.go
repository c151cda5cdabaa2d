package browsertest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp/kb"
)

// notes makes the page record the wall-clock time when a bookable time first has a status. noted waits for it. Both
// tabs and the server run on one machine, so they share a clock.
func (p *tab) notes(start, status string) {
	p.t.Helper()
	p.run(`window.notedAt = 0, window.noted = new Promise(done => {
		const look = () => {
			const e = document.querySelector(` + quoted(chip(start)) + `)
			if (e?.dataset.status === ` + quoted(status) + `) { done(Date.now()); watching.disconnect() }
		}
		const watching = new MutationObserver(look)
		watching.observe(document.body, { subtree: true, childList: true, attributes: true })
		look()
	})`)
}

func (p *tab) noted() time.Time {
	p.t.Helper()
	p.until("window.noted.then(at => { window.notedAt = at }) && window.notedAt")
	return time.UnixMilli(ask[int64](p, "window.notedAt"))
}

func TestHoldGreysTimeForOthers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	a, b := h.tab(t), h.tab(t)
	start := h.at("10:00")
	for _, p := range []*tab{a, b} {
		p.when("&specialist=ada")
	}

	// Other clients see a selection, and can still take the time first.
	a.choose(start)
	b.there(chip(start) + ".looking")
	if got := ask[string](b, `document.querySelector(`+quoted(chip(start)+" input")+
		`).getAttribute('aria-label')`); got != "10:00, someone is looking at this time" {
		t.Errorf("the name of a selected time is %q", got)
	}

	// A hold greys the time out in the other tab.
	b.notes(start, "held")
	pressed := time.UnixMilli(ask[int64](a, `(document.querySelector('.bar button').click(), Date.now())`))
	t.Logf("from the press to the other tab showing the hold: %v (aim: at most 300ms)", b.noted().Sub(pressed))
	a.held()
	b.look("book-2-when")
	if got := ask[string](b, `document.querySelector(`+quoted(chip(start)+" input")+
		`).getAttribute('aria-label')`); got != "10:00, held by someone else, unavailable" {
		t.Errorf("the name of a held time is %q", got)
	}
	b.click(chip(start))
	if n := b.count(".chip input:checked"); n != 0 {
		t.Error("a held time could be selected")
	}

	// A page that the browser puts into the back/forward cache releases its hold, and claims it again on the return. This
	// page still runs, so it must be hidden, or it would claim the time as soon as the stream says that it is free.
	b.notes(start, "free")
	a.run(`Object.defineProperty(document, 'hidden', {value: true, configurable: true}),
		dispatchEvent(new PageTransitionEvent('pagehide', {persisted: true}))`)
	b.noted()
	a.there(".hold[data-phase=lapsed]")
	b.notes(start, "held")
	a.run(`delete document.hidden, dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))`)
	b.noted()
	a.held()

	// Leaving the page releases the hold immediately.
	b.notes(start, "free")
	left := time.Now()
	a.leave()
	t.Logf("from leaving to the other tab showing the time free: %v", b.noted().Sub(left))

	// When a hold expires, the time becomes free without any user action.
	b.notes(start, "held")
	hold := h.hold("a-stranger-00001", "ada", start, 3)
	b.noted()
	b.notes(start, "free")
	lapse, err := time.Parse(time.RFC3339Nano, fmt.Sprint(hold.get("holdExpiresAt")))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("from the lapse to the tab showing the time free: %v", b.noted().Sub(lapse))

	// A booked time keeps its position and is shown as booked. A cancelled booking frees it.
	booked := h.must(201, "POST", "/v1/appointment-types/checkup/book", map[string]any{
		"clientId": "a-stranger-00001", "slotStartDate": start, "specialistId": "ada", "patient": map[string]any{"name": "Somebody Else", "email": "s@example.org"},
	})
	b.shows(start, "taken")
	id, _ := booked.get("appointment", "id").(string)
	h.must(200, "POST", "/v1/appointments/"+id+"/cancel", map[string]any{}, asAdmin)
	b.shows(start, "free")
}

// TestFocusStaysOnTakenTime: the focus stays on a time when it becomes held, and the arrow keys continue from there
// without choosing an unavailable time.
func TestFocusStaysOnTakenTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	starts := []string{h.at("08:00"), h.at("08:30"), h.at("09:00")}
	focused := func(start string) {
		t.Helper()
		if got := ask[string](p, "document.activeElement.value || document.activeElement.tagName"); got != start {
			t.Errorf("the focus is on %s, want %s", got, start)
		}
	}
	chosen := func(want string) {
		t.Helper()
		if got := ask[string](p, `document.querySelector('.chip input:checked')?.value || ''`); got != want {
			t.Errorf("%q is chosen, want %q", got, want)
		}
	}
	p.run(`document.querySelector('.chip input').focus()`)
	p.key(" ")
	p.there(chip(starts[0]) + " input:checked:focus")

	h.hold("a-stranger-00001", "ada", starts[0], 300)
	p.shows(starts[0], "held")
	focused(starts[0])
	h.hold("a-stranger-00001", "ada", starts[1], 300)
	p.shows(starts[1], "held")
	p.key(kb.ArrowRight)
	focused(starts[1])
	chosen(starts[0])
	p.key(kb.ArrowRight)
	focused(starts[2])
	chosen(starts[2])
	if n := p.count(".chip input:disabled"); n > 0 {
		t.Errorf("%d times are disabled, which loses the focus", n)
	}
}

// TestRacingPatientsHaveOneWinner: two tabs and 48 programs request one time. One of them gets it, and the others get a
// message.
func TestRacingPatientsHaveOneWinner(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	tabs := []*tab{h.tab(t), h.tab(t)}
	start := h.at("10:00")
	for _, p := range tabs {
		p.when("&specialist=ada")
		p.choose(start)
	}
	var wins, refusals atomic.Int64
	var racing sync.WaitGroup
	gun := make(chan struct{})
	for n := range 48 {
		racing.Go(func() {
			<-gun
			got, err := h.ask("POST", "/v1/appointment-types/checkup/book", map[string]any{
				"clientId": fmt.Sprintf("racer-secret-%04d", n), "slotStartDate": start, "specialistId": "ada",
				"patient": map[string]any{"name": fmt.Sprintf("Racer %d", n),
					"email": fmt.Sprintf("r%d@example.org", n)},
			})
			switch {
			case err != nil:
				t.Error(err)
			case got.status == 201:
				wins.Add(1)
			case got.status == 409:
				refusals.Add(1)
			default:
				t.Errorf("a racer got %d: %s", got.status, got.raw)
			}
		})
	}
	for _, p := range tabs {
		racing.Go(func() {
			<-gun
			p.run(`document.querySelector('.bar button')?.click()`)
		})
	}
	close(gun)
	racing.Wait()

	holding := 0
	for i, p := range tabs {
		p.until(`document.querySelector('.hold[data-phase=held]') || !document.querySelector('.bar button') || /That time has just been taken/.test(document.body.innerText)`)
		if p.count(".hold[data-phase=held]") == 0 {
			continue
		}
		holding++
		p.confirm()
		p.booked()
		t.Logf("tab %d won", i+1)
	}
	if total := int(wins.Load()) + holding; total != 1 {
		t.Errorf("%d of 48 programs and %d of 2 tabs got the time; want one winner", wins.Load(), holding)
	}
	if int(refusals.Load()+wins.Load()) != 48 {
		t.Errorf("%d were refused and %d succeeded, want 48 answers", refusals.Load(), wins.Load())
	}
	if a := h.one(t); a["slotStartDate"] != start {
		t.Errorf("the database has %v", a)
	}
	for _, p := range tabs {
		if p.count(".ticket") == 0 {
			p.shows(start, "taken")
		}
	}
}

// TestLostTimeKeepsForm: the time is lost while the patient fills the form in. The typed text is kept, and one click
// takes the nearest free time.
func TestLostTimeKeepsForm(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	p.take(h.at("10:00"))
	p.fill("#name", "Lena Vogt")
	p.fill("#email", "lena@example.org")
	h.must(201, "POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at("10:00"), "displace": true,
		"patient": map[string]any{"name": "Walk In", "phone": "030 5555555"},
	}, asAdmin)
	p.says("The clinic needed this time. We are sorry. Nearest free times:")
	p.there(".notice.danger .btn:nth-of-type(3)")
	p.look("book-5-lost")
	p.click(".notice.danger .btn")
	p.held()
	if name, email := ask[string](p, "document.querySelector('#name').value"),
		ask[string](p, "document.querySelector('#email').value"); name != "Lena Vogt" || email != "lena@example.org" {
		t.Errorf("the entered texts changed to %q and %q", name, email)
	}
	p.click(".details [type=submit]")
	p.booked()
	if n := len(h.bookings()); n != 2 {
		t.Errorf("there are %d appointments, want the clinic's and the patient's", n)
	}
}

// TestLostClaimOffersNearbyTimes: another client claims the time just before the page does, so the stream cannot show
// this in time. The page offers the nearest free times.
func TestLostClaimOffersNearbyTimes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	p.choose(h.at("10:00"))
	// The other client's claim is sent just before the page's own.
	p.run(`(() => {
		const real = window.fetch
		window.fetch = async (path, o) => {
			if (path !== '/v1/holds' || o.method !== 'POST') return real(path, o)
			window.fetch = real
			const body = JSON.parse(o.body)
			await real(path, { ...o, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ ...body, clientId: 'a-quicker-stranger' }) })
			return real(path, o)
		}
	})()`)
	p.click(".bar button")
	p.says("That time has just been taken. Your details are saved. Nearest free times:")
	p.there(".notice.danger:focus")
	p.there(".notice.danger .btn:nth-of-type(3)")
	p.click(".notice.danger .btn")
	p.held()
}

// TestHoldIsExtendedTenTimes: two minutes before the maximum life of a hold ends, the page asks whether to extend it.
// It can extend the hold ten times (WCAG 2.2.1). The test changes only the page's own clock, not the server's.
func TestHoldIsExtendedTenTimes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	p.take(h.at("10:00"))
	p.ownClock()
	for n := range 10 {
		p.run(`window.later += (900 - 119) * 1000`)
		p.there(".hold[data-phase=warning]")
		if n == 0 {
			p.says("10:00 is held for 2 more minutes.")
			p.accessible("two minutes left")
			p.look("book-6-warning")
		}
		p.click(".notice.warn .btn")
		p.held()
		p.says("10:00 is held for 15 more minutes.")
	}
	p.confirm()
	p.booked()
	h.one(t)
}

// TestFrozenTabKeepsHold: a phone freezes pages in the background. A hold survives that for its TTL.
func TestFrozenTabKeepsHold(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	p.take(h.at("10:00"))
	freeze := func(state page.SetWebLifecycleStateState) {
		t.Helper()
		p.do(command(page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: state}))
	}
	freeze(page.SetWebLifecycleStateStateFrozen)
	other := h.tab(t)
	other.when("&specialist=ada")
	other.shows(h.at("10:00"), "held")
	freeze(page.SetWebLifecycleStateStateActive)
	p.held()
	p.confirm()
	p.booked()
	h.one(t)
}

func TestReloadKeepsHoldAndForm(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	p.take(h.at("10:00"))
	p.fill("#name", "Lena Vogt")
	before := p.text(".hold-when")
	p.reload()
	p.held()
	if after := p.text(".hold-when"); after != before {
		t.Errorf("after a reload %q is held, want %q", after, before)
	}
	if got := ask[string](p, "document.querySelector('#name').value"); got != "Lena Vogt" {
		t.Errorf("after a reload the name is %q", got)
	}
	if n := h.must(200, "GET", "/v1/debug/locks", nil, asAdmin).get("count"); n != 1.0 {
		t.Errorf("after a reload %v times are held, want 1", n)
	}
	p.fill("#email", "lena@example.org")
	p.click(".details [type=submit]")
	p.booked()
	h.one(t)
}

// TestDuplicatedTabIsNewClient: a duplicated tab gets a copy of the first one's storage, including its secret. Two tabs
// with one secret would end each other's streams forever, so the copy takes a new secret and does not touch the first
// one's hold.
//
// The test does not run in parallel with others: a first tab that cannot respond for 1.5 seconds counts as closed.
func TestDuplicatedTabIsNewClient(t *testing.T) {
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	p.take(h.at("10:00"))
	secret := `sessionStorage.getItem('holdfast.client')`
	was := ask[string](p, secret)

	p.run(`window.open(location.href)`)
	copied := p.opened()
	copied.live()
	if is := ask[string](copied, secret); is == was || is == "" {
		t.Error("the copy has the first tab's secret")
	}
	copied.day(h.date)
	copied.shows(h.at("10:00"), "held")
	p.held()
	p.there(".live[data-link=live]")
	if is := ask[string](p, secret); is != was {
		t.Error("the first tab changed its secret")
	}
	p.confirm()
	p.booked()
	h.one(t)
}

// opened returns the tab that this tab has opened.
func (p *tab) opened() *tab {
	p.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); p.moment() {
		var other *tab
		p.step(func(ctx context.Context) (err error) {
			other, err = p.driver.opened(ctx)
			return err
		})
		if other != nil {
			return other
		}
	}
	p.t.Fatal("the page opened no tab")
	return nil
}
