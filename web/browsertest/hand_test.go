package browsertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// click presses the mouse in the middle of an element, once the element exists, is enabled, is not covered and has
// stopped moving. The page can still move after that, for example if it scrolls to its top a moment after it is drawn.
// A press that misses the element then has no effect, and click tries again. It also tries again if the element moves
// away before the button is released.
func (p *tab) click(selector string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		p.until(`(async () => {
			const e = document.querySelector(` + quoted(selector) + `)
			if (e.disabled || e.ariaDisabled === 'true') return false
			e.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' })
			const middle = () => { const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] }
			const [x, y] = middle()
			for (let n = 0; n < 2; n++) await new Promise(requestAnimationFrame)
			const meant = to => { const e = document.querySelector(` + quoted(selector) + `); return e?.contains(to) || e?.closest('label')?.contains(to) }
			if (!meant(document.elementFromPoint(x, y)) || String(middle()) !== String([x, y])) return false
			window.missed = true // until the press arrives: Chromium drops it while it has not yet painted a new page
			window.press?.abort() // of a click whose answer did not come
			const press = window.press = new AbortController()
			for (const kind of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click']) window.addEventListener(kind, event => {
				if (!event.isTrusted) return
				if (kind === 'pointerdown') window.missed = !meant(event.target)
				if (kind === 'pointerup' && e.isConnected) window.missed ||= !meant(event.target) // e moved while pressed
				if (window.missed) { event.preventDefault(); event.stopImmediatePropagation() }
			}, { capture: true, signal: press.signal })
			return window.clickAt = [x, y]
		})()`)
		xy := ask[[]float64](p, "window.clickAt")
		p.step(func(ctx context.Context) error {
			return errors.Join(p.driver.mouse(ctx, mouseDown, xy[0], xy[1]), p.driver.mouse(ctx, mouseUp, xy[0], xy[1]))
		})
		if missed, err := evaluate[bool](p, "press.abort(), window.missed"); err != nil || !missed {
			return // an error: the click has left the page
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s moved before every click", selector)
		}
	}
}

// key presses keys one after another: kb.Tab, kb.Enter, "a". As with a real keyboard, a letter is typed only if the
// page does not handle its key.
func (p *tab) key(keys string) {
	p.t.Helper()
	for _, r := range keys {
		k, known := kb.Keys[r]
		if !known {
			p.t.Fatalf("unknown key %q", r)
		}
		p.step(func(ctx context.Context) error { return p.driver.key(ctx, k, 0) })
	}
}

// shift is the modifier of a chord.
const shift = 8

// chord presses a key together with modifiers.
func (p *tab) chord(modifiers int64, key string) {
	p.t.Helper()
	for _, r := range key {
		p.step(func(ctx context.Context) error { return p.driver.key(ctx, kb.Keys[r], modifiers) })
	}
}

// mouse presses, moves or releases the mouse, step by step.
func (p *tab) mouse(kind mouse, x, y float64) {
	p.t.Helper()
	p.step(func(ctx context.Context) error { return p.driver.mouse(ctx, kind, x, y) })
}

// write types text into the focused element, as a paste or an input method does.
func (p *tab) write(text string) {
	p.t.Helper()
	p.step(func(ctx context.Context) error { return p.driver.write(ctx, text) })
}

// fill clicks into a field and types text.
func (p *tab) fill(selector, text string) {
	p.t.Helper()
	p.click(selector)
	p.write(text)
}

// TestClickRepeatsAPressThatTheElementLeft: if an element moves away between the press and the release, it is clicked
// at its new position.
func TestClickRepeatsAPressThatTheElementLeft(t *testing.T) {
	t.Parallel()
	p := newHouse(t).tab(t)
	p.open("/?lang=en")
	p.there("main")
	p.run(`(() => {
		document.body.insertAdjacentHTML('afterbegin', '<button id="moving" type="button">Move</button>')
		const e = document.getElementById('moving')
		Object.assign(e.style, { position: 'fixed', zIndex: 9, top: '8px', left: '8px' })
		e.addEventListener('mousedown', () => { e.style.top = '200px' }, { once: true })
		e.addEventListener('click', () => { window.clicks = (window.clicks || 0) + 1 })
	})()`)
	p.click("#moving")
	p.until("window.clicks === 1")
}
