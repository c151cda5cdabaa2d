import './page.js'
import test from 'node:test'
import * as assert from 'node:assert/strict'
import { cell, empty, find, isLoaded, reduce } from '../ui/staff/store.js'

const date = '2026-11-24'
const appointment = (id, more = {}) => ({
  id, version: 1, status: 'confirmed', specialistId: 'ada', slotStartDate: date + 'T09:00:00Z', slotEndDate: date + 'T09:30:00Z', ...more,
})
const asked = (at, appointments, more = {}) => ({ type: 'loaded', from: date, to: '2026-11-25', specialistId: '', appointments, busy: [], at, asOf: at, ...more })
const made = (at, a) => ({ type: 'changed', appointment: a, at })
const after = (...events) => events.reduce(reduce, { ...empty, specialists: [{ id: 'ada' }, { id: 'bob' }] })
const ids = (s, specialistId = 'ada') => (s.cells[cell(date, specialistId)] || []).map(a => a.id)
const told = (type, more) => ({ type, specialistId: 'ada', slotStartDate: date + 'T09:00:00Z', slotEndDate: date + 'T09:30:00Z', ...more })

test('a list fills the columns of its dates, each by start', () => {
  const s = after(asked(1, [appointment('b', { slotStartDate: date + 'T10:00:00Z' }), appointment('a'), appointment('c', { specialistId: 'bob' })]))
  assert.deepEqual(ids(s), ['a', 'b'])
  assert.deepEqual(ids(s, 'bob'), ['c'])
  assert.ok(isLoaded(s, date, 'ada'))
  assert.equal(isLoaded(s, '2026-11-25', 'ada'), false)
})

test('of two answers about one date, the one that was asked for later is believed', () => {
  assert.deepEqual(ids(after(asked(2, [appointment('a')]), asked(1, []))), ['a'])
  assert.deepEqual(ids(after(asked(1, [appointment('a')]), asked(2, []))), [])
})

test('an older answer about all specialists or about one does not replace a newer answer about the same cell', () => {
  const all = (at, appointments) => asked(at, appointments), one = (at, appointments) => asked(at, appointments, { specialistId: 'ada' })
  for (const [newer, older] of [[one, all], [all, one]]) {
    assert.deepEqual(ids(after(newer(2, [appointment('a')]), older(1, []))), ['a'])
    assert.deepEqual(ids(after(newer(2, []), older(1, [appointment('a')]))), [])
  }
  const both = after(one(2, [appointment('a')]), all(1, [appointment('c', { specialistId: 'bob' })]))
  assert.deepEqual([ids(both), ids(both, 'bob')], [['a'], ['c']])
})

test('what was taken back here is not lost to an answer from before', () => {
  const cancelled = appointment('a', { version: 2, status: 'cancelled' }), back = appointment('a', { version: 3 })
  assert.deepEqual(ids(after(asked(1, [appointment('a')]), made(2, cancelled), made(4, back), asked(3, []))), ['a'])
})

test('what was cancelled here does not come back with an answer from before', () => {
  const cancelled = appointment('a', { version: 2, status: 'cancelled' })
  assert.deepEqual(ids(after(asked(1, [appointment('a')]), made(3, cancelled), asked(2, [appointment('a')]))), [])
})

test('what was moved here is at its new time, also with an answer from before', () => {
  const moved = appointment('a', { version: 2, specialistId: 'bob' })
  const s = after(asked(1, [appointment('a')]), made(3, moved), asked(2, [appointment('a')]))
  assert.deepEqual([ids(s), ids(s, 'bob')], [[], ['a']])
})

test('an answer to a later question is believed against what was changed here', () => {
  const arrived = appointment('a', { version: 2, attendance: 'arrived' })
  assert.deepEqual(ids(after(asked(1, [appointment('a')]), made(2, arrived), asked(3, []))), [])
})

test('what passed an answer over is asked for once more, and then no more', () => {
  const cancelled = appointment('a', { version: 2, status: 'cancelled' })
  const unsure = after(asked(1, [appointment('a')]), made(3, cancelled), asked(2, [appointment('a')]))
  assert.deepEqual(unsure.stale, [date])
  const sure = reduce(reduce(unsure, { type: 'loading' }), asked(4, []))
  assert.deepEqual([ids(sure), sure.stale], [[], []])
})

