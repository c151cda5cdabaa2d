// The place of an appointment, at a clinic with several places, and the calendar's filter by place.
import { boot } from '../lib/boot.js'
import { html } from '../lib/html.js'
import { lang, t } from '../lib/i18n.js'
import { useStore } from '../lib/store.js'
import { weekdayOf } from './day.js'
import { cell } from './store.js'

// If the clinic has only one place, the console does not show it.
export const hasPlaces = boot.places.length > 1
const nameOf = p => p.names?.[lang] || p.name
export const placeName = id => {
  const at = hasPlaces && boot.places.find(p => p.id === id)
  return at ? nameOf(at) : ''
}

// isAt reports whether a specialist works at a place on a date, according to the hours of that day or to an appointment
// there. Hours without a place apply to every place. So do appointments without a place, which are outside all hours.
export function isAt(s, x, date, place) {
  if (!placeName(place) || !x.places?.length) return true
  const hours = s.hours[x.id],
    other = hours?.overrides.find(o => o.date === date)
  const windows = other ? other.hours || [] : hours?.weekly.filter(w => w.weekday === weekdayOf(date)) || []
  return (
    windows.some(w => !w.place || w.place === place) ||
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
    hasPlaces &&
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
