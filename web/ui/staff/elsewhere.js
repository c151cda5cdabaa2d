// A specialist's external calendar. While the specialist is busy in it, no appointment can be booked here. `level` is
// the tag of the heading.
import { html, useState } from '../lib/html.js'
import { del, get, post, put } from '../lib/api.js'
import { Field } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { Notice } from '../lib/notice.js'
import { dayAndTime } from '../lib/time.js'
import { State, Trouble, useAsk, useSend } from './office.js'

const said = [
  'private_address',
  'insecure',
  'unreachable',
  'too_large',
  'not_a_calendar',
  'address_unreadable',
  'status_401',
  'status_403',
  'status_404',
  'status_410',
]
const failureKey = failure =>
  'elsewhere.fail.' +
  (said.includes(failure)
    ? failure.replace(/^status_(401|403)$/, 'refused').replace(/^status_(404|410)$/, 'gone')
    : 'status')

export function Elsewhere({ desk, specialistId, level = 'h2' }) {
  const path = `/v1/specialists/${encodeURIComponent(specialistId)}/busy-calendar`
  const asked = useAsk(desk, async () => (await get(path)).busyCalendar),
    sending = useSend(desk)
  const [url, setURL] = useState('')
  const state = asked.data
  if (!state)
    return html`
      <${Trouble} problem=${asked.problem} />
    `
  const run = async change => {
    const answer = await sending.send(change)
    if (answer) asked.set(answer.busyCalendar)
    return answer
  }
  const read = () => post(path + '/read', undefined, { tries: 1, timeout: 40000 })
  const save = async e => {
    e.preventDefault()
    if (!url.trim()) {
      sending.refuse({ url: t('elsewhere.url.err') })
      return
    }
    const answer = await run(async () => {
      await put(path, { url: url.trim() })
      return read()
    })
    if (answer) setURL('')
  }
  const end = async () => {
    if (await sending.send(() => del(path))) {
      asked.set({ on: false, conflicts: [] })
      desk.toast('elsewhere.ended')
    }
  }
  const busy = sending.busy ? 'true' : undefined
  return html`
    <section class="plate setting elsewhere" aria-labelledby="elsewhere">
      <${level} id="elsewhere">${t('elsewhere.title')}</${level}>
      <p class="muted">${t('elsewhere.lead')}</p>
      <${Trouble} problem=${sending.problem && !sending.errors.url ? sending.problem : null} />
      <p role="status">
        ${
          !state.on
            ? html`
                <${State} icon="stop">${t('elsewhere.off')}</${State}>
              `
            : state.readAt
              ? html`
                  <${State}
                    kind=${state.failure || state.old ? '' : 'ok'}
                    icon=${state.failure || state.old ? 'alert' : 'check'}
                  >
                    ${t('elsewhere.on', { host: state.host || '…', when: dayAndTime(state.readAt) })}
                  </${State}>
                `
              : html`
                  <${State} icon="clock">${t('elsewhere.waits', { host: state.host || '…' })}</${State}>
                `
        }
      </p>
      ${
        state.failure &&
        html`
          <${Notice}
            kind="danger"
            text=${failureKey(state.failure)}
            params=${{ status: state.failure.replace('status_', '') }}
          >
            ${
              state.readAt &&
              html`
                <p>${t('elsewhere.stays')}</p>
              `
            }
          </${Notice}>
        `
      }
      ${
        state.old &&
        state.readAt &&
        html`
          <${Notice} kind="warn" text="elsewhere.old" />
        `
      }
      ${
        state.unread > 0 &&
        html`
          <${Notice} kind="warn" text="elsewhere.unread" params=${{ n: state.unread }} />
        `
      }
      ${
        state.conflicts.length > 0 &&
        html`
          <${Notice} kind="warn" text="elsewhere.conflicts" params=${{ n: state.conflicts.length }}>
            <ul>
              ${state.conflicts.slice(0, 20).map(
                c => html`
                  <li key=${c.id}>${dayAndTime(c.start)}</li>
                `,
              )}
            </ul>
          </${Notice}>
        `
      }
      <div class="office-form">
        <${Field}
          id="elsewhere-url"
          type="url"
          label=${t(state.on ? 'elsewhere.url.again' : 'elsewhere.url')}
          hint=${t('elsewhere.url.hint')}
          value=${url}
          input=${setURL}
          error=${sending.errors.url}
          maxlength="2000"
          autocomplete="off"
          spellcheck="false"
          dir="ltr"
        />
        <div class="actions">
          <button type="button" class="btn" onClick=${save} aria-disabled=${busy}>${t('elsewhere.read')}</button>
          ${
            state.on &&
            html`
              <button type="button" class="btn" aria-disabled=${busy} onClick=${() => run(read)}>
                ${t('elsewhere.now')}
              </button>
              <button type="button" class="btn quiet" onClick=${end}>${t('elsewhere.end')}</button>
            `
          }
        </div>
      </div>
    </section>
  `
}
