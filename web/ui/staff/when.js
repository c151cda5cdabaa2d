// The time and the specialist: the fields that the dialogs for booking and moving share, and the obstacle to the chosen
// time. If there is a way to continue, the message shows it.
import { html, useEffect, useState } from '../lib/html.js'
import { Field } from '../lib/form.js'
import { Notice } from '../lib/notice.js'
import { useStore } from '../lib/store.js'
import { DateInput, TimeInput } from '../lib/typed.js'
import { t } from '../lib/i18n.js'
import { addDays, dateOf, dayAndTime, time, zone } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { dayIn, minutesOf, textOf } from './day.js'
import { fit } from './fit.js'
import { isLoaded } from './store.js'
import { placeAt, placeName } from './where.js'
import { failKey, sayObstacle, specialistName } from './words.js'

export const slotOf = start => {
  const date = dateOf(start)
  return { date, time: textOf(dayIn(date, zone).minuteOf(start)) }
}
// startOf returns the instant that the fields describe, or null if they are incomplete.
export const startOf = ({ date, time }) =>
  /^\d{4}-\d\d-\d\d$/.test(date) && /^\d\d:\d\d/.test(time) ? dayIn(date, zone).at(minutesOf(time)) : null

export function WhenFields({ desk, slot, set, people, autofocus }) {
  const start = startOf(slot)
  const own = useStore(desk.store, s => s.specialists.find(x => x.id === slot.specialistId)?.timezone) || zone
  const place = useStore(desk.store, s => placeAt(s, slot.specialistId, start))
  const change = key => e => set({ ...slot, [key]: e.currentTarget.value })
  return html`
    <div class="when">
      <${Field} id="when-date" label=${t('when.date')}>
        <${DateInput} id="when-date" value=${slot.date} onInput=${change('date')} required />
      </${Field}>
      <${Field} id="when-time" label=${t('when.time')}>
        <${TimeInput}
          id="when-time"
          step="300"
          value=${slot.time}
          autofocus=${autofocus}
          onInput=${change('time')}
          required
        />
      </${Field}>
      <${Field} id="when-who" label=${t('when.who')}>
        <select id="when-who" value=${slot.specialistId} onChange=${change('specialistId')}>
          ${people.map(
            p => html`
              <option key=${p.id} value=${p.id}>${p.name}</option>
            `,
          )}
        </select>
      </${Field}>
      ${
        place &&
        html`
          <p class="hint">
            ${t('place.title')}:${' '}
            <bdi>${place}</bdi>
          </p>
        `
      }
      ${
        start &&
        own !== zone &&
        html`
          <p class="hint">
            ${t('when.zone', { time: time12(start, own), zone: own.split('/').pop().replace(/_/g, ' ') })}
          </p>
        `
      }
      ${
        start &&
        start < serverNow() - 6e4 &&
        html`
          <p class="hint">${t('when.past')}</p>
        `
      }
    </div>
  `
}
// NextFree lists the next free times of the type, with the chosen specialist or with any specialist. A press chooses a
// time. A deactivated specialist has no free times, so the list starts with those of all specialists.
export function NextFree({ desk, typeId, specialistId, from, choose }) {
  const s = desk.store.get()
  const isActive = useStore(desk.store, s => s.specialists.some(x => x.id === specialistId && x.active))
  const [wish, setWish] = useState(null),
    [found, setFound] = useState(null)
  const anyone = wish ?? (desk.front && !isActive)
  const people = anyone ? [] : [specialistId]
  useEffect(() => {
    let here = true
    desk.find(typeId, { from, specialistIds: people, count: 3 }).then(
      times => here && setFound(times),
      () => here && setFound([]),
    )
    return () => {
      here = false
    }
  }, [typeId, from, people.join()])
  return html`
    <fieldset class="chips nextfree">
      <legend>${t('find.title')}</legend>
      ${(found || []).map(
        x => html`
          <button
            type="button"
            class="btn"
            key=${x.start}
            onClick=${() => choose({ ...slotOf(Date.parse(x.start)), specialistId: x.specialistIds[0] || specialistId })}
          >
            ${dayAndTime(x.start)}${
              anyone &&
              html`
                ${' '}
                <span class="muted"><bdi>${specialistName(s, x.specialistIds[0])}</bdi></span>
              `
            }${
              placeName(x.place) &&
              html`
                ${' '}
                <span class="muted"><bdi>${placeName(x.place)}</bdi></span>
              `
            }
          </button>
        `,
      )}
      ${
        found &&
        !found.length &&
        html`
          <span class="muted">${t('find.none')}</span>
        `
      }
      ${
        desk.front &&
        html`
          <button
            type="button"
            class="textlink"
            aria-pressed=${anyone ? 'true' : 'false'}
            onClick=${() => setWish(!anyone)}
          >
            ${t('find.anyone')}
          </button>
        `
      }
    </fieldset>
  `
}
const time12 = (start, tz) =>
  new Intl.DateTimeFormat(document.documentElement.lang, { hour: '2-digit', minute: '2-digit', timeZone: tz }).format(
    start,
  )

