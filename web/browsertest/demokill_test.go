package browsertest

import (
	"net/http"
	"testing"
	"time"
)

// TestDemoServerKillLosesNothing: the button ends the server as a crash would. After the automatic restart, a booking
// that was acknowledged just before still exists. The phones are live again, and a phone that held a time holds it
// again.
func TestDemoServerKillLosesNothing(t *testing.T) {
	t.Parallel()
	h, _ := startDemo(t)
	p := h.tab(t)
	p.size(1600, 1000)
	p.open("/demo?lang=en")
	up, down := ".cluster li[data-part=server][data-state=up]", ".cluster li[data-part=server][data-state=down]"
	p.there(up)
	p.until(`document.querySelectorAll('iframe').length === 3`)
	p.run(`window.left = document.querySelectorAll('iframe')[0], window.right = document.querySelectorAll('iframe')[2]`)
	p.until(`left.contentDocument?.querySelectorAll('.chip[data-status=free]').length > 0`)
	p.until(`[left, right].every(f => f.contentDocument?.querySelector('.live[data-link=live]'))`)
	p.accessible("the server")
	// Hold a time. One of the demo's visitors may take the chosen time first.
	p.until(`(page => {
		if (page.querySelector('.hold[data-phase=held]')) return true
		const button = page.querySelector('.bar button:not([aria-disabled])'),
			chosen = page.querySelector('.chip input:checked')
		if (button && chosen) { window.start = chosen.value; button.click() }
		else if (!chosen) page.querySelector('.chip[data-status=free] input')?.click()
	})(left.contentDocument)`)

	// The server ends right after it has acknowledged a booking. One of the visitors may have taken the time first.
	p.run(`window.id = (async () => {
		const type = JSON.parse(document.getElementById('boot').textContent).appointmentTypes.find(x => x.capacity === 1)
		for (;;) {
			const { slot } = await (await fetch('/v1/appointment-types/' + type.id + '/next-available')).json()
			const answer = await fetch('/v1/appointment-types/' + type.id + '/book', { method: 'POST', credentials: 'omit', headers: { 'Content-Type': 'application/json' },
				body: JSON.stringify({ clientId: 'a-client-of-the-test', slotStartDate: slot.start, patient: { name: 'Last Moment', email: 'last@example.org' } }) })
			if (answer.status !== 409) return answer.status === 201 ? (await answer.json()).appointment.id : 'status ' + answer.status
		}
	})().then(x => window.id = x)`)
	p.until(`typeof window.id === 'string'`)
	isDown := badGateway(t, h.url+"/livez")
	p.click(up + " button")
	p.there(down)
	select {
	case <-isDown:
	case <-time.After(patience):
		t.Fatal("after it was killed, the server never answered 502")
	}
	p.shot("demokill-1-down")
	p.there(up)
	p.there(".cluster [data-lost='0']")
	p.run(`fetch('/v1/appointments/' + id).then(x => window.there = x.status)`)
	p.until(`window.there`)
	if got := ask[float64](p, `window.there`); got != 200 {
		t.Errorf("the appointment acknowledged before the kill: %v (%s)", got, ask[string](p, `window.id`))
	}
	p.until(`[left, right].every(f => f.contentDocument.querySelector('.live[data-link=live], .hold'))`)
	// The phone's hold was lost with the server's memory: the phone takes the same time again, or shows that a visitor
	// was faster. It takes a time again only for a patient who has been active in the last 90 seconds.
	p.run(`left.contentWindow.dispatchEvent(new PointerEvent('pointerdown'))`)
	p.until(`(async () => {
		const said = left.contentDocument.body.innerText
		if (said.includes('has just been taken')) return true
		const { holds } = await (await fetch('/v1/holds')).json()
		return said.includes('We are holding this time for you again') && holds.some(x => x.slotStartDate === start)
	})()`)
	p.shot("demokill-2-back")
}

// badGateway asks for url again and again. The channel is closed at the first answer that says that the server behind
// the proxy is down, or when the test ends.
func badGateway(t *testing.T, url string) <-chan struct{} {
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		for t.Context().Err() == nil {
			r, err := http.Get(url)
			switch {
			case t.Context().Err() != nil:
				return
			case err != nil:
				t.Errorf("while the server is down: %v", err)
				return
			}
			r.Body.Close()
			if r.StatusCode == http.StatusBadGateway {
				return
			}
		}
	}()
	return seen
}
