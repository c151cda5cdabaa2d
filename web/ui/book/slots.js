// The current state of the times: the server's list of slots with the live events applied to it. Every function here is
// pure; calendar.js passes in the events. Instants are ISO text, as in the API.
//
// The list (timeslots) already takes into account the holds at the moment of its answer, while the stream sends every
// hold. So each fetched day stores the holds that were known around its answer (`then`). If the list omitted a
// specialist because of one of these holds, the specialist is added again when that hold ends.
import { addDays, dateOf } from '../lib/time.js'

const ms = Date.parse

export const empty = type => ({
  type,
  days: {}, // date → { slots, then }: as fetched; then is null while the holds are unknown
  seen: {}, // shown date → starts in the order shown; a time keeps its place while its day is shown
  holds: {}, // holdId → others' live holds
  known: false, // whether holds is complete: from a snapshot until the stream breaks
  incoming: null, // a snapshot that is still arriving
  gone: [], // intervals booked since their day was fetched
  // specialist + start → how many other clients are looking at it; the server sends an event when each begins or ends
  looks: {},
  polled: null, // { date, looking }: looks by polling, while there is no stream
  tints: {}, // start → when the time became free again
  generation: null,
  stale: [], // what to fetch again: dates, or '*' for all
})

const part = e => ({
  id: e.holdId,
  typeId: e.appointmentTypeId,
  specialistId: e.specialistId,
  start: ms(e.slotStartDate),
  end: ms(e.slotEndDate),
  busyStart: ms(e.busyStartDate || e.slotStartDate),
  busyEnd: ms(e.busyEndDate || e.slotEndDate),
})
const interval = (slot, type) => ({
  typeId: type.id,
  start: ms(slot.start),
  end: ms(slot.end),
  busyStart: ms(slot.start) - (type.bufferBeforeMinutes || 0) * 6e4,
  busyEnd: ms(slot.end) + (type.bufferAfterMinutes || 0) * 6e4,
})
const datesOf = e => [...new Set([dateOf(e.slotStartDate), dateOf(ms(e.slotEndDate) - 1)])]
const lookOf = e => (e.specialistId || '*') + ' ' + ms(e.slotStartDate)
const without = (map, key) => {
  const { [key]: _, ...rest } = map
  return rest
}
const startsOn = (s, date) => s.days[date].slots.map(x => x.start)
const again = (s, dates) => ({ ...s, stale: [...new Set([...s.stale, ...dates])] })

// overlap is the same predicate as the double-booking guarantee, buffers included. Seats of one session do not
// conflict.
const sameSession = (a, b) => a.typeId === b.typeId && a.start === b.start && a.end === b.end
const overlap = (a, b) => (a.busyStart < b.end && b.start < a.busyEnd) || (a.start < b.busyEnd && b.busyStart < a.end)
const isGroup = s => s.type.capacity > 1
const against = (list, at, group) => list.filter(b => overlap(b, at) && !(group && sameSession(b, at)))
const idsOf = list => new Set(list.map(b => b.specialistId))
const seats = (list, at) => list.filter(b => sameSession(b, at)).length

// reduce returns the state after one event. `now` is milliseconds on the server's clock.
export function reduce(s, e, now) {
  switch (e.type) {
    case 'init':
      return { ...s, incoming: {} }
    case 'connected':
      return connected(s, e)
    case 'broken':
      return { ...s, known: false, incoming: null }
    case 'hold':
      if (e.isOwnHold) return s
      return s.incoming
        ? { ...s, incoming: { ...s.incoming, [e.holdId]: part(e) } }
        : { ...s, holds: { ...s.holds, [e.holdId]: part(e) } }
    case 'release':
      return s.holds[e.holdId] ? released(s, e, now) : s
    case 'confirm':
      return again(
        {
          ...s,
          holds: without(s.holds, e.holdId),
          gone: [...s.gone, { ...part(e), at: now }],
        },
        datesOf(e),
      )
    case 'cancel':
      return again(s, datesOf(e))
    case 'availability':
      return again(s, ['*'])
    case 'select':
      return looked(s, e, 1)
    case 'deselect':
      return looked(s, e, -1)
    case 'polled':
      return { ...s, polled: { date: e.date, looking: new Set(e.looking) } }
    case 'loaded':
      return loaded(s, e)
    case 'fetching': {
      // If all days are stale, drop those outside [from, to). The page fetches them again when it shows them.
      const kept = e.from ? Object.fromEntries(Object.entries(s.days).filter(([d]) => e.from <= d && d < e.to)) : s.days
      return { ...s, stale: [], days: kept }
    }
    case 'opened':
      // The page shows another day, so the order of its times starts from scratch.
      return { ...s, seen: s.days[e.date] ? { [e.date]: startsOn(s, e.date) } : {} }
    case 'ahead':
      // The page also shows the days e.dates.
      return {
        ...s,
        seen: { ...Object.fromEntries(e.dates.map(d => [d, s.seen[d] || startsOn(s, d)])), [e.date]: s.seen[e.date] },
      }
  }
  return s
}

function looked(s, e, by) {
  const at = lookOf(e),
    n = (s.looks[at] || 0) + by
  if (e.isOwnHold) return s
  return { ...s, looks: n > 0 ? { ...s.looks, [at]: n } : without(s.looks, at) }
}

