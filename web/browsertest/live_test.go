package browsertest

import (
	"strings"
	"testing"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// TestLivePage: the Live page shows the server's activity, can be paused, and offers every chart as a table. The owner
// and the reception see it.
func TestLivePage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.hold("a-stranger-00001", "ada", h.at("09:00"), 600)
	p := h.desk(t, store.RoleReception)
	p.click(`nav a[href="#live"]`)
	p.says("Embedded. Live state is stored in this process.")
	tile := func(name string) string {
		return `[...document.querySelectorAll('.tiles div')].find(d => d.querySelector('dt').innerText === ` +
			quoted(name) + `).querySelector('dd').innerText`
	}
	p.until(tile("Live holds") + ` === '1'`)
	if n := p.count(".tiles > div"); n != 6 {
		t.Errorf("there are %d tiles, want 6", n)
	}
	p.until(`document.querySelectorAll('.plot canvas').length === 5`)
	p.until(`/Dr Ada Brandt/.test(document.querySelector('.charts > .plate:last-child tbody').innerText)`)
	p.says("Check-up")
	if raw := ask[string](p, "document.body.innerText"); strings.Contains(raw, "a-stranger") {
		t.Errorf("the page shows the clients of holds\n%s", raw)
	}

	// The page is paused: new events are not drawn until it resumes.
	p.until(`document.querySelector('.chart tbody tr')`)
	p.click(`.office-tools .btn`)
	p.there(`.office-tools .btn[aria-pressed=true]`)
	h.hold("a-stranger-00002", "karim", h.at("09:00"), 600)
	before := ask[int](p, `performance.getEntriesByType('resource').filter(e => e.name.includes('/v1/debug/')).length`)
	p.until(`new Promise(done => setTimeout(() => done(true), 2500))`) // unless paused, the page polls every two seconds
	if after := ask[int](p, `performance.getEntriesByType('resource').filter(e => e.name.includes('/v1/debug/')).length`); after > before {
		t.Errorf("while paused, the page sent %d requests", after-before)
	}
	if got := ask[string](p, tile("Live holds")); got != "1" {
		t.Errorf("while paused, the page shows %s holds", got)
	}
	p.click(`.office-tools .btn`)
	p.until(tile("Live holds") + ` === '2'`)

	// The chart's table shows the same values.
	p.click(`.chart summary`)
	p.until(`[...document.querySelectorAll('.chart details[open] tbody td')].some(td => td.innerText === '2')`)
	p.shot("live-1")

	// The banner shows the real state of the storage.
	p.run(`{
		const own = window.fetch
		window.fetch = async (...asked) => {
			const answer = await own(...asked)
			if (!String(asked[0].url || asked[0]).includes('/v1/debug/storage')) return answer
			return new Response(JSON.stringify({ ...await answer.json(), storageMode: window.mode }), { headers: { 'Content-Type': 'application/json' } })
		}
		window.mode = 'fallback'
	}`)
	p.says("Redis is unreachable. Bookings stay safe.")
	p.accessible("the live view without Redis")
	p.run(`window.mode = 'redis'`)
	p.says("Live state is shared.")

	own := h.desk(t, store.RoleSpecialist)
	if n := own.count(`nav a[href="#live"], nav a[href="#queue"]`); n != 0 {
		t.Error("the menu of a specialist contains the Live or the Queue page")
	}
	for _, path := range []string{"/v1/debug/storage", "/v1/debug/locks", "/v1/queue-status"} {
		if status := ask[int](own, `fetch(`+quoted(path)+`).then(r => r.status)`); status != 403 {
			t.Errorf("%s for a specialist: %d, want 403", path, status)
		}
	}
}

// TestLivePageShowsHoursOfHold: the hold of a request lasts for days. Its rest is in hours, minutes and seconds.
func TestLivePageShowsHoursOfHold(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(f *clinic.File) { f.AppointmentTypes[0].Approval = true })
	h.must(202, "POST", "/v1/appointment-types/checkup/book", map[string]any{"slotStartDate": h.at("10:00"),
		"clientId": "a-stranger-00001", "patient": map[string]any{"name": "Lena Vogt", "email": "lena@example.org"}})
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#live")
	left := `document.querySelector('.charts > .plate:last-child tbody td:last-child')?.innerText`
	p.until(`/^\d+:\d\d:\d\d$/.test(` + left + `)`)
}
