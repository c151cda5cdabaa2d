import './page.js'
import test from 'node:test'
import * as assert from 'node:assert/strict'
import { createDesk } from '../ui/staff/desk.js'

// withServer runs a test with a server that answers each request with answer(path, n), where n counts the requests for
// this path. An answer is a status and a body.
async function withServer(answer, run) {
  const before = globalThis.fetch, counts = {}
  globalThis.fetch = async path => {
    path = path.split('?')[0]
    const [status, body] = await answer(path, (counts[path] = (counts[path] || 0) + 1))
    return new Response(JSON.stringify(body), { status })
  }
  try {
    await run(createDesk({ user: { role: 'desk' } }), counts)
  } finally {
    globalThis.fetch = before
  }
}
const schedule = name => [200, { specialists: [{ id: 'ada', name }], appointmentTypes: [], calendars: [] }]

test('an older answer does not replace a newer schedule', () => {
  let first
  return withServer(
    (path, n) => (n === 1 ? new Promise(done => { first = () => done(schedule('old')) }) : schedule('new')),
    async desk => {
      const older = desk.loadSchedule()
      await desk.loadSchedule()
      first()
      await older
      assert.equal(desk.store.get().specialists[0].name, 'new')
    },
  )
})

// until is fulfilled when the state of a desk passes a test.
const until = (desk, passes) => new Promise(done => {
  const look = () => { if (passes(desk.store.get())) { stop(); done() } }
  const stop = desk.store.subscribe(look)
  look()
})

test('calendars whose request failed stay marked', () => withServer(
  path => path === '/v1/schedule' ? [400, {}] : [200, { appointments: [], changes: [] }],
  async desk => {
    desk.patch({ ready: true, staleHours: ['*'] })
    await desk.load({ from: '2026-11-24', to: '2026-11-25' })
    await until(desk, s => s.problem)
    assert.deepEqual(desk.store.get().staleHours, ['*'])
  },
))

test('only the part whose request failed is loaded again', () => withServer(
  path => path === '/v1/online-changes' ? [400, {}]
    : path === '/v1/schedule' ? schedule('new')
      : [200, { appointments: [] }],
  async (desk, counts) => {
    desk.show({ from: '2026-11-24', to: '2026-11-25' })
    desk.patch({ ready: true, link: 'polling', stale: ['*'], staleHours: ['*'], staleNews: true })
    await desk.load({ from: '2026-11-24', to: '2026-11-25' })
    await until(desk, s => s.problem)
    const { stale, staleHours, staleNews } = desk.store.get()
    assert.deepEqual({ stale, staleHours, staleNews }, { stale: [], staleHours: [], staleNews: true })
    assert.equal(counts['/v1/schedule'], 1)
  },
))

test('a poll that is answered after the stream has connected does not replace its holds', async () => {
  const { EventSource, requestAnimationFrame } = globalThis
  let source, asked, answer
  globalThis.EventSource = class { constructor() { source = this } close() {} }
  globalThis.requestAnimationFrame = run => setTimeout(run)
  const polled = new Promise(done => { asked = done }), answered = new Promise(done => { answer = done })
  await withServer(
    path => {
      if (path === '/v1/holds') { asked(); return answered }
      return path === '/v1/holds/stream-ticket' ? [201, { ticket: 't' }] : path === '/v1/schedule' ? schedule('ada') : [200, { changes: [] }]
    },
    async (desk, counts) => {
      desk.signedIn({ user: { role: 'desk' } })
      dispatchEvent(new Event('offline'))
      await polled
      source = null
      dispatchEvent(new Event('online'))
      while (!source) await new Promise(done => setTimeout(done))
      for (const event of [{ type: 'init' }, { type: 'hold', holdId: 'h', specialistId: 'ada' }, { type: 'connected' }])
        source.onmessage({ data: JSON.stringify(event) })
      await until(desk, s => s.connections)
      answer([200, { holds: [] }])
      while (!counts['/v1/online-changes']) await new Promise(done => setTimeout(done))
      desk.stop()
      assert.deepEqual(Object.keys(desk.store.get().holds.ada || {}), ['h'])
    },
  )
  Object.assign(globalThis, { EventSource, requestAnimationFrame })
})

const me = (role, specialistId) => ({
  user: { id: 'jo', name: 'Jo', role, ...(specialistId && { specialistId }) },
  expiresAt: new Date(Date.now() + 36e5).toISOString(), idleSeconds: 1800,
})

test('a sign-in with another role or another calendar reloads the console, and shows none of its data before', () => {
  for (const [before, after] of [
    [me('owner'), me('specialist', 'ada')], [me('specialist', 'ada'), me('specialist', 'bea')],
    [me('specialist', 'ada'), me('reception')],
  ]) {
    let reloads = 0
    const desk = createDesk(before, () => reloads++)
    desk.lock('expired')
    desk.signedIn(after)
    desk.stop()
    assert.ok(reloads > 0, `${before.user.role} to ${after.user.role}`)
    assert.equal(desk.store.get().locked, 'expired')
  }
})

test('a sign-in with the same role keeps the console', () => {
  for (const same of [['owner'], ['specialist', 'ada']]) {
    let reloads = 0
    const desk = createDesk(me(...same), () => reloads++)
    assert.equal(desk.reopen(me(...same)), false)
    assert.equal(reloads, 0)
  }
})
