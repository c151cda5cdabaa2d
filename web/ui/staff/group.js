// A group session: the appointments of one type with seats, with one specialist, at one start. A session is not stored.
// It is always computed from its appointments, so that the two cannot differ. These functions are pure.
import { dateOf } from '../lib/time.js'
import { cell } from './store.js'

const idOf = a => [a.appointmentTypeId, a.specialistId, a.start].join('@')
const made = (a, capacity) => ({
  id: idOf(a),
  typeId: a.appointmentTypeId,
  specialistId: a.specialistId,
  start: a.start,
  end: a.end,
  capacity,
  heads: [a],
})

// gathered returns the items of a column. It replaces the appointments of each group session by one item.
export function gathered(items, types) {
  const seats = new Map(types.filter(x => x.capacity > 1).map(x => [x.id, x.capacity])),
    groups = new Map()
  return items.flatMap(i => {
    const capacity = i.kind === 'card' && seats.get(i.of.appointmentTypeId)
    if (!capacity) return [i]
    const there = groups.get(idOf(i.of))
    if (there) {
      there.of.heads.push(i.of)
      there.to = Math.max(there.to, i.to)
      return []
    }
    const of = made(i.of, capacity),
      item = { ...i, id: of.id, kind: 'group', of }
    groups.set(of.id, item)
    return [item]
  })
}
// each reverses gathered: it returns a column's appointments as separate items.
export const each = items =>
  items.flatMap(i => (i.kind === 'group' ? i.of.heads.map(a => ({ ...i, id: a.id, kind: 'card', of: a })) : [i]))
export const isOf = (item, id) => item.id === id || (item.kind === 'group' && item.of.heads.some(a => a.id === id))

// An overbooked person does not use a seat.
export const isFull = g => g.heads.filter(a => !a.overbook).length >= g.capacity
// came counts the people who arrived, regardless of their current attendance.
export const came = g => g.heads.filter(a => !['expected', 'no_show'].includes(a.attendance)).length

// headsIn returns the appointments of one session. The result is empty if the session has no appointments left.
export const headsIn = (s, { typeId, specialistId, start }) =>
  (s.cells[cell(dateOf(start), specialistId)] || []).filter(
    a => !a.busy && a.appointmentTypeId === typeId && a.start === start,
  )
