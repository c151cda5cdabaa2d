// Reads a date or a time of day as people type it. typed.js shows the inputs.
import { locale } from './i18n.js'
import { serverNow } from './clock.js'
import { addDays, dateOf, write } from './time.js'

export const two = n => String(n).padStart(2, '0')
const fold = text =>
  text
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .trim()

// readTime returns a time of day as "09:30", or '' if the text is not one.
export function readTime(text) {
  const m = /^(\d{1,2})(?:[:.h ]?([0-5]\d))?\s*(?:h|hs|uhr)?\s*(?:([ap])\.?\s?m?\.?)?$/.exec(fold(text))
  if (!m) return ''
  const [, hour, minute = '00', half] = m
  if (half && (+hour < 1 || +hour > 12)) return ''
  const h = half ? (+hour % 12) + (half === 'p' ? 12 : 0) : +hour
  return h < 24 ? `${two(h)}:${minute}` : ''
}

// named returns the name of each date in a style (the weekday or the month), in the page's language and in English.
const named = (style, dates) =>
  dates.map(date => [
    fold(write(style, date)),
    fold(
      new Intl.DateTimeFormat('en', {
        ...(style === 'weekdayLong' ? { weekday: 'long' } : { month: 'long' }),
        timeZone: 'UTC',
      }).format(Date.parse(date)),
    ),
  ])
const starts = (all, word) => all.findIndex(names => names.some(name => name.startsWith(word)))
const monthFirst = () =>
  new Intl.DateTimeFormat(locale).formatToParts(new Date(0)).find(p => p.type === 'month' || p.type === 'day')?.type ===
  'month'

// readDate returns a date as "2026-11-23", or '' if the text is not one. A day without a month is the next such day. A
// day and month without a year are in this year, or in the next year if that date was more than 183 days ago.
export function readDate(text, today = dateOf(serverNow())) {
  const said = fold(text).replace(/,/g, ' ')
  if (/^\d{4}-\d\d-\d\d$/.test(said)) return real(said)
  for (const days of [0, 1, 2, -1]) {
    const words = [locale, 'en'].map(x => fold(new Intl.RelativeTimeFormat(x, { numeric: 'auto' }).format(days, 'day')))
    if (said.length > 2 && words.some(w => w.startsWith(said))) return addDays(today, days)
  }
  const ahead = /^\+(\d{1,3})$/.exec(said)
  if (ahead) return addDays(today, +ahead[1])
  const week = [0, 1, 2, 3, 4, 5, 6].map(n => addDays(today, n))
  if (/^\p{L}{2,}\.?$/u.test(said)) {
    const i = starts(named('weekdayLong', week), said.replace('.', ''))
    return i < 0 ? '' : week[i]
  }
  const rest = said.replace(/^\p{L}{2,}\.?\s+(?=\d)/u, '') // "thu 26 nov", as the input writes it
  const m =
    /^(\d{1,2})(?:\.?\s*(?:de\s+)?(\p{L}{3,})\.?|([./ -])(\d{1,2})\.?)?(?:[./ -]?\s*(?:de\s+)?(\d{4}|\d\d))?$/u.exec(
      rest,
    )
  if (!m) return ''
  const [, first, word, mark, second, last] = m
  let day = +first,
    month = +today.slice(5, 7)
  if (word)
    month =
      1 +
      starts(
        named(
          'monthOnly',
          [...Array(12)].map((_, i) => `2026-${two(i + 1)}-15`),
        ),
        word,
      )
  else if (second) [day, month] = monthFirst() && mark === '/' ? [+second, +first] : [+first, +second]
  const year = last ? (last.length === 2 ? 2000 + +last : +last) : +today.slice(0, 4)
  const date = real(`${year}-${two(month)}-${two(day)}`)
  if (!date || last || date >= today) return date
  if (!word && !second) return real(addMonth(date)) // only a day: of this month or the next
  return Date.parse(today) - Date.parse(date) > 183 * 864e5 ? real(`${year + 1}${date.slice(4)}`) : date
}
const real = text => {
  const at = new Date(text + 'T00:00Z')
  return !isNaN(+at) && at.toISOString().slice(0, 10) === text ? text : ''
}
const addMonth = date => {
  const [y, m, d] = date.split('-').map(Number)
  return m === 12 ? `${y + 1}-01-${two(d)}` : `${y}-${two(m + 1)}-${two(d)}`
}
