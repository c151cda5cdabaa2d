// "Your details": the held time on a card with its countdown, and as few questions as the clinic allows.
import { html, useEffect, useRef } from '../lib/html.js'
import { boot, nameOf } from '../lib/boot.js'
import { DateField, ErrorSummary, Field, dateFrom, looksLikeEmail, looksLikePhone } from '../lib/form.js'
import { Notice } from '../lib/notice.js'
import { maxKeeps } from '../lib/hold.js'
import { Icon } from '../lib/icons.js'
import { say } from '../lib/say.js'
import { t } from '../lib/i18n.js'
import { countdown, foreignZone, range, time, write } from '../lib/time.js'
import { Name } from './shell.js'

const required = new Set(boot.settings.requiredFields)

// check gives {patient, errors}: what to send, and what is missing in the order of the fields.
export function check(form) {
  const errors = []
  const bad = (id, key) => errors.push({ id, message: t(key) })
  const name = (form.name || '').trim(), email = (form.email || '').trim(), phone = (form.phone || '').trim()
  const birthDate = dateFrom(form.birthDate), notes = (form.notes || '').trim()
  if (name.length < 2) bad('name', 'field.name.err')
  if (!email && !phone && !required.has('email') && !required.has('phone')) bad('email', 'field.contact.err')
  else {
    if (email ? !looksLikeEmail(email) : required.has('email')) bad('email', 'field.email.err')
    if (phone ? !looksLikePhone(phone) : required.has('phone')) bad('phone', 'field.phone.err')
  }
  if (birthDate === null || (required.has('birthDate') && !birthDate)) bad('birthDate', 'field.birthDate.err')
  if (required.has('notes') && !notes) bad('notes', 'field.notes.err')
  return { errors, patient: { name, ...(email && { email }), ...(phone && { phone }), ...(birthDate && { birthDate }), ...(notes && { notes }) } }
}
// The server's own complaints, put beside the fields they are about.
export const errorsFrom = problem => problem.errors.map(e => {
  const id = e.field.replace(/^.*\./, '')
  return { id, message: ['name', 'email', 'phone', 'birthDate', 'notes'].includes(id) ? t(`field.${id}.err`) : e.message }
})

export function HoldCard({ hold, type, keep, reclaim }) {
  const said = useRef()
  const { left, phase } = hold
  const at = time(hold.start)
  const minutes = Math.ceil(left / 60)
  const warning = phase === 'warning'
  // Spoken at five, two and one minutes, and not every second.
  useEffect(() => {
    if (!(left > 0) || phase === 'booking') return
    const step = [300, 120, 60].find(x => left <= x && left > x - 5)
    if (step && said.current !== step) {
      said.current = step
      say(t(step > 120 ? 'hold.left.sr' : 'hold.warn', { time: at, n: step / 60 }))
    }
  }, [left])
  useEffect(() => {
    if (hold.note === 'kept') say(t('hold.kept', { time: at, m: Math.round(left / 60) }))
    if (hold.note === 'again') say(t('hold.again'))
  }, [hold.note, hold.keeps])
  const whole = (type.maxHoldSeconds || 900)
  const lapsed = phase === 'lapsed' || phase === 'reclaiming'
  const zone = foreignZone(hold.start)
  return html`
    <section class=${'hold ' + phase} aria-label=${t('summary.title')} data-phase=${phase}>
      <div class="hold-head">
        <p class="hold-when"><span>${write('longDay', hold.start)}</span><b>${hold.end && hold.end !== hold.start ? range(hold.start, hold.end) : at}</b></p>
        <p class="hold-left" role="timer">${lapsed ? t(phase === 'lapsed' ? 'hold.lapsed.short' : 'hold.reclaiming')
          : left > 0 ? t('hold.left', { clock: countdown(left) }) : ''}</p>
      </div>
      <p class="hold-what"><${Name} of=${type.name} />${hold.specialistId && html`<span class="sep">·</span><${Name} of=${nameOf(hold.specialistId)} />`}${zone && html`<span class="sep">·</span>${zone}`}</p>
      <div class="tide" aria-hidden="true"><i style=${{ transform: `scaleX(${lapsed ? 0 : Math.min(1, Math.max(0, (left || 0) / whole))})` }}></i></div>
    </section>
    ${warning && hold.keeps < maxKeeps && html`<${Notice} kind="warn" text="hold.warn" params=${{ time: at, n: minutes }}>
      <button type="button" class="btn" onClick=${keep}>${t('hold.keep')}</button></${Notice}>`}
    ${!warning && !lapsed && hold.note === 'kept' && html`<${Notice} kind="ok" text="hold.kept" params=${{ time: at, m: Math.round(left / 60) }} />`}
    ${!warning && !lapsed && hold.note === 'again' && html`<${Notice} text="hold.again" />`}
    ${phase === 'lapsed' && html`<${Notice} kind="warn" text="hold.lapsed" params=${{ time: at }}>
      <button type="button" class="btn" onClick=${reclaim}>${t('hold.lapsed.do')}</button></${Notice}>`}`
}

export function DetailsForm({ form, errors, tries, busy, ready, change, submit, other }) {
  const put = key => value => change({ ...form, [key]: value })
  const err = id => errors.find(e => e.id === id)?.message
  const contact = required.has('email') || required.has('phone')
  const send = e => {
    e.preventDefault()
    if (!busy && ready) submit()
  }
  return html`<form class="details" onSubmit=${send} noValidate>
    <${ErrorSummary} errors=${errors} n=${tries} />
    <${Field} id="name" label=${t('field.name')} value=${form.name} input=${put('name')} error=${err('name')} autocomplete="name" maxlength="200" required />
    ${!contact && html`<p class="hint lone">${t('field.contact.hint')}</p>`}
    <${Field} id="email" label=${t('field.email')} hint=${t('field.email.hint')} optional=${!required.has('email')} type="email" inputmode="email"
      value=${form.email} input=${put('email')} error=${err('email')} autocomplete="email" maxlength="254" spellcheck=${false} autocapitalize="none" />
    <${Field} id="phone" label=${t('field.phone')} optional=${!required.has('phone')} type="tel" inputmode="tel"
      value=${form.phone} input=${put('phone')} error=${err('phone')} autocomplete="tel" maxlength="40" />
    ${required.has('birthDate') && html`<${DateField} id="birthDate" label=${t('field.birthDate')} hint=${t('field.birthDate.hint')}
      value=${form.birthDate} input=${put('birthDate')} error=${err('birthDate')} />`}
    ${required.has('notes') && html`<${Field} id="notes" label=${t('field.notes')} rows="3" value=${form.notes} input=${put('notes')} error=${err('notes')} maxlength="1000" />`}
    <div class="actions">
      <button type="submit" class="btn primary big" aria-disabled=${busy || !ready ? 'true' : undefined}>
        ${t(busy ? 'confirm.doing' : 'confirm.do')}${busy && '…'}</button>
      <button type="button" class="textlink" onClick=${other}>${t('details.other')}</button>
    </div>
  </form>`
}
