package browsertest

import (
	"context"
	"fmt"
	"time"
)

// These methods set the device of a tab: its size, its colours and its network.

func (p *tab) size(width, height int64) {
	p.t.Helper()
	p.step(func(ctx context.Context) error { return p.driver.size(ctx, width, height) })
}

// theme sets the preference of the reader's system: light or dark. Animations are off, so that a picture shows the
// final state.
func (p *tab) theme(name string) {
	p.t.Helper()
	p.step(func(ctx context.Context) error { return p.driver.colours(ctx, name, false) })
}

// ownColours makes the reader's system replace every colour of the page with its own, light on dark.
func (p *tab) ownColours() {
	p.t.Helper()
	p.step(func(ctx context.Context) error { return p.driver.colours(ctx, "dark", true) })
	if !ask[bool](p, `matchMedia('(forced-colors: active)').matches`) {
		p.t.Fatal("the colours are not forced, and the test proves nothing")
	}
}

// offline disconnects the network, or reconnects it.
func (p *tab) offline(away bool) {
	p.t.Helper()
	p.step(func(ctx context.Context) error { return p.driver.network(ctx, !away) })
}

// forget deletes the browser's cookies, as if a sign-in had expired.
func (p *tab) forget() {
	p.t.Helper()
	p.step(p.driver.forget)
}

// ownClock lets a test put the page's clock forward by window.later milliseconds. The server's clock does not change,
// so ownClock moves the expiry times in the server's responses to heartbeats back by the same amount. The age of a hold
// then matches the page's clock. The worker, which has its own clock, sends no more heartbeats.
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

// beats shortens the TTL that pages request for their holds, and the interval between the extensions of a hold.
func (p *tab) beats(ttlSeconds int, every time.Duration) {
	p.t.Helper()
	p.everyDocument(fmt.Sprintf(`{
		const send = window.fetch, post = Worker.prototype.postMessage
		window.fetch = (to, o) => send(to, o?.body ? { ...o, body: o.body.replace(/"ttlSeconds":\d+/, '"ttlSeconds":%[1]d') } : o)
		Worker.prototype.postMessage = function (job) { post.call(this, job && { ...job, ttlSeconds: %[1]d, every: %[2]d }) }
	}`, ttlSeconds, every.Milliseconds()))
}
