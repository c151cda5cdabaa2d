// Cancelling an appointment, or the appointments of a visit, with the link.
import { html, useRef, useState } from '../lib/html.js'
import { newKey } from '../lib/api.js'
import { Field } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { useHeading } from '../lib/router.js'
import { Ticket } from './ticket.js'

export function Cancel({ a, visit, below, send, done, back, fail }) {
  const heading = useHeading('cancel')
  const [reason, setReason] = useState('')
  const [only, setOnly] = useState(undefined)
  const [busy, setBusy] = useState(false)
  const key = useRef(newKey())
  const cancel = async e => {
    e.preventDefault()
    if (busy) return
    setBusy(true)
    try {
      const { appointment } = await send('/cancel', { reason: reason.trim(), only }, key.current)
      done(appointment)
    } catch (problem) {
      setBusy(false)
      fail(problem)
    }
  }
  return html`
    <h1 tabindex="-1" ref=${heading}>${t(visit ? 'after.visit.cancel' : 'manage.cancel.title')}</h1>
    <${Ticket} a=${a} />
    ${
      visit &&
      html`
        <${below.Scope} visit=${visit} only=${only} set=${setOnly} />
      `
    }
    <form onSubmit=${cancel} novalidate>
      <${Field}
        id="reason"
        label=${t('manage.cancel.reason')}
        optional
        rows="2"
        value=${reason}
        input=${setReason}
        maxlength="500"
      />
      <div class="actions">
        <button type="submit" class="btn danger solid big" aria-disabled=${busy ? 'true' : undefined}>
          ${visit ? below.label(visit, only) : t('manage.cancel')}${busy && '…'}
        </button>
        <button type="button" class="textlink" onClick=${back}>${t('manage.cancel.keep')}</button>
      </div>
    </form>
  `
}
