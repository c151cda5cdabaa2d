// The state of the console, and reduce, which applies every event to it. reduce is pure. An unchanged part keeps its
// identity, so a change in one column does not render the other columns.
//
//   cells   {"2026-11-23 ada": [appointment…]}: one specialist's confirmed appointments of one date, by start, each
//           with start and end in milliseconds; a colleague's appointment is only {busy: true}
//   loaded  {"2026-11-23": when} or, for one specialist, {"2026-11-23 ada": when}: the cells that are complete
//   hours   {ada: {weekly, overrides, blocks}}; a block has start and end in milliseconds
//   holds   {ada: {holdId: hold}}: live holds, without names
//   changed {appointmentId: {at, version}}: the recent changes of this page; same clock as loaded
//   stale   dates to load again because the stream sent a change; '*' for all. staleHours: the same for calendars
//   requests  the bookings that wait for the desk or the patient; asked: the number that the desk can confirm
//   news    recent online bookings, moves and cancellations, newest first; staleNews: there are more
import { addDays, dateOf, zone } from '../lib/time.js'
import { dayIn } from './day.js'

export const empty = {
  me: null,
  specialists: [],
  types: [],
  hours: {},
  cells: {},
  loaded: {},
  holds: {},
  snapshot: null,
  changed: {},
  stale: [],
  staleHours: [],
  requests: [],
  news: [],
  staleNews: false,
  link: '',
  connections: 0,
  scope: null,
  asOf: 0,
  problem: null,
  locked: '',
  dialog: null,
  toast: null,
}
export const cell = (date, specialistId) => date + ' ' + specialistId
const scopeKey = (date, specialistId) => date + (specialistId ? ' ' + specialistId : '')

const ms = Date.parse
export const appointmentOf = raw => ({ ...raw, start: ms(raw.slotStartDate), end: ms(raw.slotEndDate) })
const blockOf = raw => ({ ...raw, start: ms(raw.start), end: ms(raw.end) })
const calendarOf = c => ({ weekly: c.weeklyHours, overrides: c.overrides, blocks: c.blocks.map(blockOf) })
const holdOf = (e, now) => ({
  id: e.holdId,
  specialistId: e.specialistId,
  typeId: e.appointmentTypeId,
  start: ms(e.slotStartDate),
  end: ms(e.slotEndDate),
  expires: ms(e.holdExpiresAt),
  seen: now,
  own: Boolean(e.isOwnHold),
})
// waitsFor returns the person whose decision a held time waits for: 'desk' or 'patient' if the time belongs to a request,
// and '' if a patient is booking it at this moment. The server's events about holds do not name requests.
const waitsFor = (requests, h) => {
  const r = requests.find(x => x.specialistId === h.specialistId && ms(x.slotStartDate) === h.start)
  return r ? (r.byMail || r.wantedStartDate ? 'patient' : 'desk') : ''
}
const marked = (s, h) => ({ ...h, waits: waitsFor(s.requests, h) })
// taking returns the time during which an appointment uses a room or a device, for the column of that resource.
const taking = (a, id) => ({ ...a, id: a.id + '@' + id, of: a.id, specialistId: id, busy: true })
const placed = a => [a, ...(a.resourceIds || []).map(id => taking(a, id))]
const byStart = (a, b) => a.start - b.start || (a.id < b.id ? -1 : 1)

export function find(s, id) {
  for (const list of Object.values(s.cells)) {
    const a = list.find(x => x.id === id)
    if (a) return a
  }
}
// isLoaded reports whether a date is loaded, for one specialist or for all.
export const isLoaded = (s, date, specialistId) => Boolean(s.loaded[date] || s.loaded[scopeKey(date, specialistId)])