// useObstacle returns the obstacle to the chosen time. It loads the day if it is not loaded yet. `whole` is a visit
// that starts `before` ms earlier than the chosen time.
/** @param {any} desk @param {{typeId: string, slot: any, moving?: string | string[], mine?: string, problem: any, whole?: any, before?: number}} wish @returns {any} */
export function useObstacle(desk, { typeId, slot, moving, mine, problem, whole, before = 0 }) {
  const start = startOf(slot),
    { specialistId } = slot
  const [asking, setAsking] = useState(false)
  useEffect(() => {
    if (!start || isLoaded(desk.store.get(), slot.date, specialistId)) return
    let here = true
    setAsking(true)
    desk
      .load({ from: slot.date, to: addDays(slot.date, 1), specialistId })
      .catch(() => {})
      .then(() => here && setAsking(false))
    return () => {
      here = false
    }
  }, [slot.date, specialistId])
  const cells = useStore(desk.store, s => s.cells),
    holds = useStore(desk.store, s => s.holds)
  if (!start) return { start: null, asking }
  const block = fit(desk.store.get(), { typeId, specialistId, start: start - before, moving, mine, whole })
  // The server refused the time for a reason that is not visible in this page's data.
  if (!block.why && problem) {
    const why = { slot_held: 'held', slot_taken: 'taken' }[problem.code]
    if (why) return { start, asking, why, specialistId, typeId, at: start, blind: true }
    return { start, asking, problem }
  }
  return { start, asking, ...block, seen: cells && holds }
}

// Obstacle shows the obstacle to the time, and a button if the desk can book the time anyway. insist: {closed, held,
// taken} → the action of that button.
export function Obstacle({ desk, obstacle, insist, done }) {
  const { why, problem } = obstacle
  if (problem)
    return html`
      <${Notice} kind="danger" role="alert" text=${failKey(problem)} />
    `
  if (!why || done) return null
  const text =
    obstacle.blind && why === 'taken'
      ? t('why.taken.blind', { time: time(obstacle.start) })
      : sayObstacle(desk, obstacle)
  const can = insist[why]
  return html`
    <${Notice}
      kind=${why === 'closed' || why === 'held' ? 'warn' : 'danger'}
      icon="alert"
      role="status"
      text=${[
        html`
          <strong>${text}</strong>
        `,
        ' ',
        why === 'held' ? t('why.held.ask') : '',
      ]}
    >
      ${
        can &&
        html`
          <button type="button" class="btn" onClick=${can}>${t('insist.' + why)}</button>
        `
      }
    </${Notice}>
  `
}

// way returns the element that receives the focus while the time has an obstacle.
export const way = () => document.querySelector('.dialog .notice button') || document.getElementById('when-time')
