// The dialogs for moving and cancelling. A drag and the key M open the same dialog, so both give the same result. The
// patient keeps the old time until the desk has confirmed the new one.
import { boot } from '../lib/boot.js'
import { html, useMemo, useState } from '../lib/html.js'
import { Dialog } from '../lib/dialog.js'
import { Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { Notice } from '../lib/notice.js'
import { newKey, passing } from '../lib/api.js'
import { serverNow } from '../lib/clock.js'
import { t } from '../lib/i18n.js'
import { dateOf, dayAndTime, time } from '../lib/time.js'
import { several } from './fit.js'
import { MovePlan, Scope, useMovePlan } from './series.js'
import { find } from './store.js'
import { Pane, usePicking } from './pane.js'
import { offer } from './undo.js'
import { Whole, useVisitOf } from './visit.js'
import { failKey, specialistName, typeIn, typeName, who } from './words.js'
import { NextFree, Obstacle, WhenFields, slotOf, useObstacle, way } from './when.js'

// Tell asks whether the server notifies the patient by email and, if `sms` is set, by text message. If the server can
// send neither, Tell explains why.
export function Tell({ email, sms, value, set }) {
  const no = sms ? '' : !boot.mail ? 'tell.nomail' : !email?.trim() ? 'tell.noaddress' : ''
  return html`
    <label class="check">
      <input
        type="checkbox"
        checked=${value && !no}
        disabled=${Boolean(no)}
        onChange=${e => set(e.currentTarget.checked)}
      />
      <span>
        ${t(sms ? 'tell.sms' : 'tell')}${
          no &&
          html`
            ${' '}
            <small class="muted">${t(no)}</small>
          `
        }
      </span>
    </label>
  `
}

// Failed shows why the server refused the change. If another user has changed the appointment first, it offers to show
// the new state.
export function Failed({ desk, problem, a, close }) {
  if (!problem) return null
  const show = () =>
    desk.fetch(a.id).then(
      x => {
        close()
        desk.open('appointment', { id: x.id })
      },
      () => {},
    )
  const stale = problem.code === 'version_mismatch'
  return html`
    <${Notice} kind=${stale ? 'warn' : 'danger'} icon="alert" role="alert" text=${failKey(problem)}>
      ${
        stale &&
        html`
          <button type="button" class="btn" onClick=${show}>${t('toast.show')}</button>
        `
      }
    </${Notice}>
  `
}

// useChange sends one change with one idempotency key, so that a second press after a lost answer is safe.
export function useChange(run) {
  const [busy, setBusy] = useState(false),
    [problem, setProblem] = useState(null)
  const keys = useMemo(() => new Map(), [])
  const go = async body => {
    const text = JSON.stringify(body)
    if (busy) return
    if (!keys.has(text)) keys.set(text, newKey())
    setBusy(true)
    setProblem(null)
    try {
      await run(body, keys.get(text))
    } catch (failed) {
      if (!passing(failed)) keys.delete(text)
      setProblem(failed)
    }
    setBusy(false)
  }
  return { go, busy, problem, forget: () => setProblem(null) }
}

// startsOf returns the old start of each appointment.
const startsOf = (all, before) => all.map(x => before.find(y => y.id === x.id)?.slotStartDate)

export function Move({ desk, id, specialistId, start, asked, back, close }) {
  const s = desk.store.get()
  const [a] = useState(() => find(s, id)),
    name = who(desk, a)
  const [slot, setSlot] = useState(() => ({
    ...slotOf(start || a.start),
    specialistId: specialistId || a.specialistId,
  }))
  const [notify, setNotify] = useState(true),
    [insists, setInsists] = useState({})
  const type = typeIn(s, a.appointmentTypeId)
  const people = s.specialists.filter(
    x =>
      desk.reaches(x.id) &&
      (x.id === a.specialistId || (x.active && type?.specialists.some(p => p.specialistId === x.id))),
  )
  const [rest, setRest] = useState(false),
    [later, setLater] = useState([])
  const [whole, setWhole] = useState(true),
    { list: visit, problem: unread } = useVisitOf(desk, a),
    together = whole && visit?.length > 1
  const change = useChange(async (body, key) => {
    if (together) {
      const all = await desk.moveVisit(a, body, key),
        moved = all.find(x => x.id === a.id)
      desk.patch({ reveal: a.id })
      offer(desk, 'series.moved', { name, n: all.length }, () => desk.undo(moved))
      return close()
    }
    if (rest) {
      const all = await desk.moveRest(a, body, key)
      desk.patch({ reveal: a.id })
      offer(desk, 'series.moved', { name, n: all.length }, () => desk.undoRest(all[0]), startsOf(all, later))
      return close()
    }
    const moved = await desk.move(a, body, key)
    if (!back) desk.patch({ reveal: moved.id })
    offer(
      desk,
      'move.done',
      { name, when: dayAndTime(moved.slotStartDate), who: specialistName(s, moved.specialistId) },
      () => desk.undo(moved),
    )
    if (back) desk.open(back.kind, back)
    else close()
  })
  const lost = change.problem && ['slot_taken', 'slot_held'].includes(change.problem.code) ? change.problem : null
  // The page sends the server the start of the first appointment, and the server arranges the others after it. If an
  // appointment has left the visit, the server closes the gap.
  const types = together ? visit.map(x => typeIn(s, x.appointmentTypeId)) : [],
    all = types.length && types.every(Boolean) ? several(types) : null
  const before = all?.at[visit.findIndex(x => x.id === a.id)] || 0
  const obstacle = useObstacle(desk, {
    typeId: a.appointmentTypeId,
    slot,
    moving: together ? visit.map(x => x.id) : [a.id],
    problem: lost,
    whole: all,
    before,
  })
  const same = obstacle.start === a.start && slot.specialistId === a.specialistId
  const moving = useMovePlan(desk, a, { rest: rest && !same, start: obstacle.start, specialistId: slot.specialistId })
  const can =
    visit &&
    obstacle.start &&
    !same &&
    !obstacle.asking &&
    (rest ? moving.plan && !moving.no : !obstacle.why || insists[obstacle.why])
  // The search starts at the date that the user has chosen, or today if the date is unchanged.
  const searched = slot.date > dateOf(serverNow()) && slot.date !== dateOf(a.start) ? slot.date : dateOf(serverNow())
  const set = next => {
    setSlot(next)
    setInsists({})
    change.forget()
  }
  usePicking(desk, at =>
    set({
      ...slotOf(at.start),
      specialistId: people.some(x => x.id === at.specialistId) ? at.specialistId : slot.specialistId,
    }),
  )
  const submit = e => {
    e.preventDefault()
    if (!can) return visit && way()?.focus()
    if (rest)
      return change.go({
        slotStartDate: new Date(obstacle.start).toISOString(),
        ...(slot.specialistId !== a.specialistId && { specialistId: slot.specialistId }),
        keep: moving.keep,
        notify,
      })
    change.go({
      slotStartDate: new Date(obstacle.start - before).toISOString(),
      specialistId: slot.specialistId,
      notify,
      ignoreHours: !together || Boolean(insists.closed) || obstacle.start - before < serverNow(),
      ...(insists.held && { displace: true }),
    })
  }
  const to =
    obstacle.start && (dateOf(obstacle.start) === dateOf(a.start) ? time(obstacle.start) : dayAndTime(obstacle.start))
  return html`
    <${Pane} title=${t('move.title', { name })} close=${close}>
      <form class="stack" onSubmit=${submit} novalidate>
        <p class="fromto">
          <span>
            ${dayAndTime(a.start)},${' '}
            <bdi>${specialistName(s, a.specialistId)}</bdi>
          </span>
          <span class="muted">
            ${typeName(s, a.appointmentTypeId)}${type && ', ' + t('minutes', { n: type.durationMinutes })}
          </span>
        </p>
        <${WhenFields} desk=${desk} slot=${slot} set=${set} people=${people} autofocus=${!asked} />
        ${
          !together &&
          html`
            <${NextFree}
              desk=${desk}
              typeId=${a.appointmentTypeId}
              specialistId=${slot.specialistId}
              from=${searched}
              choose=${set}
            />
          `
        }
        <${Scope}
          desk=${desk}
          a=${a}
          rest=${rest}
          set=${(rest, later) => {
            setRest(rest)
            setLater(later)
          }}
        />
        <${Whole} all=${visit} whole=${whole} set=${setWhole} />
        ${
          rest &&
          !same &&
          html`
            <${MovePlan} desk=${desk} a=${a} moving=${moving} />
          `
        }
        <${Obstacle}
          desk=${desk}
          obstacle=${obstacle}
          done=${rest || insists[obstacle.why]}
          insist=${{ closed: () => setInsists({ closed: true }), held: () => setInsists({ held: true }) }}
        />
        ${
          !lost &&
          html`
            <${Failed} desk=${desk} problem=${change.problem || unread} a=${a} close=${close} />
          `
        }
        <p class="ask" role="status">
          ${
            to &&
            !same &&
            html`
              <${Icon} name="change" />
              ${t('move.ask', { name, time: to, who: specialistName(s, slot.specialistId) })}
            `
          }
        </p>
        <footer class="actions">
          <button
            type="submit"
            class="btn primary"
            autofocus=${Boolean(asked)}
            aria-disabled=${!can || change.busy ? 'true' : undefined}
          >
            ${t(change.busy ? 'move.doing' : together || (rest && moving.plan) ? 'series.move' : 'move.do', { n: together ? visit.length : (moving.plan?.length || 0) - moving.keep.length })}
          </button>
          <button type="button" class="btn" onClick=${() => close()}>${t('cancel')}</button>
          <${Tell} email=${a.patient?.email} sms=${boot.sms && a.intake?.sms} value=${notify} set=${setNotify} />
        </footer>
      </form>
    </${Pane}>
  `
}

export function Cancel({ desk, id, close }) {
  const s = desk.store.get()
  const [a] = useState(() => find(s, id)),
    name = who(desk, a)
  const [reason, setReason] = useState(''),
    [notify, setNotify] = useState(true),
    [rest, setRest] = useState(false),
    [whole, setWhole] = useState(true),
    { list: visit, problem: unread } = useVisitOf(desk, a),
    together = whole && visit?.length > 1
  const change = useChange(async (body, key) => {
    if (together) {
      const all = await desk.cancelVisit(a, body, key),
        gone = all.find(x => x.id === a.id)
      offer(desk, 'series.cancelled', { name, n: all.length }, () => desk.undo(gone))
      return close()
    }
    if (rest) {
      const all = await desk.cancelRest(a, body, key)
      offer(desk, 'series.cancelled', { name, n: all.length }, () => desk.undoRest(all[0]), startsOf(all, all))
      return close()
    }
    const gone = await desk.cancel(a, body, key)
    offer(desk, 'cancel.done', { name, when: dayAndTime(a.start) }, () => desk.undo(gone))
    close()
  })
  const submit = e => {
    e.preventDefault()
    if (visit) change.go({ notify, ...(reason.trim() && { reason: reason.trim() }) })
  }
  return html`
    <${Dialog} title=${t('cancel.title', { name })} close=${close}>
      <form class="stack" onSubmit=${submit} novalidate>
        <p class="fromto">
          <span>
            ${dayAndTime(a.start)},${' '}
            <bdi>${specialistName(s, a.specialistId)}</bdi>
          </span>
          <span class="muted">${typeName(s, a.appointmentTypeId)}</span>
        </p>
        <${Scope} desk=${desk} a=${a} rest=${rest} set=${setRest} />
        <${Whole} all=${visit} whole=${whole} set=${setWhole} />
        <${Field}
          id="cancel-reason"
          label=${t('cancel.reason')}
          optional
          value=${reason}
          input=${setReason}
          maxlength="500"
          autofocus
        />
        <${Failed} desk=${desk} problem=${change.problem || unread} a=${a} close=${close} />
        <footer class="actions">
          <button type="submit" class="btn danger solid" aria-disabled=${!visit || change.busy ? 'true' : undefined}>
            ${t(change.busy ? 'cancel.doing' : rest || together ? 'series.cancel' : 'cancel.do')}
          </button>
          <button type="button" class="btn" onClick=${() => close()}>${t('cancel.keep')}</button>
          <${Tell} email=${a.patient?.email} sms=${boot.sms && a.intake?.sms} value=${notify} set=${setNotify} />
        </footer>
      </form>
    </${Dialog}>
  `
}