// --- appointments
function withList(s, e) {
  const known = new Map()
  for (const list of Object.values(s.cells)) for (const a of list) known.set(a.id, a)
  const cells = { ...s.cells },
    fresh = {},
    loaded = { ...s.loaded }
  const ids = e.specialistId
    ? [e.specialistId]
    : [...new Set([...s.specialists.map(x => x.id), ...e.appointments.map(a => a.specialistId)])]
  const dates = []
  for (let date = e.from; date < e.to; date = addDays(date, 1)) {
    // If two answers contain one cell, the answer to the later request wins. One may be for all specialists and the
    // other for one of them.
    if (loaded[date] > e.at || loaded[scopeKey(date, e.specialistId)] > e.at) continue
    dates.push(dayIn(date, zone))
    loaded[scopeKey(date, e.specialistId)] = e.at
    for (const id of ids) if (!(loaded[scopeKey(date, id)] > e.at)) fresh[cell(date, id)] = []
  }
  // If this page changed an appointment after it sent the request, the answer may show the state before the change. So
  // keep this page's state, unless the answer has a newer version, and load the date once more.
  const later = id => s.changed[id]?.at > e.at,
    unsure = new Set()
  const passed = a => {
    unsure.add(dateOf(a.start))
  }
  const put = a => {
    const day = dates.find(d => d.has(a.start))
    for (const x of placed(a)) fresh[day && cell(day.date, x.specialistId)]?.push(x)
  }
  const newer = new Set(e.appointments.filter(raw => raw.version > s.changed[raw.id]?.version).map(raw => raw.id))
  for (const a of known.values())
    if (later(a.id) && !newer.has(a.id)) {
      put(a)
      passed(a)
    }
  for (const raw of e.appointments) {
    if (later(raw.id) && !newer.has(raw.id)) {
      passed(appointmentOf(raw))
      continue
    }
    const old = known.get(raw.id)
    // If this page changed the appointment while the request was running, the answer is older than the change.
    if (old && old.version > raw.version) {
      if (old.status === 'confirmed') put(old)
    } else put(old?.version === raw.version ? old : appointmentOf(raw))
  }
  for (const [i, b] of (e.busy || []).entries())
    put({ ...b, ...appointmentOf(b), id: `busy-${b.specialistId}-${b.slotStartDate}-${i}`, busy: true })
  for (const [key, list] of Object.entries(fresh)) {
    const old = cells[key]
    const same =
      old &&
      old.length === list.length &&
      list.every(
        (a, i) =>
          a === old[i] || (a.busy && a.start === old[i].start && a.end === old[i].end && a.version === old[i].version),
      )
    if (!same) cells[key] = list.sort(byStart)
  }
  return {
    ...s,
    cells,
    loaded,
    stale: [...unsure].reduce(add, s.stale),
    holds: withoutDone(s.holds),
    asOf: e.asOf,
    problem: null,
  }
}
const remembered = 2 * 60e3 // longer than any request takes
// withAppointment puts an appointment into the state. It ignores an answer that is older than the known state.
function withAppointment(s, { appointment, at }) {
  if (Math.max(find(s, appointment.id)?.version || 0, s.changed[appointment.id]?.version || 0) > appointment.version)
    return s
  const a = appointmentOf(appointment),
    cells = { ...s.cells }
  for (const [key, list] of Object.entries(cells))
    if (list.some(x => x.id === a.id || x.of === a.id)) cells[key] = list.filter(x => x.id !== a.id && x.of !== a.id)
  for (const x of a.status === 'confirmed' ? placed(a) : []) {
    const key = cell(dateOf(a.start), x.specialistId)
    if (cells[key]) cells[key] = [...cells[key], x].sort(byStart)
  }
  const changed = Object.fromEntries(Object.entries(s.changed).filter(([, x]) => x.at > at - remembered))
  return { ...s, cells, changed: { ...changed, [a.id]: { at, version: a.version } } }
}

// --- holds
const withHold = (holds, h) => ({ ...holds, [h.specialistId]: { ...holds[h.specialistId], [h.id]: h } })
function withoutHold(holds, { specialistId, holdId }) {
  if (!holds[specialistId]?.[holdId]) return holds
  const { [holdId]: gone, ...rest } = holds[specialistId]
  return { ...holds, [specialistId]: rest }
}
// A booked hold stays visible, marked as done, until the appointment replaces it.
function bookedHold(s, e) {
  const h = s.holds[e.specialistId]?.[e.holdId]
  const there = s.cells[cell(dateOf(e.slotStartDate), e.specialistId)]?.some(a => a.start === ms(e.slotStartDate))
  return !h || h.own || there ? withoutHold(s.holds, e) : withHold(s.holds, { ...h, done: true })
}
const withoutDone = holds =>
  Object.values(holds).some(all => Object.values(all).some(h => h.done))
    ? Object.fromEntries(
        Object.entries(holds).map(([id, all]) => [
          id,
          Object.fromEntries(Object.entries(all).filter(([, h]) => !h.done)),
        ]),
      )
    : holds
