import './page.js'
import test from 'node:test'
import * as assert from 'node:assert/strict'
import { empty, freeOn, nearest, reduce, view, viewDay } from '../ui/book/slots.js'

const date = '2026-11-24', now = Date.parse(date + 'T06:00:00Z')
const at = clock => `${date}T${clock}:00.000Z`
const slot = (start, end, more = {}) => ({ start: at(start), end: at(end), specialistIds: ['ada'], held: 0, available: 1, ...more })
const list = (slots, more = {}) => ({ type: 'loaded', answer: { from: date, to: '2026-11-25', slots, generation: 1 }, open: date, before: [], sent: now, ...more })
const told = (type, holdId, start, end, more = {}) => ({
  type, holdId, specialistId: 'ada', appointmentTypeId: 't', slotStartDate: at(start), slotEndDate: at(end), ...more,
})
const there = { type: 'connected', generation: 1 }
const after = (type, ...events) => events.reduce((s, e) => reduce(s, e, now), empty({ id: 't', capacity: 1, ...type }))
const looks = (s, moment = now) => viewDay(s, date, moment).map(x => x.status)

test('what others do to a time is seen at once', () => {
  const s = after({}, there, list([slot('09:00', '09:30'), slot('09:30', '10:00')]))
  for (const [events, want] of [
    [[], ['free', 'free']],
    [[told('hold', 'h', '09:00', '09:30')], ['held', 'free']],
    [[told('hold', 'h', '09:15', '09:45')], ['held', 'held']],
    [[told('hold', 'h', '09:00', '09:30', { isOwnHold: true })], ['free', 'free']],
    [[told('hold', 'h', '09:00', '09:30'), told('release', 'h', '09:00', '09:30')], ['free', 'free']],
    [[told('hold', 'h', '09:00', '09:30'), told('confirm', 'h', '09:00', '09:30')], ['taken', 'free']],
  ]) assert.deepEqual(looks(events.reduce((s, e) => reduce(s, e, now), s)), want, events.map(e => e.type).join(', '))
})

test('while a hold replaces another one, their common time is never free', () => {
  // The server publishes the new hold before the release.
  let s = after({}, there, list([slot('09:00', '09:30'), slot('09:30', '10:00'), slot('10:00', '10:30')]))
  for (const [e, want] of [
    [told('hold', 'h', '09:00', '09:30'), ['held', 'free', 'free']],
    [told('hold', 'i', '09:15', '09:45'), ['held', 'held', 'free']],
    [told('release', 'h', '09:00', '09:30'), ['held', 'held', 'free']],
    [told('hold', 'k', '10:00', '10:30'), ['held', 'held', 'held']],
    [told('release', 'i', '09:15', '09:45'), ['free', 'free', 'held']],
  ]) {
    s = reduce(s, e, now)
    assert.deepEqual(looks(s), want, `${e.type} of ${e.holdId}`)
  }
})

test('buffers keep a time as the server keeps it', () => {
  const s = after({ bufferAfterMinutes: 10 }, there, list([slot('09:00', '09:30')]), told('hold', 'h', '09:30', '10:00', { busyStartDate: at('09:30'), busyEndDate: at('10:10') }))
  assert.deepEqual(looks(s), ['held'])
})

test('with two specialists a time is free until both are held', () => {
  const both = slot('09:00', '09:30', { specialistIds: ['ada', 'bob'], available: 2 })
  const one = after({}, there, list([both]), told('hold', 'h', '09:00', '09:30'))
  assert.deepEqual([view(one, both, now).left, looks(one)[0]], [1, 'free'])
  assert.deepEqual(looks(reduce(one, told('hold', 'i', '09:00', '09:30', { specialistId: 'bob' }), now)), ['held'])
})

test('seats of one session are counted, and others exclude it whole', () => {
  const session = slot('09:00', '10:00', { available: 3 }), s = after({ capacity: 3 }, there, list([session]))
  const two = [told('hold', 'h', '09:00', '10:00'), told('hold', 'i', '09:00', '10:00')].reduce((s, e) => reduce(s, e, now), s)
  assert.equal(view(two, session, now).left, 1)
  assert.equal(view(reduce(s, told('hold', 'h', '09:30', '10:30'), now), session, now).status, 'held')
})

test('a hold that the list has counted out gives its time back when it ends', () => {
  const held = slot('09:00', '09:30', { specialistIds: [], held: 1, available: 0 })
  const s = after({}, told('hold', 'h', '09:00', '09:30'), there)
  const known = after({}, { type: 'init' }, told('hold', 'h', '09:00', '09:30'), there, list([held]))
  assert.deepEqual(looks(known), ['held'])
  assert.deepEqual(looks(reduce(known, told('release', 'h', '09:00', '09:30'), now)), ['free'])
  assert.equal(s.known, true)
})

test('what was booked while a list was under way stays gone, and what is older is the list\'s to say', () => {
  const booked = reduce(after({}, there), told('confirm', 'h', '09:00', '09:30'), now)
  assert.deepEqual(looks(reduce(booked, list([slot('09:00', '09:30')], { sent: now - 1 }), now)), ['taken'])
  assert.deepEqual(looks(reduce(booked, list([slot('09:00', '09:30')], { sent: now }), now)), ['free'])
})

test('a time that vanished keeps its place while its day is open', () => {
  const s = after({}, there, list([slot('09:00', '09:30'), slot('09:30', '10:00')]), list([slot('09:30', '10:00')]))
  assert.deepEqual(looks(s), ['taken', 'free'])
  assert.deepEqual(looks(reduce(s, { type: 'opened', date }, now)), ['free'])
})

test('the notice of a type runs on while the page is open', () => {
  const s = after({ minNoticeMinutes: 60 }, there, list([slot('09:00', '09:30')]))
  assert.deepEqual([looks(s, Date.parse(at('08:00'))), looks(s, Date.parse(at('08:01')))], [['free'], ['late']])
})

test('somebody else who looks is marked, and one who leaves takes only the own look along', () => {
  const x = slot('09:00', '09:30'), s = after({}, there, list([x]), told('select', '', '09:00', '09:30'), told('select', '', '09:00', '09:30'))
  const one = reduce(s, told('deselect', '', '09:00', '09:30'), now)
  assert.deepEqual([s, one, reduce(one, told('deselect', '', '09:00', '09:30'), now)].map(s => view(s, x, now).looking), [true, true, false])
})

test('a break of the stream has the list believed alone, and another generation has all of it asked again', () => {
  const s = after({}, there, list([slot('09:00', '09:30')]), told('hold', 'h', '09:00', '09:30'), { type: 'broken' })
  assert.deepEqual(looks(reduce(s, list([slot('09:00', '09:30')]), now)), ['free'])
  assert.deepEqual(reduce(s, { type: 'connected', generation: 2 }, now).stale, ['*'])
})

test('the nearest free times are the nearest, in their order', () => {
  const s = after({}, there, list([slot('08:00', '08:30'), slot('09:00', '09:30'), slot('09:30', '10:00'), slot('12:00', '12:30')]))
  assert.deepEqual(nearest(s, at('09:00'), 2, now).map(x => x.start), [at('08:00'), at('09:30')])
  assert.equal(freeOn(s, date, now).length, 4)
})
