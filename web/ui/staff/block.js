// Blocking time: the date gets an override with the usual hours less the stretch. What is booked inside
// is named and stays. The way back deletes the override.
import { html, useState } from '../lib/html.js'
import { Dialog } from '../lib/dialog.js'
import { Field } from '../lib/form.js'
import { Notice } from '../lib/notice.js'
import { useStore } from '../lib/store.js'
import { t } from '../lib/i18n.js'
import { time, write, zone } from '../lib/time.js'
import { dayIn, minutesOf, textOf } from './day.js'
import { columnIn } from './column.js'
import { openingOf, subtract } from './layout.js'
import { Failed, useChange } from './move.js'
import { sayList, specialistName, typeName, who } from './words.js'
import { slotOf } from './when.js'

// overrideFor is the body that takes a stretch out of a date, in the specialist's own wall clock.
export function overrideFor(s, specialistId, { date, from, to }, reason) {
  const own = s.specialists.find(x => x.id === specialistId)?.timezone || zone
  const here = dayIn(date, zone), local = dayIn(slotIn(here.at(from), own), own)
  const cut = { from: Math.round(local.minuteOf(here.at(from))), to: Math.round(local.minuteOf(here.at(to))) }
  const { open } = openingOf(s.hours[specialistId], own, local)
  const hours = subtract(open, cut)
  return { date: local.date, reason, ...(hours.length ? { hours: hours.map(w => ({ start: textOf(w.from), end: textOf(w.to) })) } : { closed: true }) }
}
const slotIn = (ms, tz) => new Intl.DateTimeFormat('en-CA', { timeZone: tz, year: 'numeric', month: '2-digit', day: '2-digit' }).format(ms)

export function Block({ desk, specialistId, start, minutes, close }) {
  const s = useStore(desk.store), at = slotOf(start)
  const [draft, setDraft] = useState({ date: at.date, from: at.time, to: textOf(Math.min(1439, minutesOf(at.time) + minutes)) })
  const [reason, setReason] = useState('')
  const change = useChange(async (body, key) => {
    await desk.override(specialistId, body, key)
    desk.toast('block.done', { from: draft.from, to: draft.to, who: specialistName(s, specialistId) })
    close()
  })
  const range = { date: draft.date, from: minutesOf(draft.from), to: draft.to === '23:59' ? 1440 : minutesOf(draft.to) }
  const wrong = range.to <= range.from
  const column = columnIn(s, draft.date, specialistId)
  const inside = column.items.filter(i => i.kind === 'card' && i.from < range.to && range.from < i.to).map(i => i.of)
  const set = key => e => setDraft({ ...draft, [key]: e.currentTarget.value })
  const submit = e => {
    e.preventDefault()
    if (!wrong) change.go(overrideFor(s, specialistId, range, reason.trim()))
  }
  return html`<${Dialog} title=${t('block.title', { who: specialistName(s, specialistId) })} close=${close}>
    <form class="stack" onSubmit=${submit} noValidate>
      <p class="fromto"><span>${write('longDay', draft.date)}</span></p>
      <div class="when"><${Field} id="block-from" label=${t('block.from')}><input id="block-from" type="time" step="300" value=${draft.from} onInput=${set('from')} /></${Field}>
        <${Field} id="block-to" label=${t('block.to')}><input id="block-to" type="time" step="300" value=${draft.to} onInput=${set('to')} /></${Field}></div>
      ${wrong && html`<p class="error" role="alert">${t('block.wrong')}</p>`}
      <${Field} id="block-reason" label=${t('block.reason')} hint=${t('block.reason.hint')} optional value=${reason} input=${setReason} maxlength="500" autofocus />
      ${inside.length > 0 && html`<${Notice} kind="warn" icon="info" role="status" text="block.inside" params=${{ n: inside.length }}>
        <p>${sayList(inside.map(a => `${time(a.start)} ${who(desk, a)} (${typeName(s, a.appointmentTypeId)})`))}</p></${Notice}>`}
      <${Failed} desk=${desk} problem=${change.problem} a=${null} close=${close} />
      <footer class="actions"><button type="submit" class="btn primary" aria-disabled=${wrong || change.busy ? 'true' : undefined}>${t('block.do')}</button>
        <button type="button" class="btn" onClick=${() => close()}>${t('cancel')}</button></footer>
    </form>
  </${Dialog}>`
}

export function Unblock({ desk, specialistId, id, date, close }) {
  const s = desk.store.get(), name = specialistName(s, specialistId)
  const override = s.hours[specialistId]?.overrides.find(o => o.id === id)
  const change = useChange(async () => {
    await desk.dropOverride(specialistId, id)
    desk.toast('unblock.done', { who: name, date: write('shortDay', date) })
    close()
  })
  return html`<${Dialog} title=${t('unblock.title', { date: write('longDay', date) })} close=${close}>
    <div class="stack"><p>${t('unblock.body', { who: name })}${override?.reason && html` <span class="muted">${t('unblock.reason', { reason: override.reason })}</span>`}</p>
      <${Failed} desk=${desk} problem=${change.problem} a=${null} close=${close} />
      <footer class="actions"><button type="button" class="btn primary" autofocus onClick=${() => change.go(id)}>${t('unblock.do')}</button><button type="button" class="btn" onClick=${() => close()}>${t('cancel')}</button></footer></div>
  </${Dialog}>`
}
