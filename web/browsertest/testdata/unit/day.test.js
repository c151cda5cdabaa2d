import './page.js'
import test from 'node:test'
import * as assert from 'node:assert/strict'
import { dayIn, minutesOf, mondayOf, textOf, weekdayOf } from '../ui/staff/day.js'
import { addDays, countdown, dateOf, daysBetween, hhmm, setZone, time } from '../ui/lib/time.js'

// Each day has its real length, even if the clocks change, and 9:00 is always 9:00.
for (const [date, zone, hours, nine] of [
  ['2026-11-24', 'Europe/Berlin', 24, '2026-11-24T08:00:00.000Z'],
  ['2026-03-29', 'Europe/Berlin', 23, '2026-03-29T07:00:00.000Z'],
  ['2026-10-25', 'Europe/Berlin', 25, '2026-10-25T08:00:00.000Z'],
  ['2026-03-08', 'America/New_York', 23, '2026-03-08T13:00:00.000Z'],
  ['2026-11-01', 'America/New_York', 25, '2026-11-01T14:00:00.000Z'],
  ['2026-04-05', 'Australia/Lord_Howe', 24.5, '2026-04-04T22:30:00.000Z'],
  ['2026-11-24', 'Asia/Kathmandu', 24, '2026-11-24T03:15:00.000Z'],
  ['2011-12-31', 'Pacific/Apia', 24, '2011-12-30T19:00:00.000Z'],
]) {
  test(`${date} in ${zone}`, () => {
    const day = dayIn(date, zone)
    assert.equal((day.end - day.start) / 36e5, hours)
    assert.equal(new Date(day.at(540)).toISOString(), nine)
    assert.equal(day.minuteOf(Date.parse(nine)), 540)
    assert.ok(day.has(day.start) && !day.has(day.end))
    for (let m = 0; m < 1440; m += 15) {
      const instant = day.at(m)
      assert.equal(dateOf(instant, zone), date, textOf(m))
      // A wall-clock time that does not exist moves forward. Every other time is unchanged.
      if (hhmm(instant, zone) !== textOf(m)) assert.ok(hours < 24 && minutesOf(hhmm(instant, zone)) === m + (24 - hours) * 60, textOf(m))
    }
  })
}

test('a wall time that comes twice is its first', () => {
  assert.equal(new Date(dayIn('2026-10-25', 'Europe/Berlin').at(150)).toISOString(), '2026-10-25T00:30:00.000Z')
})

test('a wall time that comes twice says which it is', () => {
  for (const [zone, ...said] of [
    ['Europe/Berlin', ['2026-10-24T23:30:00Z', '01:30'], ['2026-10-25T00:30:00Z', '02:30', 'twice'], ['2026-10-25T01:30:00Z', '02:30', 'twice'], ['2026-10-25T02:00:00Z', '03:00']],
    ['Europe/Berlin', ['2026-03-29T00:30:00Z', '01:30'], ['2026-03-29T01:00:00Z', '03:00']],
    ['Australia/Lord_Howe', ['2026-04-04T14:45:00Z', '01:45', 'twice'], ['2026-04-04T15:15:00Z', '01:45', 'twice'], ['2026-04-04T15:45:00Z', '02:15']],
  ]) {
    setZone(zone)
    for (const [at, clock, twice] of said) assert.ok(twice ? time(at).startsWith(clock + ' ') : time(at) === clock, `${at} in ${zone} is ${time(at)}`)
    assert.equal(new Set(said.map(x => time(x[0]))).size, said.length)
  }
  setZone('Europe/Berlin')
})

test('dates are counted without an hour of the day', () => {
  assert.equal(addDays('2028-02-28', 1), '2028-02-29')
  assert.equal(addDays('2026-12-31', 1), '2027-01-01')
  assert.equal(daysBetween('2026-03-28', '2026-03-30'), 2)
  assert.deepEqual(['2026-11-22', '2026-11-23', '2026-11-29'].map(mondayOf), ['2026-11-16', '2026-11-23', '2026-11-23'])
  assert.equal(weekdayOf('2026-11-22'), 'sunday')
})

test('a countdown ends at nought and is never behind', () => {
  assert.deepEqual([0, -3, 0.2, 59.01, 60, 3599].map(countdown), ['00:00', '00:00', '00:01', '01:00', '01:00', '59:59'])
})
