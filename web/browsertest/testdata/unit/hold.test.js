import './page.js'
import test from 'node:test'
import * as assert from 'node:assert/strict'
import { createHold, isHeld, next, warnAt } from '../ui/lib/hold.js'

const slot = { start: '2026-11-24T09:00:00Z' }
const hold = { holdId: 'h', specialistId: 'ada', ...slot, expiresAt: 1, lapses: 2, until: 3 }
const after = (...events) => events.reduce(next, { phase: 'idle' })
const claimed = [{ type: 'claim', slot }, { type: 'claimed', hold }]
const refused = code => ({ type: 'refused', problem: { code } })

test('the way of a booking', () => {
  const phases = []
  let s = { phase: 'idle' }
  for (const e of [...claimed, { type: 'tick', left: warnAt }, { type: 'kept' }, { type: 'book', slot }, { type: 'booked', appointment: { id: 'a' } }]) {
    s = next(s, e)
    phases.push(s.phase)
  }
  assert.deepEqual(phases, ['claiming', 'held', 'warning', 'held', 'booking', 'booked'])
  assert.equal(s.keeps, 1)
})

test('what each event does to a hold in each phase', () => {
  const lapsed = [...claimed, { type: 'tick', left: 0 }], booking = [...claimed, { type: 'book', slot }]
  for (const [events, phase, why] of [
    [[...claimed, { type: 'gone', holdId: 'h', reason: 'expired' }], 'lapsed'],
    [[...claimed, { type: 'gone', holdId: 'h', reason: 'displaced' }], 'lost', 'displaced'],
    [[...claimed, { type: 'gone', holdId: 'h', reason: 'conflict' }], 'lost', 'gone'],
    [[...claimed, { type: 'gone', holdId: 'another', reason: 'expired' }], 'held'],
    [lapsed, 'lapsed'],
    [[...lapsed, { type: 'reclaim' }], 'reclaiming'],
    [[...lapsed, { type: 'reclaim' }, { type: 'claimed', hold }], 'held'],
    [[...lapsed, { type: 'reclaim' }, refused('slot_taken')], 'lost', 'gone'],
    [[...lapsed, { type: 'reclaim' }, refused('rate_limited')], 'lapsed'],
    [[...lapsed, { type: 'gone', holdId: 'h', reason: 'displaced' }], 'lost', 'displaced'],
    [[{ type: 'claim', slot }, refused('quota')], 'idle'],
    [[{ type: 'claim', slot }, refused('slot_held')], 'lost', 'gone'],
    [[{ type: 'claimed', hold }], 'idle'],
    [[{ type: 'reclaim' }], 'idle'],
    [[{ type: 'kept' }], 'idle'],
    [[...booking, { type: 'gone', holdId: 'h', reason: 'expired' }], 'booking'],
    [[...booking, { type: 'tick', left: 0 }], 'booking'],
    [[...booking, refused('invalid')], 'held'],
    [[...booking, refused('slot_taken')], 'lost', 'gone'],
    [[...booking, { type: 'unknown' }], 'unknown'],
    [[...booking, { type: 'unknown' }, { type: 'tick', left: 0 }], 'unknown'],
    [[...booking, { type: 'asked', asked: {} }], 'asked'],
    [[...claimed, { type: 'let go' }], 'idle'],
  ]) {
    const s = after(...events)
    assert.deepEqual([s.phase, s.why || undefined], [phase, why], events.map(e => e.type).join(', '))
  }
})

test('a beat of another hold changes nothing', () => {
  const s = after(...claimed)
  assert.equal(next(s, { type: 'beat', holdId: 'another', expiresAt: 9, lapses: 9, until: 9 }), s)
  assert.equal(next(s, { type: 'beat', holdId: 'h', expiresAt: 9, lapses: 9, until: 9 }).until, 9)
})

test('a time is held from the claim until the booking', () => {
  assert.equal(isHeld(after(...claimed)), true)
  assert.equal(isHeld(after(...claimed, { type: 'book', slot })), true)
  assert.equal(isHeld(after(...claimed, { type: 'tick', left: 0 })), false)
})

test('a claim names the hold that it replaces, and a refused one releases that hold', async () => {
  const { fetch } = globalThis, asked = []
  let n = 0
  globalThis.fetch = async (path, { method, body }) => {
    const said = JSON.parse(body)
    asked.push([method, said.holdId || said.instead || ''])
    if (method === 'POST' && n === 2) return new Response('{"code":"slot_held","status":409}', { status: 409 })
    const answer = { holdId: 'h' + ++n, slotStartDate: said.slotStartDate, ttlMs: 3e5, holdExpiresAt: '2026-11-24T08:05:00Z', maxExpiresAt: '2026-11-24T08:15:00Z' }
    return new Response(JSON.stringify(method === 'POST' ? answer : { ok: true }), { status: method === 'POST' ? 201 : 200 })
  }
  try {
    const mine = createHold(), at = start => mine.claim({ typeId: 'checkup', start })
    assert.equal((await at('2026-11-24T09:00:00Z')).holdId, 'h1')
    assert.equal((await at('2026-11-24T09:15:00Z')).holdId, 'h2')
    assert.equal((await at('2026-11-24T09:30:00Z')).phase, 'lost')
    mine.stop()
    assert.deepEqual(asked, [['POST', ''], ['POST', 'h1'], ['POST', 'h2'], ['DELETE', 'h2']])
  } finally {
    globalThis.fetch = fetch
  }
})
