// Propose answers a patient's request with another time. The server holds that time until the patient accepts or
// declines.
import { boot } from '../lib/boot.js'
import { html, useState } from '../lib/html.js'
import { post } from '../lib/api.js'
import { serverNow } from '../lib/clock.js'
import { useStore } from '../lib/store.js'
import { Dialog } from '../lib/dialog.js'
import { t } from '../lib/i18n.js'
import { dateOf, dayAndTime } from '../lib/time.js'
import { Failed, useChange } from './move.js'
import { specialistName, typeIn, typeName } from './words.js'
import { NextFree, Obstacle, WhenFields, slotOf, useObstacle, way } from './when.js'

export function Propose({ desk, r, close }) {
  const s = desk.store.get(),
    { name } = r.patient,
    was = Date.parse(r.slotStartDate)
  const [slot, setSlot] = useState(() => ({ ...slotOf(was), specialistId: r.specialistId }))
  const type = typeIn(s, r.appointmentTypeId)
  const people = s.specialists.filter(
    x =>
      desk.reaches(x.id) &&
      (x.id === r.specialistId || (x.active && type?.specialists.some(p => p.specialistId === x.id))),
  )
  const change = useChange(async (body, key) => {
    const { request } = await desk.call(() => post(`/v1/requests/${r.id}/propose`, body, { key }))
    desk.toast('req.done.propose', { when: dayAndTime(request.slotStartDate) })
    close()
  })
  const lost = change.problem && ['slot_taken', 'slot_held'].includes(change.problem.code) ? change.problem : null
  const holds = useStore(desk.store, s => s.holds[r.specialistId]) || {}
  // The proposal may overlap the time of the request, because the server replaces the request's own hold.
  const mine = Object.values(holds).find(h => h.start === was && h.end === Date.parse(r.slotEndDate) && !h.own)?.id
  const obstacle = useObstacle(desk, { typeId: r.appointmentTypeId, slot, mine, problem: lost })
  const same = obstacle.start === was && slot.specialistId === r.specialistId
  const can = obstacle.start > serverNow() && !same && !obstacle.asking && !obstacle.why
  const set = next => {
    setSlot(next)
    change.forget()
  }
  const submit = e => {
    e.preventDefault()
    if (!can) return way()?.focus()
    change.go({ slotStartDate: new Date(obstacle.start).toISOString(), specialistId: slot.specialistId })
  }
  const told = (boot.mail && r.patient.email) || (boot.sms && r.intake?.sms)
  return html`
    <${Dialog} title=${t('req.propose.title', { name })} close=${close}>
      <form class="stack" onSubmit=${submit} novalidate>
        <p class="fromto">
          <span>
            ${t('req.propose.wanted', { when: dayAndTime(r.wantedStartDate || r.slotStartDate) })},${' '}
            <bdi>${specialistName(s, r.specialistId)}</bdi>
          </span>
          <span class="muted">
            ${typeName(s, r.appointmentTypeId)}${type && ', ' + t('minutes', { n: type.durationMinutes })}
          </span>
        </p>
        <${WhenFields} desk=${desk} slot=${slot} set=${set} people=${people} autofocus />
        <${NextFree}
          desk=${desk}
          typeId=${r.appointmentTypeId}
          specialistId=${slot.specialistId}
          from=${slot.date > dateOf(serverNow()) ? slot.date : dateOf(serverNow())}
          choose=${set}
        />
        ${
          !same &&
          html`
            <${Obstacle} desk=${desk} obstacle=${obstacle} insist=${{}} />
          `
        }
        ${
          !lost &&
          html`
            <${Failed} desk=${desk} problem=${change.problem} a=${r} close=${close} />
          `
        }
        <p class="hint">${t(told ? 'req.propose.hint' : 'req.propose.call')}</p>
        <footer class="actions">
          <button type="submit" class="btn primary" aria-disabled=${!can || change.busy ? 'true' : undefined}>
            ${t('req.propose.do')}${change.busy && '…'}
          </button>
          <button type="button" class="btn" onClick=${() => close()}>${t('cancel')}</button>
        </footer>
      </form>
    </${Dialog}>
  `
}
