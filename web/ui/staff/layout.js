// Computes a column of the board from the data: pure functions without a DOM.
//
// A column is one specialist on one date. Its items are {id, kind, from, to, lane, lanes, …} in minutes of the day;
// kind is card, group, busy or ghost. closed contains the spans outside the opening times, each with the word that the
// board shows for it.
import { addDays, dateOf } from '../lib/time.js'
import { dayIn, minutesOf, weekdayOf } from './day.js'
import { gathered } from './group.js'

export const step = 15
// A 5-minute card must still be visible and large enough to press.
const least = 12

// --- opening times
const windowsOn = (hours, date) => {
  const weekly = hours.weekly.filter(w => w.weekday === weekdayOf(date))
  const override = hours.overrides.find(o => o.date === date)
  const minutes = list =>
    list.map(w => ({ from: minutesOf(w.start), to: minutesOf(w.end) })).sort((a, b) => a.from - b.from)
  return {
    open: minutes(override ? (override.closed ? [] : override.hours || []) : weekly),
    usual: minutes(weekly),
    override,
  }
}

// subtract removes one span from a list of spans.
const subtract = (list, cut) =>
  list.flatMap(w =>
    [
      { ...w, to: Math.min(w.to, cut.from) },
      { ...w, from: Math.max(w.from, cut.to) },
    ].filter(x => x.to > x.from),
  )

// blocksOn returns the blocks of a specialist on a day in the clinic's time zone, each as a separate span.
const blocksOn = (hours, day) =>
  hours.blocks
    .filter(b => b.start < day.end && b.end > day.start)
    .map(b => ({
      from: b.start <= day.start ? 0 : day.minuteOf(b.start),
      to: b.end >= day.end ? 1440 : day.minuteOf(b.end),
      word: b.reason || (b.source ? 'elsewhere' : 'blocked'),
      block: b.id,
    }))

// openingOf returns {worked, open, closed} of a specialist on a day in the clinic's time zone: the working hours, the
// working hours without blocks, and the rest of the day. If the specialist is in another time zone, the day covers
// parts of two of the specialist's local dates.
function openingOf(hours, zone, day) {
  if (!hours) return { worked: [], open: [], closed: [] }
  const worked = [],
    lost = [],
    blocks = blocksOn(hours, day)
  const into = (own, w, to) => {
    const from = Math.max(0, own === day ? w.from : day.minuteOf(own.at(w.from)))
    const end = Math.min(1440, own === day ? w.to : day.minuteOf(own.at(w.to)))
    if (end > from) to.push({ ...w, from, to: end })
  }
  const last = dateOf(day.end - 1, zone)
  for (let date = dateOf(day.start, zone); date <= last; date = addDays(date, 1)) {
    const own = zone === day.zone ? day : dayIn(date, zone)
    const { open: windows, usual, override } = windowsOn(hours, date)
    for (const w of windows) into(own, w, worked)
    // If an override removes usual hours, they are closed with the override's reason. The rest of the day is closed as
    // on any other day.
    if (override) {
      const less = windows.reduce(subtract, override.closed && !usual.length ? [{ from: 0, to: 1440 }] : usual)
      for (const w of less) into(own, { ...w, word: override.reason || 'blocked', override: override.id }, lost)
    }
  }
  worked.sort((a, b) => a.from - b.from)
  const gaps = worked.reduce(subtract, [{ from: 0, to: 1440 }])
  const between = g => worked.some(w => w.to <= g.from) && worked.some(w => w.from >= g.to) && g.to - g.from <= 180
  const plain = lost.reduce(subtract, gaps).map(g => ({ ...g, word: between(g) ? 'break' : 'closed' }))
  const free = list => blocks.reduce(subtract, list)
  return {
    worked,
    open: free(worked),
    closed: [...free([...plain, ...lost]), ...blocks].sort((a, b) => a.from - b.from),
  }
}

// ordinary contains the words for time that is closed on every such weekday.
const ordinary = ['closed', 'break']

// reasonOf returns why a specialist is away for the whole day, such as "Sick": the word of the longest closed span.
export function reasonOf({ open, closed }) {
  if (open.length) return ''
  const special = closed.filter(c => !ordinary.includes(c.word)).sort((a, b) => b.to - b.from - (a.to - a.from))
  return special[0]?.word || ''
}

// reasonsIn returns the parts of blocks and days off that no card covers, so that the board can show the reason in each.
export function reasonsIn({ closed, items }) {
  return closed
    .filter(c => !ordinary.includes(c.word))
    .flatMap(c => items.reduce(subtract, [c]))
    .filter(part => part.to - part.from >= step)
}

// freeIn returns the number of open minutes of a column, from a minute of the day onward, that no item covers.
export const freeIn = ({ open, items }, from = 0) =>
  items.reduce(subtract, subtract(open, { from: 0, to: from })).reduce((n, w) => n + w.to - w.from, 0)

