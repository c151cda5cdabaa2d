// "Your details": the held time, and as few questions as the clinic's settings allow.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { boot } from '../lib/boot.js'
import { remember, useStore } from '../lib/store.js'
import { DateField, ErrorSummary, Field, dateFrom, looksLikeEmail, looksLikePhone } from '../lib/form.js'
import { isHeld } from '../lib/hold.js'
import { useHeading } from '../lib/router.js'
import { Notice, words } from '../lib/notice.js'
import { say } from '../lib/say.js'
import { t } from '../lib/i18n.js'
import { dayAndTime } from '../lib/time.js'
import { HoldCard, placeName } from './held.js'
import { LinkNotice } from './problem.js'
import { Lost } from './lost.js'
import { Eyebrow } from './shell.js'

const required = new Set(boot.settings.requiredFields)

// check returns {patient, errors}: the patient to send, and the errors in the order of the fields.
function check(form) {
  const errors = []
  const bad = (id, key) => errors.push({ id, message: t(key) })
  const name = (form.name || '').trim(),
    email = (form.email || '').trim(),
    phone = (form.phone || '').trim()
  const birthDate = dateFrom(form.birthDate)
  if (name.length < 2) bad('name', 'field.name.err')
  if (!email && !phone && !required.has('email') && !required.has('phone')) bad('email', 'field.contact.err')
  else {
    if (email ? !looksLikeEmail(email) : required.has('email')) bad('email', 'field.email.err')
    if (phone ? !looksLikePhone(phone) : required.has('phone')) bad('phone', 'field.phone.err')
  }
  if (birthDate === null || (required.has('birthDate') && !birthDate)) bad('birthDate', 'field.birthDate.err')
  return {
    errors,
    patient: { name, ...(email && { email }), ...(phone && { phone }), ...(birthDate && { birthDate }) },
  }
}
// errorsFrom converts the server's validation errors to errors of the form's fields.
const errorsFrom = (problem, ask) =>
  problem.errors.map(({ field, message }) => {
    const asked = ask?.complaint(field)
    if (asked) return asked
    const id = field.replace(/^.*\./, '')
    if (id === 'contact') return { id: 'email', message: t('field.contact.err') }
    return ['name', 'email', 'phone', 'birthDate'].includes(id)
      ? { id, message: t(`field.${id}.err`) }
      : { id: 'name', message }
  })

function Form({ ask, form, errors, tries, busy, ready, put, submit, other }) {
  const err = id => errors.find(e => e.id === id)?.message
  const contact = required.has('email') || required.has('phone')
  const send = e => {
    e.preventDefault()
    if (!busy && ready) submit()
  }
  return html`
    <form class="details" onSubmit=${send} novalidate>
      <${ErrorSummary} errors=${errors} n=${tries} />
      <${Field}
        id="name"
        label=${t('field.name')}
        value=${form.name}
        input=${put('name')}
        error=${err('name')}
        autocomplete="name"
        maxlength="80"
        required
      />
      ${
        !contact &&
        html`
          <p class="hint lone">${t('field.contact.hint')}</p>
        `
      }
      <${Field}
        id="email"
        label=${t('field.email')}
        hint=${t(boot.mail ? 'field.email.hint' : 'field.email.hint.nomail')}
        optional=${!required.has('email')}
        type="email"
        inputmode="email"
        value=${form.email}
        input=${put('email')}
        error=${err('email')}
        autocomplete="email"
        maxlength="254"
        spellcheck=${false}
        autocapitalize="none"
      />
      <${Field}
        id="phone"
        label=${t('field.phone')}
        optional=${!required.has('phone')}
        type="tel"
        inputmode="tel"
        value=${form.phone}
        input=${put('phone')}
        error=${err('phone')}
        autocomplete="tel"
        maxlength="40"
      />
      ${
        required.has('birthDate') &&
        html`
          <${DateField}
            id="birthDate"
            label=${t('field.birthDate')}
            hint=${t('field.birthDate.hint')}
            value=${form.birthDate}
            input=${put('birthDate')}
            error=${err('birthDate')}
          />
        `
      }
      ${
        ask &&
        html`
          <${ask.Fields} form=${form} put=${put} err=${err} />
        `
      }
      <div class="actions">
        <button type="submit" class="btn primary big" aria-disabled=${busy || !ready ? 'true' : undefined}>
          ${t(`${ask?.verb || 'confirm'}.${busy ? 'doing' : 'do'}`)}${busy && '…'}
        </button>
        <button type="button" class="textlink" onClick=${other}>${t('details.other')}</button>
      </div>
    </form>
  `
}