const add = (list, x) => (list.includes(x) ? list : [...list, x])

// changes contains the kinds of changes that can be news. The server does not report the desk's own changes as news.
const changes = ['created', 'rescheduled', 'cancelled', 'undone']

function heard(s, e) {
  switch (e.type) {
    case 'init':
      return { ...s, snapshot: {} }
    case 'connected':
      // Load the changes that the page missed while it had no stream. start() loads the first schedule itself.
      return {
        ...s,
        holds: s.snapshot || s.holds,
        snapshot: null,
        connections: s.connections + 1,
        stale: add(s.stale, '*'),
        staleHours: s.ready ? add(s.staleHours, '*') : s.staleHours,
        staleNews: true,
      }
    case 'hold':
    case 'heartbeat': {
      const h = marked(s, holdOf(e, Date.now()))
      return s.snapshot ? { ...s, snapshot: withHold(s.snapshot, h) } : { ...s, holds: withHold(s.holds, h) }
    }
    case 'release':
    case 'confirm':
      return {
        ...s,
        holds: e.type === 'confirm' ? bookedHold(s, e) : withoutHold(s.holds, e),
        ...(s.snapshot && { snapshot: withoutHold(s.snapshot, e) }),
      }
    case 'cancel': {
      // The event names the old time of a cancelled or moved appointment. The appointment event contains only the new
      // time.
      const date = dateOf(e.slotStartDate)
      const there = s.cells[cell(date, e.specialistId)]?.some(a => a.start === ms(e.slotStartDate))
      return there ? { ...s, stale: add(s.stale, date) } : s
    }
    case 'appointment': {
      const known = find(s, e.id)
      return known?.version >= e.version
        ? s
        : {
            ...s,
            stale: add(s.stale, dateOf(e.slotStartDate)),
            staleNews: s.staleNews || changes.includes(e.change) || s.news.some(x => x.appointment.id === e.id),
          }
    }
    case 'availability':
      return { ...s, staleHours: add(s.staleHours, e.specialistId) }
  }
  return s
}

// reduce returns the state after an event, from the stream or from this page.
export function reduce(s, e) {
  switch (e.type) {
    case 'loaded':
      return withList(s, e)
    case 'changed':
      return withAppointment(s, e)
    case 'schedule':
      return {
        ...s,
        specialists: e.specialists,
        types: e.types,
        hours: Object.fromEntries(e.calendars.map(c => [c.specialistId, calendarOf(c)])),
      }
    case 'loading':
      return { ...s, stale: [] }
    case 'requests': {
      const { requests } = e,
        all = Object.values(s.holds).flatMap(Object.values)
      const holds = all
        .filter(h => h.waits !== waitsFor(requests, h))
        .reduce((held, h) => withHold(held, { ...h, waits: waitsFor(requests, h) }), s.holds)
      return { ...s, requests, holds, asked: requests.filter(r => !r.wantedStartDate).length }
    }
    case 'loading news':
      return { ...s, staleNews: false }
    // The request for these changes failed, so they are still to be loaded.
    case 'not loaded':
      return {
        ...s,
        stale: e.stale.reduce(add, s.stale),
        staleHours: e.staleHours.reduce(add, s.staleHours),
        staleNews: s.staleNews || e.staleNews,
      }
    case 'loading hours':
      return { ...s, staleHours: [] }
    case 'live holds': {
      const holds = e.holds.reduce(
        (all, h) => withHold(all, marked(s, holdOf({ ...h, isOwnHold: false }, Date.now()))),
        {},
      )
      return { ...s, holds }
    }
    case 'set':
      return { ...s, ...e.patch }
    // A page that stays open for weeks keeps only the days near the displayed day.
    case 'scope': {
      const near = key => Math.abs(ms(key.slice(0, 10)) - ms(e.scope.from)) < 15 * 864e5
      const kept = all => Object.fromEntries(Object.entries(all).filter(([key]) => near(key)))
      return { ...s, scope: e.scope, cells: kept(s.cells), loaded: kept(s.loaded) }
    }
  }
  return heard(s, e)
}
