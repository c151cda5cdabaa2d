import './page.js'
import test from 'node:test'
import * as assert from 'node:assert/strict'
import { outside } from '../ui/staff/outside.js'

// 30 November 2026 is a Monday.
const booked = (id, from, to, more = {}) => ({
  id, appointmentTypeId: 'checkup',
  slotStartDate: `2026-11-30T${from}:00Z`, slotEndDate: `2026-11-30T${to}:00Z`, ...more,
})
const types = [{ id: 'checkup' }, { id: 'video', remote: true }]
const left = (hours, appointments, overrides = []) =>
  outside(appointments, hours, overrides, 'UTC', types).map(a => a.id)

test('appointments outside the weekly hours are listed', () => {
  const hours = [{ weekday: 'monday', start: '08:00', end: '12:00' }]
  const all = [booked('early', '07:45', '08:15'), booked('in', '08:00', '08:30'), booked('late', '11:45', '12:15')]
  assert.deepEqual(left(hours, all), ['early', 'late'])
  assert.deepEqual(left([{ ...hours[0], weekday: 'tuesday' }], all), ['early', 'in', 'late'])
  assert.deepEqual(left(hours, all, [{ date: '2026-11-30' }]), [])
})

test('appointments at another place than the hours are listed, unless they have no place', () => {
  const hours = [
    { weekday: 'monday', start: '08:00', end: '12:00', place: 'south' },
    { weekday: 'monday', start: '13:00', end: '17:00' },
  ]
  assert.deepEqual(
    left(hours, [
      booked('moved', '08:00', '08:30', { place: 'north' }),
      booked('same', '08:30', '09:00', { place: 'south' }),
      booked('none', '09:00', '09:30'),
      booked('call', '09:30', '10:00', { place: 'north', appointmentTypeId: 'video' }),
      booked('anywhere', '13:00', '13:30', { place: 'north' }),
    ]),
    ['moved'],
  )
})
