// Converts between instants and minutes of the wall clock on a local day. 9:00 has the same height on the board every
// day, even when the clocks change. These functions are pure; days are cached by date and zone.
import { addDays, dateOf, hhmm, write } from '../lib/time.js'

const minute = 6e4
// wall returns the local time at an instant, as if it were UTC.
const wall = (ms, zone) => Date.parse(`${dateOf(ms, zone)}T${hhmm(ms, zone)}Z`)
const offset = (ms, zone) => wall(ms, zone) - Math.floor(ms / minute) * minute

// startOf returns the first instant of a date. If the clocks skip midnight, it is the instant after the skip.
function startOf(date, zone) {
  const utc = Date.parse(date)
  const tries = [utc - offset(utc - 864e5, zone), utc - offset(utc + 864e5, zone)]
  const real = tries.filter(ms => wall(ms, zone) === utc)
  return real.length ? Math.min(...real) : Math.max(...tries)
}

const made = new Map()

// dayIn returns {date, zone, start, end, minuteOf(ms), at(minute), has(ms)}; start and end are in milliseconds.
export function dayIn(date, zone) {
  const key = date + zone
  if (made.has(key)) return made.get(key)
  const start = startOf(date, zone),
    end = startOf(addDays(date, 1), zone)
  const first = offset(start, zone),
    shift = (offset(end - minute, zone) - first) / minute
  const base = Math.round((wall(start, zone) - Date.parse(date)) / minute)
  let change = Infinity
  if (shift) {
    let before = start
    change = end - minute
    while (change - before > minute) {
      const middle = Math.floor((before + change) / 2 / minute) * minute
      if (offset(middle, zone) === first) before = middle
      else change = middle
    }
  }
  const day = {
    date,
    zone,
    start,
    end,
    minuteOf: ms => base + (ms - start) / minute + (ms >= change ? shift : 0),
    // If the clocks skip a local time, at returns the instant after the skip. If a local time occurs twice, it returns
    // the first instant. The server applies the same rule.
    at(m) {
      const plain = start + (m - base) * minute,
        shifted = plain - shift * minute
      return plain >= change && shifted >= change ? shifted : plain
    },
    has: ms => ms >= start && ms < end,
  }
  made.set(key, day)
  return day
}

// clock returns the text for a minute of the day, such as 09:00. 24:00 has the same text as midnight.
const clocks = []
export const clock = m => (clocks[m] ??= write('time', Date.UTC(2000, 0, 1) + m * minute, 'UTC'))

// "09:30" ⇄ 570. "09:30" is the format of <input type="time"> and of hours in the API.
export const minutesOf = text => +text.slice(0, 2) * 60 + +text.slice(3, 5)
export const textOf = m => `${String(Math.floor(m / 60)).padStart(2, '0')}:${String(m % 60).padStart(2, '0')}`

const names = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
export const weekdayOf = date => names[new Date(date).getUTCDay()]
export const mondayOf = date => addDays(date, -((new Date(date).getUTCDay() + 6) % 7))
