// The appointments that do not fit the weekly hours.
import { dateOf, hhmm } from '../lib/time.js'
import { weekdayOf } from './day.js'

// outside returns the appointments outside the weekly hours, or at another place than the hours. It leaves out dates
// with an override, to which the weekly hours do not apply. Appointments of remote types have no place.
export function outside(appointments, hours, overrides, zone, types) {
  const special = new Set(overrides.map(o => o.date)),
    remote = new Set(types.filter(x => x.remote).map(x => x.id))
  return appointments.filter(a => {
    const date = dateOf(a.slotStartDate, zone)
    if (special.has(date)) return false
    const from = hhmm(a.slotStartDate, zone),
      to = dateOf(a.slotEndDate, zone) === date ? hhmm(a.slotEndDate, zone) : '24:00'
    const isAt = h => !h.place || !a.place || h.place === a.place || remote.has(a.appointmentTypeId)
    return !hours.some(h => h.weekday === weekdayOf(date) && h.start <= from && to <= h.end && isAt(h))
  })
}
