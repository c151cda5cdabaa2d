// Formats instants in one zone: the clinic's, unless another is set. Local dates are "2026-11-23", as on the wire;
// their arithmetic never uses an instant.
import { boot } from './boot.js'
import { serverNow } from './clock.js'
import { locale, t } from './i18n.js'

export let zone = boot.clinic.timezone
export const setZone = z => {
  zone = z || zone
}

const styles = {
  time: { hour: '2-digit', minute: '2-digit' },
  timeTwice: { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
  weekday: { weekday: 'short' },
  day: { day: 'numeric' },
  month: { month: 'long', year: 'numeric' },
  monthOnly: { month: 'long' },
  dayNumber: { weekday: 'short', day: 'numeric' },
  column: { weekday: 'short', day: 'numeric', month: 'short' },
  shortDay: { weekday: 'short', day: 'numeric', month: 'short' },
  shortYear: { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' },
  weekdayLong: { weekday: 'long' },
  dayMonth: { day: 'numeric', month: 'short' },
  shortLong: { weekday: 'short', day: 'numeric', month: 'long' },
  longDay: { weekday: 'long', day: 'numeric', month: 'long' },
  numeric: { day: '2-digit', month: '2-digit', year: 'numeric' },
  fullDay: { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' },
  fields: { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
}
const made = new Map()
const formatter = (style, tz) => {
  const key = style + tz
  if (!made.has(key)) {
    const fields = style === 'fields'
    made.set(key, new Intl.DateTimeFormat(fields ? 'en-GB' : locale, { ...styles[style], timeZone: tz }))
  }
  return made.get(key)
}

// The styles that add the year to a date that is not in this year, and the style with the year. The head of a column
// has no room for it: its page shows the year in the heading.
const yearly = { shortDay: 'shortYear', longDay: 'fullDay' }
const isDate = when => typeof when === 'string' && when.length === 10
// write formats an instant (ISO text or milliseconds) or a local date in one of the styles above.
export function write(style, when, tz = zone) {
  const full = yearly[style]
  if (full && !isThisYear(isDate(when) ? when : dateOf(when, tz))) style = full
  return isDate(when) ? formatter(style, 'UTC').format(Date.parse(when)) : formatter(style, tz).format(new Date(when))
}
// A page needs the date of the same few hundred instants again and again, so the results are cached.
const known = new Map()
const fields = (instant, tz = zone) => {
  const key = tz + instant
  if (!known.has(key)) {
    if (known.size > 5000) known.clear()
    known.set(
      key,
      Object.fromEntries(
        formatter('fields', tz)
          .formatToParts(new Date(instant))
          .map(p => [p.type, p.value]),
      ),
    )
  }
  return known.get(key)
}

export const dateOf = (instant, tz) => {
  const f = fields(instant, tz)
  return `${f.year}-${f.month}-${f.day}`
}
export const hhmm = (instant, tz) => {
  const f = fields(instant, tz)
  return `${f.hour}:${f.minute}`
}
export const addDays = (date, n) => new Date(Date.parse(date) + n * 864e5).toISOString().slice(0, 10)
export const daysBetween = (a, b) => Math.round((Date.parse(b) - Date.parse(a)) / 864e5)

export const partOfDay = instant => {
  const h = +fields(instant).hour
  return h < 12 ? 'morning' : h < 17 ? 'afternoon' : 'evening'
}
// On the day that the clocks go back, some times occur twice. Those are shown with their zone.
const isTwice = instant => [-36e5, -18e5, 18e5, 36e5].some(off => hhmm(+new Date(instant) + off) === hhmm(instant))
export const time = instant => write(isTwice(instant) ? 'timeTwice' : 'time', instant)
export const range = (start, end) => t('range', { from: time(start), to: time(end) })
export const dayAndTime = instant => t('day.time', { day: write('shortDay', instant), time: time(instant) })
// near writes a time as short as possible but unambiguous: "10:00" on the same day, "Tue 09:00" within a week,
// otherwise with the date.
export const near = (instant, date) => {
  const own = dateOf(instant)
  if (own === date) return time(instant)
  return Math.abs(daysBetween(own, date)) < 7
    ? t('near', { day: write('weekday', instant), time: time(instant) })
    : dayAndTime(instant)
}
// soon writes "Thu 26, 09:00". It adds the month if it is not the month of date.
export const soon = (instant, date) =>
  dateOf(instant).slice(0, 7) === date.slice(0, 7)
    ? t('day.time', { day: write('dayNumber', instant), time: time(instant) })
    : dayAndTime(instant)
export const countdown = seconds => {
  const s = Math.max(0, Math.ceil(seconds))
  return `${String(Math.floor(s / 60)).padStart(2, '0')}:${String(s % 60).padStart(2, '0')}`
}

// foreignZone returns the zone's name if the reader's own clock shows another time at that moment, and '' otherwise.
export function foreignZone(instant) {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone
  if (!own || own === zone || hhmm(instant, own) + dateOf(instant, own) === hhmm(instant) + dateOf(instant)) return ''
  const name = new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: 'long' })
    .formatToParts(new Date(instant))
    .find(p => p.type === 'timeZoneName')?.value
  return name || zone
}

// isThisYear reports whether a local date is in this year. Each minute needs one entry of the cache.
export const isThisYear = date => date.slice(0, 4) === dateOf(serverNow() - (serverNow() % 6e4)).slice(0, 4)
// shortDate writes a local date as "Mon 23 Nov".
export const shortDate = date => write('shortDay', date)
