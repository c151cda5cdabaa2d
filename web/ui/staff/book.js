// Booking at the desk. Opening takes a hold, so that nobody online can take the time meanwhile. Enter
// books. What is in the way is said with the way on: outside the hours after a look, a patient's own
// hold by asking for it, a booked time by overbooking with a reason.
import { html, useEffect, useMemo, useRef, useState } from '../lib/html.js'
import { Dialog } from '../lib/dialog.js'
import { Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { useStore } from '../lib/store.js'
import { newKey, passing } from '../lib/api.js'
import { t } from '../lib/i18n.js'
import { dayAndTime } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { createDeskHold } from './deskhold.js'
import { fit } from './fit.js'
import { PatientFields, blank, check, known } from './patient.js'
import { failKey, sayObstacle, colourOf, specialistName } from './words.js'
import { Obstacle, WhenFields, slotOf, startOf, useObstacle, way } from './when.js'

// The types that this specialist does, those that fit at the time first.
function choices(desk, slot, mine) {
  const s = desk.store.get(), start = startOf(slot)
  return s.types.filter(x => x.active && x.specialists.some(p => p.specialistId === slot.specialistId))
    .map(type => ({ type, block: start ? fit(s, { typeId: type.id, specialistId: slot.specialistId, start, mine }) : {} }))
    .sort((a, b) => Boolean(a.block.why) - Boolean(b.block.why))
}

function Types({ desk, list, typeId, set }) {
  // What is in the way of all alike is said once, below.
  const says = block => block.why ? sayObstacle(desk, block) : '', chosen = says(list.find(x => x.type.id === typeId)?.block || {})
  return html`<fieldset class="types"><legend>${t('book.type')}</legend>
    ${list.map(({ type, block }) => html`<label key=${type.id} class=${'typed ' + colourOf(desk.store.get(), type.id)}>
      <input type="radio" name="type" value=${type.id} checked=${type.id === typeId} onChange=${() => set(type.id)} />
      <span class="face"><b><bdi>${type.name}</bdi></b><span>${t('minutes.short', { n: type.durationMinutes })}</span>${says(block) !== chosen && html`<small>${says(block)}</small>`}</span>
    </label>`)}</fieldset>`
}

export function Book({ desk, name = '', copy, start, specialistId, typeId: wanted, close }) {
  const s = useStore(desk.store)
  const people = s.specialists.filter(x => x.active && desk.reaches(x.id))
  const hold = useMemo(() => createDeskHold(desk), [])
  const h = useStore(hold.store)
  const [draft, setDraft] = useState(() => copy ? { ...blank, ...known(copy) } : { ...blank, name }), [errors, setErrors] = useState({})
  const [slot, setSlot] = useState(() => ({ ...(start ? slotOf(start) : slotOf(Math.ceil(serverNow() / 9e5) * 9e5)), specialistId: specialistId || people[0]?.id || '' }))
  const list = choices(desk, slot, h.holdId)
  const [typeId, setType] = useState(() => wanted || list[0]?.type.id || '')
  const [notify, setNotify] = useState(true), [busy, setBusy] = useState(false), [failed, setFailed] = useState(null)
  const [insists, setInsists] = useState({}), [reason, setReason] = useState('')
  const attempt = useRef(null)
  const type = list.find(x => x.type.id === typeId)?.type || list[0]?.type
  const obstacle = useObstacle(desk, { typeId: type?.id, slot, mine: h.holdId, problem: h.phase === 'refused' ? h.problem : null })
  const { why } = obstacle
  const insisted = why && insists[why]
  const can = type && obstacle.start && !obstacle.asking && (!why || (insisted && why !== 'taken'))

  useEffect(() => hold.stop, [])
  // The hold follows what the dialog says; a time in the way of which something stands is not held.
  const wish = can || h.phase === 'held' || h.phase === 'claiming' ? [type?.id, slot.specialistId, obstacle.start, insists.held].join('|') : ''
  useEffect(() => {
    // One that is still being asked for is given back, too.
    if (!can) { if (h.holdId || h.phase === 'claiming') hold.release(); return }
    hold.claim({ typeId: type.id, specialistId: slot.specialistId, start: obstacle.start, displace: Boolean(insists.held) })
  }, [wish, Boolean(can)])
  // What was insisted on is the next thing to go on from.
  const insisting = next => {
    setInsists(next)
    setTimeout(() => {
      const name = document.getElementById('patient-name')
      const to = next.taken ? document.getElementById('overbook-reason') : name.value.trim() ? name.form.querySelector('[type=submit]') : name
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
      change({ ...slot, ...slotOf(Date.parse(free.start)), specialistId: free.specialistIds[0] || slot.specialistId })
    } catch (problem) { setFailed(problem) }
  }

  async function submit(e) {
    e.preventDefault()
    if (busy) return
    const { errors: wrong, patient } = check(draft)
    const over = why === 'taken' && insists.taken
    if (over && !reason.trim()) wrong.reason = t('overbook.reason.err')
    setErrors(wrong)
    const first = Object.keys(wrong)[0]
    if (first) return document.getElementById(first === 'reason' ? 'overbook-reason' : 'patient-' + first)?.focus()
    if (!obstacle.start || !type || (why && !insisted)) return way()?.focus()
    const body = {
      appointmentTypeId: type.id, slotStartDate: new Date(obstacle.start).toISOString(), specialistId: slot.specialistId, patient, notify,
      ...(over ? { overbook: { reason: reason.trim() } } : { ignoreHours: true, ...(hold.store.get().holdId && { holdId: hold.store.get().holdId }), displace: Boolean(insists.held) }),
    }
    // The same request keeps its key, so that a second press after a lost answer books nothing twice.
    const text = JSON.stringify({ ...body, holdId: '' })
    if (attempt.current?.text !== text) attempt.current = { text, key: newKey(), body }
    setBusy(true)
    setFailed(null)
    try {
      const a = await desk.book(attempt.current.body, attempt.current.key)
      if (over) hold.release(); else hold.used()
      desk.patch({ reveal: a.id })
      desk.toast('book.done', { name: patient.name, when: dayAndTime(a.slotStartDate), who: specialistName(s, a.specialistId) })
      close()
    } catch (problem) {
      setBusy(false)
      const held = { slot_taken: 'taken', slot_held: 'held' }[problem.code]
      if (held) {
        hold.store.set({ phase: 'refused', holdId: '', problem })
        setInsists({})
      } else setFailed(problem)
      if (!passing(problem)) attempt.current = null
      const fields = Object.fromEntries(problem.errors.filter(x => x.field.startsWith('patient.')).map(x => [x.field.slice(8), x.message]))
      setErrors(fields)
    }
  }
  const insist = { closed: () => insisting({ closed: true }), held: () => insisting({ held: true }), ...(desk.may('overbook') && { taken: () => insisting({ taken: true }) }) }
  const unknown = failed && passing(failed)
  return html`<${Dialog} title=${t('book.title')} wide kind="book" close=${close}>
    <form class="book" onSubmit=${submit} noValidate>
      <${PatientFields} desk=${desk} draft=${draft} set=${setDraft} errors=${errors} />
      <div class="slotside">
        <${WhenFields} desk=${desk} slot=${slot} set=${change} people=${people} />
        ${type ? html`<${Types} desk=${desk} list=${list} typeId=${type.id} set=${id => { setType(id); setInsists({}); hold.forget() }} />` : html`<p class="muted">${t('book.notypes')}</p>`}
        <${Obstacle} desk=${desk} obstacle=${obstacle} insist=${insist} done=${insisted} />
        ${why === 'taken' && insists.taken && html`<${Field} id="overbook-reason" label=${t('overbook.reason')} hint=${sayObstacle(desk, obstacle)} value=${reason} input=${setReason} error=${errors.reason} maxlength="500" />`}
        ${why && !insists.taken && html`<button type="button" class="textlink" onClick=${next}>${t('book.next')}</button>`}
        <p class=${'holding ' + h.phase} role="status">${h.phase === 'held' && html`<${Icon} name="check" />${t('book.held')}`}</p>
      </div>
      ${failed && html`<p class="error whole" role="alert">${unknown ? t('book.unknown') : t(failKey(failed))}</p>`}
      <footer class="actions">
        <button type="submit" class="btn primary" aria-disabled=${busy || (why && !insisted) ? 'true' : undefined}>${t(busy ? 'book.doing' : unknown ? 'unknown.do' : why === 'taken' && insists.taken ? 'overbook.do' : 'book.do')}</button>
        <button type="button" class="btn" onClick=${() => close()}>${t('cancel')}</button>
        <label class="check"><input type="checkbox" checked=${notify} onChange=${e => setNotify(e.currentTarget.checked)} /><span>${t('tell')}</span></label>
      </footer>
    </form>
  </${Dialog}>`
}
