package browsertest

import (
	"context"
	"fmt"
	"time"
)

// What the device is like that a tab is on: its size, its colours and its network.

func (p *tab) size(width, height int64) {
	p.t.Helper()
	p.step(func(ctx context.Context) error { return p.driver.size(ctx, width, height) })
}

// theme is what the reader's system asks for: light or dark. Nothing moves, so that a picture is of the end.
func (p *tab) theme(name string) {
	p.t.Helper()
	p.step(func(ctx context.Context) error { return p.driver.colours(ctx, name, false) })
}

// ownColours has the reader's system replace every colour by its own few, light on dark.
func (p *tab) ownColours() {
	p.t.Helper()
	p.step(func(ctx context.Context) error { return p.driver.colours(ctx, "dark", true) })
	if !ask[bool](p, `matchMedia('(forced-colors: active)').matches`) {
		p.t.Fatal("the colours are not forced, and the test proves nothing")
	}
}

// offline takes the network away, or gives it back.
func (p *tab) offline(away bool) {
	p.t.Helper()
	p.step(func(ctx context.Context) error { return p.driver.network(ctx, !away) })
}

// forget has the browser forget its cookies, as when a sign-in has run out.
func (p *tab) forget() {
	p.t.Helper()
	p.step(p.driver.forget)
}

// ownClock lets a test put the page's clock forward, by window.later milliseconds. The server's clock stays, so the ends
// that it answers a beat with are moved back by as much: a hold is as old as the page thinks. The worker, which has a
// clock of its own, beats no more.
func (p *tab) ownClock() {
	p.t.Helper()
	p.run(`(() => {
		const now = performance.now.bind(performance), send = window.fetch
		let restarted = 0
		window.later = 0
		performance.now = () => now() + window.later
		Worker.prototype.postMessage = () => {}
		window.fetch = async (to, o) => {
			const answer = await send(to, o)
			if (o?.method !== 'PATCH' || !answer.ok) return answer
			if (JSON.parse(o.body).restart) restarted = window.later
			const body = await answer.json()
			body.maxExpiresAt = new Date(Date.parse(body.maxExpiresAt) - window.later + restarted).toISOString()
			return new Response(JSON.stringify(body), answer)
		}
	})()`)
}

// beats shortens the life that pages ask for their holds, and how often they prolong it.
func (p *tab) beats(ttlSeconds int, every time.Duration) {
	p.t.Helper()
	p.everyDocument(fmt.Sprintf(`{
		const send = window.fetch, post = Worker.prototype.postMessage
		window.fetch = (to, o) => send(to, o?.body ? { ...o, body: o.body.replace(/"ttlSeconds":\d+/, '"ttlSeconds":%[1]d') } : o)
		Worker.prototype.postMessage = function (job) { post.call(this, job && { ...job, ttlSeconds: %[1]d, every: %[2]d }) }
	}`, ttlSeconds, every.Milliseconds()))
}
