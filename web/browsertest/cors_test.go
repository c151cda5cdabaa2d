package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestNamedSitesPageBooks books from a page of another origin, in the browser, as docs/website.md describes. The page
// lists times, holds one, follows the stream and books, but cannot send an API key.
func TestNamedSitesPageBooks(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(rw, `<!doctype html><html lang="en"><title>Praxis</title><link rel="icon" href="data:,"><h1>Praxis</h1>`)
	}))
	t.Cleanup(s.Close)
	h.must(200, "PATCH", "/v1/settings", map[string]any{"corsOrigins": []string{s.URL}}, asAdmin)
	p := h.tab(t)
	p.also = []string{strings.TrimPrefix(s.URL, "http://"), strings.TrimPrefix(h.url, "http://")}
	p.open(s.URL)
	p.run(`(async () => {
		const api = '` + h.url + `/v1', client = crypto.randomUUID()
		const post = (path, body) => fetch(api + path, { method: 'POST', body: JSON.stringify(body), headers: {
			'Content-Type': 'application/json', 'Holdfast-Client': client, 'Idempotency-Key': crypto.randomUUID() } })
		const list = await fetch(api + '/appointment-types/checkup/timeslots').then(r => r.json())
		const { start: slotStartDate, specialistIds: [specialistId] } = list.slots.find(slot => slot.available > 0)
		const events = new EventSource(api + '/holds/stream?appointmentTypeId=checkup')
		await new Promise((resolve, reject) => { events.onopen = resolve; events.onerror = reject })
		events.close()
		const held = await post('/holds', { appointmentTypeId: 'checkup', slotStartDate, specialistId })
		const booked = await post('/appointment-types/checkup/book', { slotStartDate, specialistId, patient: { name: 'Ann Smith', email: 'ann@example.org' } })
		window.statuses = [held.status, booked.status].join(' ')
	})().catch(e => { window.statuses = String(e) })`)
	p.until(`window.statuses`)
	if got := ask[string](p, `window.statuses`); got != "201 201" {
		t.Errorf("hold and booking: got %s, want 201 201", got)
	}
	p.run(`fetch('` + h.url + `/v1/clinic', { headers: { Authorization: 'a-key' } }).then(() => { window.keyed = 'sent' }, () => { window.keyed = 'refused' })`)
	p.until(`window.keyed`)
	if got := ask[string](p, `window.keyed`); got != "refused" {
		t.Errorf("a request with an API key from the page: %s, want it refused by the browser", got)
	}
	p.forgive() // the browser reports the refused request on the console
}
