import './page.js'
import test from 'node:test'
import * as assert from 'node:assert/strict'
import { readDate, readTime } from '../ui/lib/readdate.js'

test('a time of day is read as people type it', () => {
  for (const [typed, want] of [
    ['9', '09:00'], ['930', '09:30'], ['9:30', '09:30'], ['9.30', '09:30'], ['9h30', '09:30'], ['0930', '09:30'], ['1430', '14:30'],
    ['2pm', '14:00'], ['12 am', '00:00'], ['14 Uhr', '14:00'], ['', ''], ['25', ''], ['9:75', ''], ['noon', ''], ['13 pm', ''],
  ]) assert.equal(readTime(typed), want, typed)
})

test('a date is read as people type it', () => {
  const today = '2026-11-23' // a Monday
  for (const [typed, want] of [
    ['2026-12-01', '2026-12-01'], ['today', today], ['tomorrow', '2026-11-24'], ['tom', '2026-11-24'], ['+3', '2026-11-26'],
    ['fri', '2026-11-27'], ['mon', today], ['26', '2026-11-26'], ['5', '2026-12-05'], ['26.11.', '2026-11-26'],
    ['26 nov', '2026-11-26'], ['Thu 26 Nov', '2026-11-26'], ['5 january', '2027-01-05'], ['3.1.2028', '2028-01-03'],
    ['Wed 5 Jan 2028', '2028-01-05'], ['31.2.', ''], ['', ''], ['soon', ''],
  ]) assert.equal(readDate(typed, today), want, typed)
})
