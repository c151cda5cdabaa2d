// The recent messages to one webhook: their content, the receiver's answer, and a button that sends a message again.
import { html, useEffect, useState } from '../lib/html.js'
import { get, newKey, post } from '../lib/api.js'
import { t } from '../lib/i18n.js'
import { say } from '../lib/say.js'
import { dayAndTime } from '../lib/time.js'
import { State, Trouble, useAsk, useSend } from './office.js'
import { signs, why } from './queue.js'

function Delivery({ d, send }) {
  const [icon, kind] = signs[d.status],
    last = d.lastAttempt
  return html`
    <li class="line">
      <div class="line-main">
        <p class="line-title"><b>${t('event.' + d.event)}</b></p>
        <p class="line-facts">
          <${State} kind=${kind} icon=${icon}>${t('queue.state.' + d.status)}</${State}>
          <span>${t('queue.attempts', { done: d.attempts, most: d.maxAttempts })}</span>
          ${
            last &&
            html`
              <span>${t('set.rule.ms', { n: last.durationMillis })}</span>
            `
          }
          <span class="muted">${dayAndTime(last?.at || d.createdAt)}</span>
        </p>
        ${
          d.lastError &&
          html`
            <p class="line-why">${why(d.lastError)}</p>
          `
        }
        <details>
          <summary>${t('set.hook.content')}</summary>
          <p class="label">${t('set.hook.body')}</p>
          <pre dir="ltr">${JSON.stringify(d.body, null, 2)}</pre>
          ${
            last &&
            html`
              <p class="label">
                ${last.status ? t('set.hook.answer', { status: last.status }) : t('set.hook.unanswered')}
              </p>
              ${
                last.body &&
                html`
                  <pre dir="ltr">${last.body}</pre>
                `
              }
            `
          }
        </details>
      </div>
      <div class="line-do">
        ${
          send &&
          d.status !== 'processing' &&
          html`
            <button type="button" class="btn" onClick=${() => send(d.id)}>
              ${t(d.status === 'pending' ? 'queue.retry' : 'set.hook.again')}
            </button>
          `
        }
      </div>
    </li>
  `
}

function List({ desk, id, active }) {
  const asked = useAsk(desk, () => get(`/v1/settings/webhooks/${id}/deliveries`)),
    sending = useSend(desk)
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) asked.again()
    }, 5000)
    return () => clearInterval(timer)
  }, [])
  const send = async op => {
    if (await sending.send(() => post(`/v1/queue/${op}/retry`, {}, { key: newKey() }))) {
      desk.toast('queue.done.resend')
      say(t('queue.done.resend'))
    }
    asked.again()
  }
  const list = asked.data?.deliveries
  return html`
    <${Trouble} problem=${asked.problem || sending.problem} />
    ${
      list &&
      (list.length
        ? html`
            <ul class="lines">
              ${list.map(
                d => html`
                  <${Delivery} key=${d.id} d=${d} send=${active && send} />
                `,
              )}
            </ul>
          `
        : html`
            <p class="muted">${t('set.hook.none')}</p>
          `)
    }
  `
}

export function Deliveries({ desk, id, active }) {
  const [open, setOpen] = useState(false)
  return html`
    <details class="deliveries" onToggle=${e => setOpen(e.currentTarget.open)}>
      <summary>${t('set.hook.deliveries')}</summary>
      ${
        open &&
        html`
          <${List} desk=${desk} id=${id} active=${active} />
        `
      }
    </details>
  `
}