// --- lanes: items at the same time share the width of their column
function intoLanes(items) {
  const sorted = [...items].sort((a, b) => a.from - b.from || b.to - a.to || (a.id < b.id ? -1 : 1))
  let group = [],
    ends = [],
    until = -1
  const close = () => {
    for (const item of group) item.lanes = ends.length
  }
  for (const item of sorted) {
    const bottom = Math.max(item.to, item.from + least)
    if (item.from >= until) {
      close()
      group = []
      ends = []
      until = -1
    }
    let lane = ends.findIndex(end => end <= item.from)
    if (lane < 0) lane = ends.length
    ends[lane] = bottom
    item.lane = lane
    group.push(item)
    until = Math.max(until, bottom)
  }
  close()
  return sorted
}

// columnOf returns the contents of one column. The caller must not change the result.
export function columnOf({ day, zone, appointments = [], holds = {}, hours, types = [] }) {
  const opening = openingOf(hours, zone, day)
  const span = x => ({
    from: day.minuteOf(Math.max(x.start, day.start)),
    to: x.end >= day.end ? 1440 : day.minuteOf(x.end),
  })
  const items = gathered(
    appointments.map(a => ({ id: a.id, kind: a.busy ? 'busy' : 'card', of: a, ...span(a) })),
    types,
  )
  for (const h of Object.values(holds))
    if (h.start < day.end && h.end > day.start) items.push({ id: h.id, kind: 'ghost', of: h, ...span(h) })
  return { items: intoLanes(items), ...opening, booked: appointments.length }
}

// rangeOf returns the range of minutes to show: the hours and all items, with one hour before and after them.
export function rangeOf(columns) {
  let from = 1440,
    to = 0
  for (const c of columns) {
    for (const x of [...c.worked, ...c.items]) {
      from = Math.min(from, x.from)
      to = Math.max(to, x.to)
    }
  }
  if (from >= to) [from, to] = [8 * 60, 18 * 60]
  return { from: Math.max(0, Math.floor(from / 60) * 60 - 60), to: Math.min(1440, Math.ceil(to / 60) * 60 + 60) }
}

// --- where a board opens
export const isBare = column => !column.worked.length && !column.items.length
export const isOpen = (columns, at) => columns.some(c => c.open.some(w => w.from <= at && at < w.to))

// opensAt returns the minute to which a board scrolls when it opens. It uses the open hours of the first column, or
// those of all columns if the first column has none. Today it is the current minute if any column is open then,
// otherwise the nearest open time. On another date (now is null) it is the start of the open hours. Without open hours
// it is the earliest hour or item, or 9:00.
export function opensAt(columns, now) {
  const all = columns.flatMap(c => c.open),
    hours = columns[0].open.length ? columns[0].open : all
  const first = list => Math.min(...list.map(x => x.from))
  if (!hours.length) return columns.every(isBare) ? 9 * 60 : first(columns.flatMap(c => [...c.worked, ...c.items]))
  if (now === null) return first(hours)
  if (isOpen(columns, now)) return now
  const nearest = hours.map(w => (now < w.from ? w.from : w.to - step))
  return nearest.sort((a, b) => Math.abs(a - now) - Math.abs(b - now))[0]
}

// --- stops: the positions of the cursor, from the top of the column to its end
// A stop is an item, or the free part of a 15-minute step.
export function stopsOf(column, { from, to }) {
  const stops = column.items
    .filter(i => i.to > from && i.from < to)
    .map(item => ({ at: item.from, end: item.to, item }))
  const covered = []
  for (const { at, end } of stops) {
    const before = covered.at(-1)
    if (before && at <= before.end) before.end = Math.max(before.end, end)
    else covered.push({ at, end })
  }
  let i = 0
  for (let cell = from; cell < to; cell += step) {
    while (i < covered.length && covered[i].end <= cell) i++
    const at = covered[i]?.at <= cell ? covered[i].end : cell
    if (at >= cell + step) continue
    const next = covered.find(c => c.at >= at)?.at ?? to
    if (next - at >= 5) stops.push({ at, end: Math.min(cell + step, next), next: Math.min(next, to) })
  }
  const shut = at => column.closed.find(c => c.from <= at && at < c.to)
  for (const s of stops) s.closed = shut(s.at)
  return stops.sort((a, b) => a.at - b.at || (a.item?.lane ?? 0) - (b.item?.lane ?? 0))
}

// nearest returns the stop at a minute. It prefers an item to a free stop.
export function nearest(stops, at) {
  const here = stops.filter(s => s.at <= at && at < s.end)
  return here.find(s => s.item) || here[0] || stops.find(s => s.at >= at) || stops.at(-1)
}
// freeUntil returns the end of the free time after a stop: the next item or the end of the hours.
export const freeUntil = (column, stop) => {
  const window = column.open.find(w => w.from <= stop.at && stop.at < w.to)
  return Math.min(stop.next, window ? window.to : 1440)
}
