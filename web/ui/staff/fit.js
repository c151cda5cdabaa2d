// fit checks, from the data on this page, whether an appointment of a type fits at a time. It applies the same rule as
// the server, including buffers and seats. The server still makes the final decision.
import { dateOf, zone } from '../lib/time.js'
import { dayIn } from './day.js'
import { columnIn } from './column.js'
import { each } from './group.js'
import { typeIn } from './words.js'
import { isLoaded } from './store.js'

const minute = 6e4
const spanOf = (type, start) => {
  const end = start + type.durationMinutes * minute
  return {
    start,
    end,
    busyStart: start - (type.bufferBeforeMinutes || 0) * minute,
    busyEnd: end + (type.bufferAfterMinutes || 0) * minute,
  }
}
const conflict = (a, b) => (a.busyStart < b.end && b.start < a.busyEnd) || (a.start < b.busyEnd && b.busyStart < a.end)

// several describes a group visit as one type whose duration is that of all its types together. `at` contains the
// offset of each type in ms. The server arranges the types of a visit in the same way.
export function several(types) {
  const at = []
  let minutes = 0
  types.forEach((type, i) => {
    const last = types[i - 1]
    if (last) minutes += last.durationMinutes + Math.max(last.bufferAfterMinutes || 0, type.bufferBeforeMinutes || 0)
    at.push(minutes * minute)
  })
  const last = types[types.length - 1]
  return {
    ...types[0],
    at,
    durationMinutes: minutes + last.durationMinutes,
    bufferAfterMinutes: last.bufferAfterMinutes,
    active: types.every(x => x.active),
    specialists: types[0].specialists.filter(x =>
      types.every(y => y.specialists.some(p => p.specialistId === x.specialistId)),
    ),
  }
}

// fit returns {} if the appointment fits, otherwise {why, …}. why: serves, inactive, closed, taken or held. `moving` is
// the id of the appointment to move, or the ids of appointments that move together. `mine` is the id of this desk's own
// hold. `whole` is a visit (see several).
/** @param {any} s @param {{typeId: string, specialistId: string, start: number, moving?: string | string[], mine?: string, whole?: any}} wish @returns {any} */
export function fit(s, { typeId, specialistId, start, moving, mine, whole }) {
  const type = whole || typeIn(s, typeId),
    at = { specialistId, typeId, at: start }
  if (!type?.specialists.some(x => x.specialistId === specialistId)) return { ...at, why: 'serves' }
  const person = s.specialists.find(x => x.id === specialistId)
  if (!type.active || !person?.active) return { ...at, why: 'inactive' }
  const date = dateOf(start),
    span = spanOf(type, start)
  if (!isLoaded(s, date, specialistId)) return {}
  const column = columnIn(s, date, specialistId),
    day = dayIn(date, zone)
  const from = day.minuteOf(start),
    to = from + type.durationMinutes
  let seats = 0
  for (const { of: x, kind } of each(column.items)) {
    if (moving?.includes(x.id) || x.id === mine || (kind === 'ghost' && x.own)) continue
    const other = typeIn(s, kind === 'ghost' ? x.typeId : x.appointmentTypeId)
    const group = other && other.id === typeId && x.start === start && type.capacity > 1
    if (group && !x.overbook) {
      if (++seats < type.capacity) continue
    } else if (
      !conflict(
        other
          ? { ...spanOf(other, x.start), end: x.end }
          : { start: x.start, end: x.end, busyStart: x.start, busyEnd: x.end },
        span,
      )
    )
      continue
    return { ...at, why: kind === 'ghost' ? 'held' : 'taken', by: x }
  }
  const busy = { from: day.minuteOf(span.busyStart), to: day.minuteOf(span.busyEnd) }
  const block = column.closed.find(c => c.block && c.from < busy.to && busy.from < c.to)
  if (block || !column.open.some(w => w.from <= from && to <= w.to)) {
    const shut = block || column.closed.find(c => c.from < to && from < c.to)
    return { ...at, why: 'closed', word: shut?.word || 'closed' }
  }
  return {}
}
