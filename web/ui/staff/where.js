// The place of an appointment, at a clinic with several places, and the calendar's filter by place.
import { boot } from '../lib/boot.js'
import { html } from '../lib/html.js'
import { lang, t } from '../lib/i18n.js'
import { useStore } from '../lib/store.js'
import { dateOf, zone } from '../lib/time.js'
import { dayIn, minutesOf, weekdayOf } from './day.js'
import { cell } from './store.js'

// If the clinic has only one place, the console does not show it.
export const hasPlaces = () => boot.places.length > 1
const nameOf = p => p.names?.[lang] || p.name
export const placeName = id => {
  const at = hasPlaces() && boot.places.find(p => p.id === id)
  return at ? nameOf(at) : ''
}

const windowsOn = (s, id, date) => {
  const hours = s.hours[id],
    other = hours?.overrides.find(o => o.date === date)
  return other ? other.hours || [] : hours?.weekly.filter(w => w.weekday === weekdayOf(date)) || []
}

// placeAt returns the name of the place where a specialist works at an instant: the place of the hours that contain the
// instant or, outside the hours, the first place of that day. The server applies the same rule.
export function placeAt(s, id, start) {
  if (!hasPlaces() || !start) return ''
  const own = s.specialists.find(x => x.id === id)?.timezone || zone,
    date = dateOf(start, own)
  const minute = dayIn(date, own).minuteOf(start),
    windows = windowsOn(s, id, date)
  const now = windows.find(w => minutesOf(w.start) <= minute && minute < minutesOf(w.end))
  return placeName((now || windows.find(w => w.place))?.place)
}

// isAt reports whether a specialist works at a place on a date, according to the hours of that day or to an appointment
// there. Hours without a place apply to every place. So do appointments without a place, which are outside all hours.
export function isAt(s, x, date, place) {
  if (!placeName(place) || !x.places?.length) return true
  return (
    windowsOn(s, x.id, date).some(w => !w.place || w.place === place) ||
    Boolean(s.cells[cell(date, x.id)]?.some(a => !a.place || a.place === place))
  )
}

// PlaceOptions are the options of a choice of one place or all places.
export const PlaceOptions = ({ chosen }) => html`
  <option value="">${t('place.all')}</option>
  ${boot.places.map(
    p => html`
      <option key=${p.id} value=${p.id} selected=${p.id === chosen}>${nameOf(p)}</option>
    `,
  )}
`

export function PlacePick({ desk }) {
  const place = useStore(desk.prefs, p => (placeName(p.place) ? p.place : ''))
  return (
    hasPlaces() &&
    html`
      <label class="pick">
        <span class="sr">${t('place.pick')}</span>
        <select name="place" value=${place} onChange=${e => desk.prefs.set({ place: e.currentTarget.value })}>
          <${PlaceOptions} chosen=${place} />
        </select>
      </label>
    `
  )
}
