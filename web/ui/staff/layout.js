// What a column of the board shows, from what is known: pure functions, without a page.
//
// A column is one specialist on one date. Its items are {id, kind, from, to, lane, lanes, …} in minutes
// of the day, kind card | group | busy | ghost; closed are the stretches without opening time, with the word
// to say about them.
import { addDays, dateOf } from '../lib/time.js'
import { dayIn, minutesOf, weekdayOf } from './day.js'
import { gathered } from './group.js'

export const step = 15
// A card of five minutes still has to be seen and hit.
const least = 12

// --- opening times
const windowsOn = (hours, date) => {
  const weekly = hours.weekly.filter(w => w.weekday === weekdayOf(date))
  const override = hours.overrides.find(o => o.date === date)
  const minutes = list => list.map(w => ({ from: minutesOf(w.start), to: minutesOf(w.end) })).sort((a, b) => a.from - b.from)
  return { open: minutes(override ? override.closed ? [] : override.hours || [] : weekly), usual: minutes(weekly), override }
}

// subtract takes one stretch out of a list of them.
const subtract = (list, cut) => list.flatMap(w => [
  { ...w, to: Math.min(w.to, cut.from) }, { ...w, from: Math.max(w.from, cut.to) },
].filter(x => x.to > x.from))

// blocksOn are the blocks of a specialist that fall into a day of the clinic, each a stretch of its own.
const blocksOn = (hours, day) => hours.blocks.filter(b => b.start < day.end && b.end > day.start).map(b => ({
  from: b.start <= day.start ? 0 : day.minuteOf(b.start), to: b.end >= day.end ? 1440 : day.minuteOf(b.end), word: b.reason || (b.source ? 'elsewhere' : 'blocked'), block: b.id,
}))

// openingOf gives a specialist's opening time on a day of the clinic, {worked, open, closed}: the hours, what blocks leave
// of them, and the rest of the day. The specialist may live in another zone: then parts of two local dates fall into the day.
export function openingOf(hours, zone, day) {
  if (!hours) return { worked: [], open: [], closed: [] }
  const worked = [], lost = [], blocks = blocksOn(hours, day)
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
    // What an override took away is closed for a reason; the rest is as on any such day.
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
  return { worked, open: free(worked), closed: [...free([...plain, ...lost]), ...blocks].sort((a, b) => a.from - b.from) }
}

// --- lanes: things at the same time share the width of their column
export function intoLanes(items) {
  const sorted = [...items].sort((a, b) => a.from - b.from || b.to - a.to || (a.id < b.id ? -1 : 1))
  let group = [], ends = [], until = -1
  const close = () => { for (const item of group) item.lanes = ends.length }
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

// columnOf is everything of one column; none of its parts may be changed.
export function columnOf({ day, zone, appointments = [], holds = {}, hours, types = [] }) {
  const opening = openingOf(hours, zone, day)
  const span = x => ({ from: day.minuteOf(Math.max(x.start, day.start)), to: x.end >= day.end ? 1440 : day.minuteOf(x.end) })
  const items = gathered(appointments.map(a => ({ id: a.id, kind: a.busy ? 'busy' : 'card', of: a, ...span(a) })), types)
  for (const h of Object.values(holds)) if (h.start < day.end && h.end > day.start) items.push({ id: h.id, kind: 'ghost', of: h, ...span(h) })
  return { items: intoLanes(items), ...opening, booked: appointments.length }
}

// rangeOf is what of the day is worth showing: the hours and everything booked, an hour around it.
export function rangeOf(columns) {
  let from = 1440, to = 0
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

// opensAt is the minute to open at, on hours that are worked: the present if somebody works then, else the nearest such
// hour; on another date (now is null) where the work begins. Without any it is the first thing that there is.
export function opensAt(columns, now) {
  const all = columns.flatMap(c => c.open), hours = columns[0].open.length ? columns[0].open : all
  const first = list => Math.min(...list.map(x => x.from))
  if (!hours.length) return columns.every(isBare) ? 9 * 60 : first(columns.flatMap(c => [...c.worked, ...c.items]))
  if (now === null) return first(hours)
  if (isOpen(columns, now)) return now
  const nearest = hours.map(w => now < w.from ? w.from : w.to - step)
  return nearest.sort((a, b) => Math.abs(a - now) - Math.abs(b - now))[0]
}

// --- stops: where the cursor can stand, from the top of the column to its end
// A stop is an item, or the free rest of a quarter of an hour.
export function stopsOf(column, { from, to }) {
  const stops = column.items.filter(i => i.to > from && i.from < to).map(item => ({ at: item.from, end: item.to, item }))
  const covered = []
  for (const { at, end } of stops) {
    const before = covered.at(-1)
    if (before && at <= before.end) before.end = Math.max(before.end, end); else covered.push({ at, end })
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

// nearest finds the stop at a minute, what is booked there before what is free.
export function nearest(stops, at) {
  const here = stops.filter(s => s.at <= at && at < s.end)
  return here.find(s => s.item) || here[0] || stops.find(s => s.at >= at) || stops.at(-1)
}
// freeUntil is where the free stretch after a stop ends, by what is booked and by the hours.
export const freeUntil = (column, stop) => {
  const window = column.open.find(w => w.from <= stop.at && stop.at < w.to)
  return Math.min(stop.next, window ? window.to : 1440)
}
