// Booking at the desk. Opening the dialog claims a hold, so that no patient can book the time online. Enter books. If
// the time cannot be booked, the dialog shows why and what the desk can do: confirm a time outside the hours,
// displace a patient's hold, or overbook a booked time with a reason.
import { html, useEffect, useMemo, useRef, useState } from '../lib/html.js'
import { Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { useStore } from '../lib/store.js'
import { newKey, passing } from '../lib/api.js'
import { t } from '../lib/i18n.js'
import { dayAndTime } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { Tell } from './move.js'
import { Pane, usePicking } from './pane.js'
import { createDeskHold } from './deskhold.js'
import { Asks, missing, said } from './asks.js'
import { fit, several } from './fit.js'
import { PatientFields, agrees, blank, check, known } from './patient.js'
import { failKey, sayObstacle, colourOf, specialistName } from './words.js'
import { Occurrences, SeriesFields, useSeries } from './series.js'
import { VisitFields, useVisit } from './visit.js'
import { Obstacle, WhenFields, slotOf, startOf, useObstacle, way } from './when.js'

// choices returns the specialist's active types. Types that fit at this time come first.
function choices(desk, slot, mine) {
  const s = desk.store.get(),
    start = startOf(slot)
  return s.types
    .filter(x => x.active && x.specialists.some(p => p.specialistId === slot.specialistId))
    .map(type => ({
      type,
      block: start ? fit(s, { typeId: type.id, specialistId: slot.specialistId, start, mine }) : {},
    }))
    .sort((a, b) => Number(Boolean(a.block.why)) - Number(Boolean(b.block.why)))
}

// If the column is a room, specialistFor chooses a specialist with an appointment type that needs the room.
function specialistFor(s, people, id) {
  if (people.some(x => x.id === id)) return id
  const at = s.types.filter(x => x.active && x.needs?.some(group => group.includes(id)))
  return (people.find(x => at.some(type => type.specialists.some(p => p.specialistId === x.id))) || people[0])?.id || ''
}

function Types({ desk, list, typeId, set }) {
  // Show the obstacle of a type only if it differs from the obstacle of the chosen type, which the dialog shows below.
  const says = block => (block.why ? sayObstacle(desk, block) : ''),
    chosen = says(list.find(x => x.type.id === typeId)?.block || {})
  return html`
    <fieldset class="types">
      <legend>${t('book.type')}</legend>
      ${list.map(
        ({ type, block }) => html`
          <label key=${type.id} class=${'typed ' + colourOf(desk.store.get(), type.id)}>
            <input
              type="radio"
              name="type"
              value=${type.id}
              checked=${type.id === typeId}
              onChange=${() => set(type.id)}
            />
            <span class="face">
              <b><bdi>${type.name}</bdi></b>
              <span>${t('minutes.short', { n: type.durationMinutes })}</span>
              ${
                says(block) !== chosen &&
                html`
                  <small>${says(block)}</small>
                `
              }
            </span>
          </label>
        `,
      )}
    </fieldset>
  `
}

// stash keeps the input of a form that another dialog covers, until the form opens again.
/** @type {any} */
let stash = null

export function Book({ desk, name = '', copy, of = '', start, specialistId, typeId: wanted, restore, close }) {
  const old = restore ? stash : null
  const s = useStore(desk.store)
  const people = s.specialists.filter(x => x.active && x.kind !== 'resource' && desk.reaches(x.id))
  const hold = useMemo(() => createDeskHold(desk), [])
  const h = useStore(hold.store)
  const [draft, setDraft] = useState(
      () => old?.draft || (copy ? { ...blank, ...known(copy), of } : { ...blank, name }),
    ),
    [errors, setErrors] = useState({})
  const [slot, setSlot] = useState(
    () =>
      old?.slot || {
        ...(start ? slotOf(start) : slotOf(Math.ceil(serverNow() / 9e5) * 9e5)),
        specialistId: specialistFor(s, people, specialistId),
      },
  )
  const list = choices(desk, slot, h.holdId)
  const [typeId, setType] = useState(
    () =>
      old?.typeId ||
      wanted ||
      list.find(x => x.type.needs?.some(group => group.includes(specialistId)))?.type.id ||
      list[0]?.type.id ||
      '',
  )
  const [notify, setNotify] = useState(true),
    [busy, setBusy] = useState(false),
    [failed, setFailed] = useState(null)
  const [insists, setInsists] = useState({}),
    [reason, setReason] = useState(''),
    [answers, setAnswers] = useState({}),
    reminded = useRef('')
  const attempt = useRef(null)
  const type = list.find(x => x.type.id === typeId)?.type || list[0]?.type
  const visit = useVisit(),
    others = visit.others.map(x => x.typeId).join(),
    family = Boolean(others)
  const whole =
    family && type
      ? several([type, ...visit.others.map(x => s.types.find(y => y.id === x.typeId)).filter(Boolean)])
      : null
  const obstacle = useObstacle(desk, {
    typeId: type?.id,
    slot,
    mine: h.holdId,
    problem: h.phase === 'refused' ? h.problem : null,
    whole,
  })
  const { why } = obstacle
  const insisted = why && insists[why]
  const [many, setMany] = useState(false),
    series = useSeries(desk, { on: many, typeId: type?.id, slot })
  const past = !family || Boolean(insists.closed) || obstacle.start < serverNow() // ignore closed hours
  const can = type && !many && obstacle.start && !obstacle.asking && (!why || (insisted && why !== 'taken'))

  useEffect(() => hold.stop, [])
  const input = useRef(null)
  input.current = { draft, slot, typeId }
  useEffect(
    () => () => {
      stash = input.current
    },
    [],
  )
  usePicking(
    desk,
    at => {
      change({ ...slotOf(at.start), specialistId: specialistFor(s, people, at.specialistId) })
      if (at.typeId) setType(at.typeId)
      if (at.name) setDraft(d => ({ ...d, name: at.name }))
      const field = document.getElementById('patient-name')
      ;(field.value.trim() && !at.name ? field.form.querySelector('[type=submit]') : field).focus()
    },
    () => Boolean(draft.name.trim()),
  )
  // The hold follows the dialog's type, specialist and time. A time that has an obstacle is not held unless the
  // desk insists: the hold stays at the previous time. A series does not use the hold.
  const wish = {
    typeId: type?.id,
    specialistId: slot.specialistId,
    start: obstacle.start,
    displace: Boolean(insists.held),
    others: visit.others.map(x => x.typeId),
    ignoreHours: past,
  }
  const isHeld = h.phase === 'held' && hold.isHeld(wish)
  useEffect(() => {
    if (can) hold.claim(wish)
    else if (many) hold.release() // also if its claim is still running
  }, [can ? [type.id, slot.specialistId, obstacle.start, insists.held, others].join('|') : '', many])
  // After the desk insists, focus the next field to fill in, or the submit button.
  const insisting = next => {
    setInsists(next)
    setTimeout(() => {
      const name = document.getElementById('patient-name')
      const to = next.taken
        ? document.getElementById('overbook-reason')
        : name.value.trim()
          ? name.form.querySelector('[type=submit]')
          : name
      to?.focus()
    })
  }
  const change = next => {
    setSlot(next)
    setInsists({})
    setFailed(null)
    hold.forget()
  }
  const next = async () => {
    try {
      const free = await desk.nextFree(type.id, slot.specialistId, Math.max(serverNow(), obstacle.start || 0))
      if (input.current.slot !== slot || input.current.typeId !== typeId) return // the user has changed the wish
      change({ ...slot, ...slotOf(Date.parse(free.start)), specialistId: free.specialistIds[0] || slot.specialistId })
    } catch (problem) {
      setFailed(problem)
    }
  }

  async function submit(e) {
    e.preventDefault()
    if (busy) return
    const { errors: wrong, patient } = check(draft)
    const over = why === 'taken' && insists.taken && !family
    if (over && !reason.trim()) wrong.reason = t('overbook.reason.err')
    if (reminded.current !== type?.id) Object.assign(wrong, missing(type, answers))
    setErrors(wrong)
    const first = Object.keys(wrong)[0]
    // Remind the user of an unanswered question only once.
    if (first && first.startsWith('answers.')) reminded.current = type.id
    if (first)
      return document
        .getElementById(
          first === 'reason' ? 'overbook-reason' : first.startsWith('answers.') ? first : 'patient-' + first,
        )
        ?.focus()
    const more = visit.check()
    if (!more) return
    if (many ? !type || series.times.length < 2 : !obstacle.start || !type || (why && !insisted)) return way()?.focus()
    const told = said(type, answers),
      asked = Object.keys(told).length > 0 && { answers: told },
      sms = agrees(draft) && { sms: true }
    const { name, email, phone, ...own } = patient
    setBusy(true)
    const holdId = await hold.idFor(wish)
    const body = family
      ? {
          slotStartDate: new Date(obstacle.start).toISOString(),
          specialistId: slot.specialistId,
          people: [{ appointmentTypeId: type.id, name, ...own, ...asked }, ...more].map(x => ({ ...x, ...sms })),
          contact: { ...(email && { email }), ...(phone && { phone }) },
          notify,
          ignoreHours: past,
          ...(holdId && { holdId }),
          displace: Boolean(insists.held),
        }
      : many
        ? { appointmentTypeId: type.id, times: series.times, patient, notify, ...asked, ...sms }
        : {
            appointmentTypeId: type.id,
            slotStartDate: new Date(obstacle.start).toISOString(),
            specialistId: slot.specialistId,
            patient,
            notify,
            ...asked,
            ...sms,
            ...(over
              ? { overbook: { reason: reason.trim() } }
              : {
                  ignoreHours: true,
                  ...(holdId && { holdId }),
                  displace: Boolean(insists.held),
                }),
          }
    // An unchanged request keeps its idempotency key, so that a second press after a lost answer does not book twice.
    const text = JSON.stringify({ ...body, holdId: '' })
    if (attempt.current?.text !== text) attempt.current = { text, key: newKey(), body }
    setFailed(null)
    try {
      if (many) {
        const all = await desk.bookSeries(attempt.current.body, attempt.current.key)
        desk.patch({ reveal: all[0].id })
        desk.toast('series.done', { name: patient.name, n: all.length, when: dayAndTime(all[0].slotStartDate) })
        return close()
      }
      if (family) {
        const all = await desk.bookVisit(attempt.current.body, attempt.current.key)
        hold.used()
        desk.patch({ reveal: all[0].id })
        desk.toast('visit.done', { name: patient.name, n: all.length, when: dayAndTime(all[0].slotStartDate) })
        return close()
      }
      const a = await desk.book(attempt.current.body, attempt.current.key)
      if (over) hold.release()
      else hold.used()
      desk.patch({ reveal: a.id })
      desk.toast('book.done', {
        name: patient.name,
        when: dayAndTime(a.slotStartDate),
        who: specialistName(s, a.specialistId),
      })
      close()
    } catch (problem) {
      setBusy(false)
      const held = { slot_taken: 'taken', slot_held: 'held' }[problem.code]
      if (held && many) {
        setFailed(problem)
        series.again()
      } else if (held) {
        hold.lost(problem)
        setInsists({})
      } else setFailed(problem)
      if (!passing(problem)) attempt.current = null
      const fields = Object.fromEntries(
        problem.errors
          .filter(x => /^(patient|answers)\./.test(x.field))
          .map(x => [x.field.replace('patient.', ''), x.message]),
      )
      setErrors(fields)
    }
  }
  const insist = {
    closed: () => insisting({ closed: true }),
    held: () => insisting({ held: true }),
    ...(desk.may('overbook') && !family && { taken: () => insisting({ taken: true }) }),
  }
  const unknown = failed && passing(failed)
  return html`
    <${Pane}
      title=${t('book.title')}
      lead=${
        obstacle.start &&
        html`
          <b>${dayAndTime(obstacle.start)}</b>
          <bdi>${specialistName(s, slot.specialistId)}</bdi>
        `
      }
      wide
      kind="book"
      close=${close}
    >
      <form class="book" onSubmit=${submit} novalidate>
        <div class="stack">
          <${PatientFields} desk=${desk} draft=${draft} set=${setDraft} errors=${errors} />
          <${Asks} type=${type} answers=${answers} set=${setAnswers} errors=${errors} />
          ${
            !many &&
            type?.capacity === 1 &&
            html`
              <${VisitFields}
                visit=${visit}
                types=${list.map(x => x.type).filter(x => x.capacity === 1)}
                typeId=${type.id}
              />
            `
          }
        </div>
        <div class="slotside">
          <${WhenFields} desk=${desk} slot=${slot} set=${change} people=${people} />
          ${
            type
              ? html`
                  <${Types}
                    desk=${desk}
                    list=${list}
                    typeId=${type.id}
                    set=${id => {
                      setType(id)
                      setInsists({})
                      hold.forget()
                    }}
                  />
                `
              : html`
                  <p class="muted">${t('book.notypes')}</p>
                `
          }
          ${
            !family &&
            html`
              <label class="check">
                <input
                  type="checkbox"
                  id="series"
                  checked=${many}
                  onChange=${e => {
                    setMany(e.currentTarget.checked)
                    setInsists({})
                    setFailed(null)
                  }}
                />
                <span>${t('series.many')}</span>
              </label>
            `
          }
          ${
            many
              ? html`
                  <${SeriesFields} desk=${desk} series=${series} type=${type} people=${people} />
                  <${Occurrences} desk=${desk} series=${series} />
                `
              : html`
                  <${Obstacle} desk=${desk} obstacle=${obstacle} insist=${insist} done=${insisted} />
                  ${
                    why === 'taken' &&
                    insists.taken &&
                    !family &&
                    html`
                      <${Field}
                        id="overbook-reason"
                        label=${t('overbook.reason')}
                        hint=${sayObstacle(desk, obstacle)}
                        value=${reason}
                        input=${setReason}
                        error=${errors.reason}
                        maxlength="500"
                      />
                    `
                  }
                  ${
                    why &&
                    !insists.taken &&
                    html`
                      <button type="button" class="textlink" onClick=${next}>${t('book.next')}</button>
                    `
                  }
                `
          }
          <p class=${isHeld ? 'holding held' : 'holding'} role="status">
            ${
              isHeld &&
              html`
                <${Icon} name="check" />
                ${t('book.held')}
              `
            }
          </p>
        </div>
        ${
          failed &&
          html`
            <p class="error whole" role="alert">${unknown ? t('book.unknown') : t(failKey(failed))}</p>
          `
        }
        <footer class="actions">
          <button
            type="submit"
            class="btn primary"
            aria-disabled=${busy || (many ? series.times.length < 2 : why && !insisted) ? 'true' : undefined}
          >
            ${t(busy ? 'book.doing' : unknown ? 'unknown.do' : many ? 'series.do' : family ? 'visit.do' : why === 'taken' && insists.taken ? 'overbook.do' : 'book.do', { n: family ? visit.others.length + 1 : series.times.length })}
          </button>
          <button type="button" class="btn" onClick=${() => close()}>${t('cancel')}</button>
          <${Tell} email=${draft.email} sms=${agrees(draft)} value=${notify} set=${setNotify} />
        </footer>
      </form>
    </${Pane}>
  `
}