function connected(s, e) {
  const holds = s.incoming || {}
  const list = Object.values(holds)
  const days = {},
    unsure = []
  for (const [date, day] of Object.entries(s.days)) {
    days[date] = day.then ? day : { ...day, then: list }
    // Fetch the day again if the list counts more holds than the snapshot contains. Then a hold ended between the two,
    // and its time would look held forever.
    if (!day.then && day.slots.some(x => idsOf(against(list, interval(x, s.type))).size < x.held)) unsure.push(date)
  }
  const moved = s.generation != null && e.generation !== s.generation
  return again({ ...s, holds, days, known: true, incoming: null, polled: null, looks: {} }, moved ? ['*'] : unsure)
}

function released(s, e, now) {
  const freed = part(e)
  const next = { ...s, holds: without(s.holds, e.holdId), tints: { ...s.tints } }
  const unsure = datesOf(e).filter(date =>
    (s.days[date]?.slots || []).some(slot => {
      const at = interval(slot, s.type)
      if (!overlap(freed, at)) return false
      next.tints[slot.start] = now
      // If the list does not show which specialist's time became free, fetch it again.
      return isGroup(s) ? !sameSession(freed, at) : view(next, slot, now).status === 'held'
    }),
  )
  return again(next, unsure)
}

// before: the holds that were known when the page sent the request. sent: the server's clock at that moment.
function loaded(s, { answer, open, before, sent }) {
  const then = s.known ? [...before, ...Object.values(s.holds)] : null
  // Without the stream, only the list is correct, even for the days that are already loaded.
  const days = s.known
    ? { ...s.days }
    : Object.fromEntries(Object.entries(s.days).map(([d, day]) => [d, { ...day, then: null }]))
  for (let d = answer.from; d < answer.to; d = addDays(d, 1)) days[d] = { slots: [], then }
  for (const slot of answer.slots) days[dateOf(slot.start)]?.slots.push(slot)
  const seen = { ...s.seen }
  for (const date of new Set([open, ...Object.keys(seen)])) {
    if (days[date])
      seen[date] = [...new Set([...(seen[date] || []), ...startsOn({ days }, date)])].sort((a, b) => ms(a) - ms(b))
  }
  const inside = g => dateOf(g.start) >= answer.from && dateOf(g.start) < answer.to
  return {
    ...s,
    days,
    seen,
    holds: s.known ? s.holds : {},
    generation: answer.generation,
    gone: s.gone.filter(g => !(inside(g) && g.at <= sent)),
  }
}

// view returns the state of one slot for the page: {start, end, status, left, looking, tint, specialistIds}.
// status: free | held | taken | late.
export function view(s, slot, now) {
  const at = interval(slot, s.type),
    group = isGroup(s)
  const live = Object.values(s.holds),
    then = s.days[dateOf(slot.start)]?.then || []
  const ids = new Set(slot.specialistIds),
    back = idsOf(against(then, at, group))
  // Add the specialists again only if there are at most as many as the list counted as held.
  if (!group && back.size <= slot.held) back.forEach(id => ids.add(id))
  const held = idsOf(against(live, at, group)),
    gone = idsOf(against(s.gone, at, group))
  const free = [...ids].filter(id => !held.has(id) && !gone.has(id))

  let left = free.length
  if (group && left) left = Math.max(0, slot.available + seats(then, at) - seats(live, at) - seats(s.gone, at))
  let status = 'free'
  if (at.start < now + (s.type.minNoticeMinutes || 0) * 6e4) status = 'late'
  else if (!left) status = [...ids].some(id => held.has(id)) || (slot.held && !gone.size) ? 'held' : 'taken'
  if (status !== 'free') left = 0
  const looking =
    left > 0 && (s.polled ? s.polled.looking.has(slot.start) : [...free, '*'].some(id => s.looks[id + ' ' + at.start]))
  return {
    start: slot.start,
    end: slot.end,
    status,
    left,
    looking,
    tint: left > 0 && now - (s.tints[slot.start] || 0) < 1000,
    specialistIds: free,
  }
}

// viewDay returns the day's times in the order in which the page shows them. Times that have disappeared keep their
// place.
export function viewDay(s, date, now) {
  const day = s.days[date]
  if (!day) return []
  const by = new Map(day.slots.map(x => [x.start, x]))
  return (s.seen[date] || [...by.keys()]).map(start =>
    by.has(start)
      ? view(s, by.get(start), now)
      : {
          start,
          end: start,
          left: 0,
          looking: false,
          tint: false,
          specialistIds: [],
          status: ms(start) < now + (s.type.minNoticeMinutes || 0) * 6e4 ? 'late' : 'taken',
        },
  )
}
export const freeOn = (s, date, now) => (s.days[date]?.slots || []).map(x => view(s, x, now)).filter(x => x.left > 0)

// nearest returns up to n free times around a start, in order of time.
export function nearest(s, start, n, now) {
  const far = x => Math.abs(ms(x.start) - ms(start))
  return Object.keys(s.days)
    .flatMap(date => freeOn(s, date, now))
    .filter(x => x.start !== start)
    .sort((a, b) => far(a) - far(b))
    .slice(0, n)
    .sort((a, b) => ms(a.start) - ms(b.start))
}