test('what a colleague made of it since is believed, whichever answer comes first', () => {
  const mine = appointment('a', { version: 2, attendance: 'arrived' }), theirs = appointment('a', { version: 3, specialistId: 'bob' })
  for (const events of [[made(3, mine), asked(2, [theirs])], [asked(2, [theirs]), made(3, mine)]]) {
    const s = after(asked(1, [appointment('a')]), ...events)
    assert.deepEqual([ids(s), ids(s, 'bob')], [[], ['a']])
  }
  const gone = after(asked(1, [appointment('a')]), made(3, mine), asked(2, []))
  assert.deepEqual(gone.stale, [date])
})

test('a refused attendance goes back to what it was', () => {
  const s = after(asked(1, [appointment('a')]), made(2, appointment('a', { attendance: 'arrived' })), made(3, appointment('a', { attendance: 'expected' })))
  assert.equal(find(s, 'a').attendance, 'expected')
})

test('changes made here are remembered for two minutes, and no longer', () => {
  const s = after(made(1, appointment('a')), made(60e3, appointment('b')), made(121e3, appointment('c')))
  assert.deepEqual(Object.keys(s.changed).sort(), ['b', 'c'])
})

test('a column that did not change keeps its identity', () => {
  const s = after(asked(1, [appointment('a'), appointment('c', { specialistId: 'bob' })]))
  const next = reduce(s, asked(2, [appointment('a', { version: 2 }), appointment('c', { specialistId: 'bob' })]))
  assert.equal(next.cells[cell(date, 'bob')], s.cells[cell(date, 'bob')])
  assert.notEqual(next.cells[cell(date, 'ada')], s.cells[cell(date, 'ada')])
})

test('an appointment takes its rooms where they have a column, and gives them back', () => {
  const a = appointment('a', { resourceIds: ['laser'] }), s = after(asked(1, [a], { specialistId: '' }))
  const withRoom = reduce({ ...s, cells: { ...s.cells, [cell(date, 'laser')]: [] } }, made(2, a))
  assert.deepEqual(ids(withRoom, 'laser'), ['a@laser'])
  assert.deepEqual(ids(reduce(withRoom, made(3, { ...a, version: 2, status: 'cancelled' })), 'laser'), [])
})

test('the stream says which dates are to be asked for again', () => {
  const s = after(asked(1, [appointment('a')]))
  assert.deepEqual(reduce(s, told('appointment', { id: 'a', version: 2, change: 'moved' })).stale, [date])
  assert.deepEqual(reduce(s, told('appointment', { id: 'a', version: 1, change: 'created' })).stale, [], 'known already')
  assert.deepEqual(reduce(s, told('cancel')).stale, [date])
  assert.deepEqual(reduce(s, { type: 'connected' }).stale, ['*'])
})

test('calendars that changed while there was no stream are asked for again', () => {
  const s = after(asked(1, []), { type: 'connected' })
  assert.deepEqual(s.staleHours, [], 'the first schedule is being loaded')
  assert.deepEqual(reduce({ ...s, ready: true }, { type: 'connected' }).staleHours, ['*'])
})

test('what could not be loaded stays marked', () => {
  const s = reduce(after(asked(1, []), told('availability')), { type: 'loading hours' })
  const marked = reduce(s, { type: 'not loaded', stale: [date], staleHours: ['ada'], staleNews: true })
  assert.deepEqual([marked.stale, marked.staleHours, marked.staleNews], [[date], ['ada'], true])
})

test('a hold is seen until it ends, and a booked one until its appointment is there', () => {
  const hold = told('hold', { holdId: 'h', appointmentTypeId: 't', holdExpiresAt: date + 'T08:00:00Z' })
  const s = after(asked(1, []), hold)
  assert.deepEqual(Object.keys(s.holds.ada), ['h'])
  assert.deepEqual(Object.keys(reduce(s, told('release', { holdId: 'h' })).holds.ada), [])
  const booked = reduce(s, told('confirm', { holdId: 'h' }))
  assert.ok(booked.holds.ada.h.done)
  assert.deepEqual(Object.keys(reduce(booked, asked(2, [appointment('a')])).holds.ada), [])
})

test('holds of a broken stream are replaced by those of the next snapshot, all at once', () => {
  const hold = id => told('hold', { holdId: id, holdExpiresAt: date + 'T08:00:00Z' })
  const s = after(hold('old'), { type: 'init' }, hold('new'))
  assert.deepEqual(Object.keys(s.holds.ada), ['old'])
  assert.deepEqual(Object.keys(reduce(s, { type: 'connected' }).holds.ada), ['new'])
})

test('what is far from what is shown is forgotten', () => {
  const s = reduce(after(asked(1, [appointment('a')])), { type: 'scope', scope: { from: '2026-12-24', to: '2026-12-25' } })
  assert.deepEqual(Object.keys(s.cells), [])
  assert.equal(find(s, 'a'), undefined)
})
