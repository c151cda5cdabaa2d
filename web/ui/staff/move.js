// Moving and cancelling. A drag that was dropped and the key M come to the same dialog, so both give
// the same result; the old time is kept until the new one is certain.
import { html, useMemo, useState } from '../lib/html.js'
import { Dialog } from '../lib/dialog.js'
import { Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { Notice } from '../lib/notice.js'
import { useStore } from '../lib/store.js'
import { newKey, passing } from '../lib/api.js'
import { t } from '../lib/i18n.js'
import { dateOf, dayAndTime, time } from '../lib/time.js'
import { find } from './store.js'
import { offer } from './undo.js'
import { failKey, specialistName, typeIn, typeName, who } from './words.js'
import { Obstacle, WhenFields, slotOf, startOf, useObstacle, way } from './when.js'

export const Tell = ({ value, set }) => html`<label class="check"><input type="checkbox" checked=${value} onChange=${e => set(e.currentTarget.checked)} /><span>${t('tell')}</span></label>`

// Failed says what the server refused, the way on where somebody else was quicker included.
export function Failed({ desk, problem, a, close }) {
  if (!problem) return null
  const show = () => desk.fetch(a.id).then(x => { close(); desk.open('appointment', { id: x.id }) }, () => {})
  const stale = problem.code === 'version_mismatch'
  return html`<${Notice} kind=${stale ? 'warn' : 'danger'} icon="alert" role="alert" text=${failKey(problem)}>
    ${stale && html`<button type="button" class="btn" onClick=${show}>${t('toast.show')}</button>`}</${Notice}>`
}

// useChange runs one change with one key, so that pressing again after a lost answer is safe.
export function useChange(run) {
  const [busy, setBusy] = useState(false), [problem, setProblem] = useState(null)
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

export function Move({ desk, id, specialistId, start, asked, close }) {
  const s = desk.store.get()
  const [a] = useState(() => find(s, id)), name = who(desk, a)
  const [slot, setSlot] = useState(() => ({ ...slotOf(start || a.start), specialistId: specialistId || a.specialistId }))
  const [notify, setNotify] = useState(true), [insists, setInsists] = useState({})
  const type = typeIn(s, a.appointmentTypeId)
  const people = s.specialists.filter(x => desk.reaches(x.id) && (x.id === a.specialistId || (x.active && type?.specialists.some(p => p.specialistId === x.id))))
  const change = useChange(async (body, key) => {
    const moved = await desk.move(a, body, key)
    desk.patch({ reveal: moved.id })
    offer(desk, 'move.done', { name, when: dayAndTime(moved.slotStartDate), who: specialistName(s, moved.specialistId) }, () => desk.undo(moved))
    close()
  })
  const lost = change.problem && ['slot_taken', 'slot_held'].includes(change.problem.code) ? change.problem : null
  const obstacle = useObstacle(desk, { typeId: a.appointmentTypeId, slot, moving: a.id, problem: lost })
  const same = obstacle.start === a.start && slot.specialistId === a.specialistId
  const can = obstacle.start && !same && !obstacle.asking && (!obstacle.why || insists[obstacle.why])
  const set = next => { setSlot(next); setInsists({}); change.forget() }
  const submit = e => {
    e.preventDefault()
    if (!can) return way()?.focus()
    change.go({ slotStartDate: new Date(obstacle.start).toISOString(), specialistId: slot.specialistId, notify, ignoreHours: true, ...(insists.held && { displace: true }) })
  }
  const to = obstacle.start && (dateOf(obstacle.start) === dateOf(a.start) ? time(obstacle.start) : dayAndTime(obstacle.start))
  return html`<${Dialog} title=${t('move.title', { name })} close=${close}>
    <form class="stack" onSubmit=${submit} noValidate>
      <p class="fromto"><span>${dayAndTime(a.start)}, <bdi>${specialistName(s, a.specialistId)}</bdi></span><span class="muted">${typeName(s, a.appointmentTypeId)}${type && ', ' + t('minutes', { n: type.durationMinutes })}</span></p>
      <${WhenFields} desk=${desk} slot=${slot} set=${set} people=${people} autofocus=${!asked} />
      <${Obstacle} desk=${desk} obstacle=${obstacle} done=${insists[obstacle.why]} insist=${{ closed: () => setInsists({ closed: true }), held: () => setInsists({ held: true }) }} />
      ${!lost && html`<${Failed} desk=${desk} problem=${change.problem} a=${a} close=${close} />`}
      <p class="ask" role="status">${to && !same && html`<${Icon} name="change" />${t('move.ask', { name, time: to, who: specialistName(s, slot.specialistId) })}`}</p>
      <footer class="actions">
        <button type="submit" class="btn primary" autofocus=${Boolean(asked)} aria-disabled=${!can || change.busy ? 'true' : undefined}>${t(change.busy ? 'move.doing' : 'move.do')}</button>
        <button type="button" class="btn" onClick=${() => close()}>${t('cancel')}</button>
        <${Tell} value=${notify} set=${setNotify} />
      </footer>
    </form>
  </${Dialog}>`
}

export function Cancel({ desk, id, close }) {
  const s = desk.store.get()
  const [a] = useState(() => find(s, id)), name = who(desk, a)
  const [reason, setReason] = useState(''), [notify, setNotify] = useState(true)
  const change = useChange(async (body, key) => {
    const gone = await desk.cancel(a, body, key)
    offer(desk, 'cancel.done', { name, when: dayAndTime(a.start) }, () => desk.undo(gone))
    close()
  })
  const submit = e => {
    e.preventDefault()
    change.go({ notify, ...(reason.trim() && { reason: reason.trim() }) })
  }
  return html`<${Dialog} title=${t('cancel.title', { name })} close=${close}>
    <form class="stack" onSubmit=${submit} noValidate>
      <p class="fromto"><span>${dayAndTime(a.start)}, <bdi>${specialistName(s, a.specialistId)}</bdi></span><span class="muted">${typeName(s, a.appointmentTypeId)}</span></p>
      <${Field} id="cancel-reason" label=${t('cancel.reason')} optional value=${reason} input=${setReason} maxlength="500" autofocus />
      <${Failed} desk=${desk} problem=${change.problem} a=${a} close=${close} />
      <footer class="actions">
        <button type="submit" class="btn danger solid" aria-disabled=${change.busy ? 'true' : undefined}>${t(change.busy ? 'cancel.doing' : 'cancel.do')}</button>
        <button type="button" class="btn" onClick=${() => close()}>${t('cancel.keep')}</button>
        <${Tell} value=${notify} set=${setNotify} />
      </footer>
    </form>
  </${Dialog}>`
}
