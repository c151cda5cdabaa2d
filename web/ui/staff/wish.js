// The form for the wishes of a person on the waiting list: the place, the specialist, the dates, the part of the day
// and the weekdays. The waiting list and the card of an appointment use the same fields.
import { html } from '../lib/html.js'
import { Field } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { DateInput } from '../lib/typed.js'
import { addDays, write } from '../lib/time.js'
import { today } from './daybar.js'
import { PlaceOptions, hasPlaces } from './where.js'
import { specialistName } from './words.js'

const parts = {
  any: {},
  morning: { latest: '12:00' },
  afternoon: { earliest: '12:00', latest: '17:00' },
  evening: { earliest: '17:00' },
}
const names = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']
export const weekday = name => write('weekday', addDays('2026-11-23', names.indexOf(name)))

export const blankWish = (from, to) => ({ who: '', place: '', part: 'any', days: [], from, to })
// wishOf converts the draft to the server's format.
export const wishOf = ({ who, place, part, days, from, to }) => ({
  from,
  to,
  weekdays: days,
  specialistIds: who ? [who] : [],
  ...(place && { place }),
  ...parts[part],
})

// last is the latest date that the user can choose.
export function WishFields({ s, type, draft, set, error, last }) {
  const input = key => value => set({ [key]: value })
  return html`
    ${
      hasPlaces() &&
      html`
        <${Field} id="wl-place" label=${t('place.title')}>
          <select id="wl-place" value=${draft.place} onChange=${e => set({ place: e.currentTarget.value })}>
            <${PlaceOptions} chosen=${draft.place} />
          </select>
        </${Field}>
      `
    }
    <${Field} id="wl-who" label=${t('when.who')}>
      <select id="wl-who" value=${draft.who} onChange=${e => set({ who: e.currentTarget.value })}>
        <option value="">${t('find.part.any')}</option>
        ${(type?.specialists || []).map(
          p => html`
            <option key=${p.specialistId} value=${p.specialistId}>${specialistName(s, p.specialistId)}</option>
          `,
        )}
      </select>
    </${Field}>
    <div class="two">
      <${Field}
        id="wl-from"
        label=${t('find.from')}
        as=${DateInput}
        min=${today()}
        max=${last}
        value=${draft.from}
        input=${input('from')}
        error=${error('wl-from')}
      />
      <${Field}
        id="wl-to"
        label=${t('wish.to')}
        as=${DateInput}
        min=${draft.from}
        max=${last}
        value=${draft.to}
        input=${input('to')}
        error=${error('wl-to')}
      />
    </div>
    <fieldset class="chips">
      <legend>${t('find.part')}</legend>
      ${Object.keys(parts).map(
        x => html`
          <label key=${x}>
            <input type="radio" name="wl-part" checked=${draft.part === x} onChange=${() => set({ part: x })} />
            <span class="face">${t('find.part.' + x)}</span>
          </label>
        `,
      )}
    </fieldset>
    <fieldset class="chips">
      <legend>${t('find.days')}</legend>
      ${names.map(
        x => html`
          <label key=${x}>
            <input
              type="checkbox"
              checked=${draft.days.includes(x)}
              onChange=${() => set({ days: draft.days.includes(x) ? draft.days.filter(d => d !== x) : [...draft.days, x] })}
            />
            <span class="face">${weekday(x)}</span>
          </label>
        `,
      )}
    </fieldset>
  `
}