// claim, finish and Problems come from page.js. other() and back() return to the times.
export function Details({ ask, page, hold, calendar, steps, claim, finish, Problems, other, back }) {
  const h = useStore(hold.store),
    s = useStore(calendar.store),
    form = useStore(page, p => p.form)
  const [said, setSaid] = useState({ errors: [], n: 0 })
  const [checking, setChecking] = useState(false)
  const heading = useHeading('details')
  const keep = async () => {
    if (!(await hold.keep())) say(t('hold.keep.failed'))
  }
  // Read the form from the store: a password manager fills several fields before the form is drawn again.
  const put = key => value => {
    page.set({ form: { ...page.get().form, [key]: value } })
    remember('form', page.get().form)
  }
  const complain = errors => setSaid(was => ({ errors, n: was.n + 1 }))
  const send = async () => {
    const { errors, patient } = check(form),
      more = ask?.check(form)
    if (more) errors.push(...more.errors)
    complain(errors)
    if (errors.length) return
    // If the specialist has moved to another place since, the server refuses the booking.
    const at = placeName(s.type, h.place) && { place: h.place }
    const after = await finish(await hold.book(patient, { ...more?.said, ...at }))
    if (after?.problem?.code === 'validation_failed') complain(errorsFrom(after.problem, ask))
  }
  const again = async () => {
    setChecking(true)
    await finish(await hold.check())
    setChecking(false)
  }
  useEffect(() => {
    if (h.phase === 'unknown' && s.link === 'live') again()
  }, [s.link])

  // While another time is being claimed, the notice about the lost time stays.
  const lost = useRef(null)
  if (h.phase === 'lost') lost.current = { why: h.why, start: h.start }
  else if (h.phase !== 'claiming') lost.current = null

  return html`
    <${Eyebrow} n=${steps} total=${steps} back=${back} />
    <h1 tabindex="-1" ref=${heading}>${t('details.title')}</h1>
    <${LinkNotice} link=${s.link} asOf=${s.asOf} hold=${isHeld(h) && h} takeOver=${calendar.takeOver} />
    ${
      h.phase === 'booked'
        ? html`
            <${Notice}
              kind="ok"
              role="status"
              text=${html`
                <strong>${t('booked.title')}</strong>
                ${' '}${dayAndTime(h.start)}
              `}
            />
          `
        : h.phase === 'unknown' || (checking && h.phase === 'booking')
          ? html`
              <${Notice} kind="warn" icon="alert" role="alert" text=${[words('unknown.title'), ' ', t('unknown.body')]}>
                <button
                  type="button"
                  class="btn primary"
                  aria-disabled=${checking ? 'true' : undefined}
                  onClick=${() => checking || again()}
                >
                  ${t('unknown.do')}${checking && '…'}
                </button>
              </${Notice}>
            `
          : lost.current
            ? html`
                <${Lost}
                  ...${lost.current}
                  find=${() => calendar.around(lost.current.start)}
                  pick=${claim}
                  busy=${h.phase === 'claiming'}
                />
              `
            : h.phase !== 'idle' &&
              html`
                <${HoldCard} hold=${h} type=${s.type} keep=${keep} reclaim=${hold.reclaim} />
              `
    }
    ${
      h.problem &&
      h.phase !== 'lost' &&
      h.problem.code !== 'validation_failed' &&
      (h.problem.status || s.link !== 'offline') &&
      html`
        <${Problems} h=${h} type=${s.type} />
      `
    }
    <${Form}
      ask=${ask}
      form=${form}
      errors=${said.errors}
      tries=${said.n}
      busy=${h.phase === 'booking'}
      ready=${isHeld(h) || h.phase === 'lapsed'}
      put=${put}
      submit=${send}
      other=${other}
    />
  `
}
