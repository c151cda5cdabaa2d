// "When is the next free time?": the caller's wishes, and the matching times. One key holds a time while the caller
// decides. Enter opens the booking dialog, which takes over the hold.
import { DateInput } from '../lib/typed.js'
import { html, useEffect, useMemo, useRef, useState } from '../lib/html.js'
import { Dialog } from '../lib/dialog.js'
import { Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { Notice } from '../lib/notice.js'
import { useStore } from '../lib/store.js'
import { list as joined, t } from '../lib/i18n.js'
import { addDays, dayAndTime, write } from '../lib/time.js'
import { createDeskHold } from './deskhold.js'
import { mondayOf, weekdayOf } from './day.js'
import { today } from './daybar.js'
import { PlaceOptions, hasPlaces, placeName } from './where.js'
import { failKey, specialistName, typeIn } from './words.js'

const parts = {
  any: {},
  morning: { latest: '12:00' },
  afternoon: { earliest: '12:00', latest: '17:00' },
  evening: { earliest: '17:00' },
}
// week contains seven dates from a Monday onward, for the names of the weekdays.
const monday = mondayOf('2026-11-23'),
  week = Array.from({ length: 7 }, (_, i) => addDays(monday, i))
// The last search provides the default values for the next search, except for the date.
let before = {}

export function Find({ desk, close }) {
  const s = useStore(desk.store),
    types = s.types.filter(x => x.active && x.specialists.some(p => desk.reaches(p.specialistId)))
  const hold = useMemo(() => createDeskHold(desk), []),
    h = useStore(hold.store)
  const [draft, setDraft] = useState(() => ({
    typeId: types[0]?.id || '',
    people: [],
    days: [],
    part: 'any',
    ...before,
    place: placeName(desk.prefs.get().place) ? desk.prefs.get().place : '', // as on the board
    from: today(),
  }))
  const [found, setFound] = useState(null),
    [failed, setFailed] = useState(null),
    [tries, setTries] = useState(0)
  const asked = useRef(0),
    ref = useRef()
  const type = typeIn(s, draft.typeId)
  const people = (type?.specialists || [])
    .map(p => s.specialists.find(x => x.id === p.specialistId))
    .filter(x => x?.active && desk.reaches(x.id))
  const chosen = draft.people.filter(id => people.some(p => p.id === id))
  const wish = JSON.stringify([draft, tries])
  useEffect(() => hold.stop, [])
  useEffect(() => {
    const mine = ++asked.current,
      { people: _, from, ...kept } = draft
    before = { ...kept, people: draft.people }
    if (!type || !/^\d{4}-\d\d-\d\d$/.test(from)) return
    const timer = setTimeout(
      () => {
        desk
          .find(type.id, {
            from,
            specialistIds: chosen,
            weekdays: draft.days,
            ...(draft.place && { place: draft.place }),
            ...parts[draft.part],
          })
          .then(
            times => {
              if (mine !== asked.current) return
              setFound(times.map(x => ({ ...x, start: Date.parse(x.start) })))
              setFailed(null)
            },
            problem => {
              if (mine === asked.current) setFailed(problem)
            },
          )
      },
      found ? 150 : 0,
    )
    return () => clearTimeout(timer)
  }, [wish])
  // When the list appears for the first time, its first time gets the focus.
  const first = Boolean(found?.length)
  useEffect(() => {
    if (first && !ref.current?.contains(document.activeElement)) ref.current?.querySelector('button')?.focus()
  }, [first])

  const set = change => setDraft(d => ({ ...d, ...change }))
  const toggle = (key, value) =>
    set({ [key]: draft[key].includes(value) ? draft[key].filter(x => x !== value) : [...draft[key], value] })
  const book = x => {
    // Do not release the hold before the booking dialog opens. The dialog claims the same time, and the server then
    // returns the same hold.
    if (isHeld(x)) hold.used()
    desk.open('book', { start: x.start, specialistId: x.specialistIds[0], typeId: draft.typeId })
  }
  // The place in a result is that of the first specialist, so the others are named only if one place is chosen.
  const shown = hasPlaces() && !draft.place ? 1 : 3
  const wishOf = x => ({ typeId: draft.typeId, specialistId: x.specialistIds[0], start: x.start })
  const isHeld = x => hold.isHeld(wishOf(x))
  const keep = x => hold.claim(wishOf(x))
  // Another client took the time first, so fetch the list again.
  useEffect(() => {
    if (h.phase === 'refused') setTries(n => n + 1)
  }, [h.phase])
  const key = e => {
    const all = [...ref.current.querySelectorAll('.found-time')],
      at = all.indexOf(e.target)
    if (at < 0 || e.ctrlKey || e.metaKey || e.altKey) return
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[e.key]
    if (to !== undefined) all[Math.max(0, Math.min(all.length - 1, to))].focus()
    else if (e.key.toLowerCase() === 'h') keep(found[at])
    else return
    e.preventDefault()
  }
  return html`
    <${Dialog} title=${t('find.title')} wide kind="finding" close=${close}>
      <div class="finder">
        <div class="wishes">
          <${Field} id="find-type" label=${t('book.type')}>
            <select id="find-type" value=${draft.typeId} onChange=${e => set({ typeId: e.currentTarget.value })}>
              ${types.map(
                x => html`
                  <option key=${x.id} value=${x.id}>${x.name}, ${t('minutes.short', { n: x.durationMinutes })}</option>
                `,
              )}
            </select>
          </${Field}>
          ${
            hasPlaces() &&
            html`
              <${Field} id="find-place" label=${t('place.title')}>
                <select id="find-place" value=${draft.place} onChange=${e => set({ place: e.currentTarget.value })}>
                  <${PlaceOptions} chosen=${draft.place} />
                </select>
              </${Field}>
            `
          }
          <${Field} id="find-from" label=${t('find.from')}>
            <${DateInput}
              id="find-from"
              min=${today()}
              value=${draft.from}
              onInput=${e => set({ from: e.currentTarget.value })}
            />
          </${Field}>
          <fieldset class="chips">
            <legend>${t('find.part')}</legend>
            ${Object.keys(parts).map(
              x => html`
                <label key=${x}>
                  <input type="radio" name="find-part" checked=${draft.part === x} onChange=${() => set({ part: x })} />
                  <span class="face">${t('find.part.' + x)}</span>
                </label>
              `,
            )}
          </fieldset>
          <fieldset class="chips">
            <legend>${t('find.days')}</legend>
            ${week.map(
              date => html`
                <label key=${date}>
                  <input
                    type="checkbox"
                    checked=${draft.days.includes(weekdayOf(date))}
                    onChange=${() => toggle('days', weekdayOf(date))}
                  />
                  <span class="face">${write('weekday', date)}</span>
                </label>
              `,
            )}
          </fieldset>
          ${
            people.length > 1 &&
            html`
              <fieldset class="chips">
                <legend>${t('find.who')}</legend>
                ${people.map(
                  p => html`
                    <label key=${p.id}>
                      <input
                        type="checkbox"
                        checked=${chosen.includes(p.id)}
                        onChange=${() => toggle('people', p.id)}
                      />
                      <span class="face"><bdi>${p.name}</bdi></span>
                    </label>
                  `,
                )}
              </fieldset>
            `
          }
        </div>
        <div class="findings">
          <p class="sr" role="status">${found ? t('find.found', { n: found.length }) : ''}</p>
          ${
            failed &&
            html`
              <${Notice} kind="danger" role="alert" text=${failKey(failed)} />
            `
          }
          ${
            h.phase === 'refused' &&
            html`
              <${Notice} kind="warn" icon="alert" role="status" text="find.lost" />
            `
          }
          ${
            found &&
            !found.length &&
            html`
              <p class="muted">${t('find.none')}</p>
            `
          }
          <ul class="foundtimes" ref=${ref} onKeyDown=${key} aria-label=${t('find.title')}>
            ${(found || []).map(
              (x, i) => html`
                <li key=${x.start}>
                  <button type="button" class="found-time" tabindex=${i ? -1 : 0} onClick=${() => book(x)}>
                    <b>${dayAndTime(x.start)}</b>
                    ${' '}
                    <span class="muted">
                      <bdi>${joined(x.specialistIds.slice(0, shown).map(id => specialistName(s, id)))}</bdi>
                      ${
                        placeName(x.place) &&
                        html`
                          ,${' '}
                          <bdi>${placeName(x.place)}</bdi>
                        `
                      }
                      ${x.specialistIds.length > shown && ` +${x.specialistIds.length - shown}`}
                    </span>
                  </button>
                  <button
                    type="button"
                    class="btn"
                    tabindex=${i ? -1 : 0}
                    aria-pressed=${isHeld(x) ? 'true' : 'false'}
                    aria-label=${`${t(isHeld(x) ? 'find.held' : 'find.hold')}: ${dayAndTime(x.start)}`}
                    onClick=${() => keep(x)}
                  >
                    ${
                      isHeld(x)
                        ? html`
                            <${Icon} name="check" />
                            ${t('find.held')}
                          `
                        : t('find.hold')
                    }
                  </button>
                </li>
              `,
            )}
          </ul>
          <p class="hint">${t('find.hint')}</p>
          <p class="sr" role="status">${h.phase === 'held' ? t('book.held') : ''}</p>
        </div>
      </div>
    </${Dialog}>
  `
}
