// The webhooks in the settings: addresses, events, secrets, a test message, and the recent messages.
import { html, useState } from '../lib/html.js'
import { post } from '../lib/api.js'
import { Field } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { Icon } from '../lib/icons.js'
import { Notice } from '../lib/notice.js'
import { dayAndTime } from '../lib/time.js'
import { Copy } from './copy.js'
import { Deliveries } from './deliveries.js'
import { Check, Trouble, useSend } from './office.js'
import { Plus } from './record.js'

const events = [
  'appointment.created',
  'appointment.cancelled',
  'appointment.rescheduled',
  'upstream.completed',
  'upstream.failed',
  'upstream.needs_review',
]

// HookTest sends a test message to a saved webhook and shows the result.
function HookTest({ desk, id }) {
  const [result, setResult] = useState(null),
    sending = useSend(desk)
  const run = async () => {
    setResult(null)
    const answer = await sending.send(() => post('/v1/settings/webhook-test', { id }, { tries: 1, timeout: 30000 }))
    if (answer) setResult(answer)
  }
  const taken = result?.delivery === 'taken'
  return html`
    <${Trouble} problem=${sending.problem} />
    <div role="status">
      ${
        result &&
        html`
          <${Notice}
            kind=${taken ? 'ok' : 'danger'}
            icon=${taken ? undefined : 'alert'}
            text=${taken ? 'set.hook.taken' : 'set.hook.failed'}
            params=${{ why: result.detail || '' }}
          />
        `
      }
    </div>
    <p>
      <button type="button" class="btn" aria-disabled=${sending.busy ? 'true' : undefined} onClick=${run}>
        ${t(sending.busy ? 'set.mail.doing' : 'set.hook.test')}
      </button>
    </p>
  `
}

export function Webhooks({ desk, list, change, error }) {
  const edit = (i, part) => change(list.map((w, j) => (j === i ? { ...w, ...part } : w)))
  const [seen, setSeen] = useState('')
  return html`
    ${list.map(
      (w, i) => html`
        <fieldset class="hook" key=${w.id || i}>
          <legend>${t('set.hook', { n: i + 1 })}</legend>
          <${Field}
            id=${'hook-' + i}
            label=${t('set.hook.url')}
            error=${error('hook-' + i)}
            type="url"
            value=${w.url}
            input=${url => edit(i, { url })}
            placeholder="https://"
            spellcheck="false"
          />
          <div role="group" aria-label=${t('set.hook.events')}>
            <p class="label">
              ${t('set.hook.events')}${' '}
              <span class="optional">${t(w.events?.length ? 'set.hook.some' : 'set.hook.all')}</span>
            </p>
            <div class="checks">
              ${events.map(
                name => html`
                  <${Check}
                    key=${name}
                    checked=${!w.events?.length || w.events.includes(name)}
                    disabled=${w.events?.length === 1 && w.events[0] === name}
                    input=${on => {
                      const now = w.events?.length ? w.events : events
                      const next = on ? [...now, name] : now.filter(x => x !== name)
                      edit(i, { events: next.length === events.length ? [] : next })
                    }}
                  >
                    ${t('event.' + name)}
                  </${Check}>
                `,
              )}
            </div>
          </div>
          ${
            w.secret
              ? seen === w.id
                ? html`
                    <${Copy} id=${'secret-' + i} label=${t('set.hook.secret')} value=${w.secret} code />
                  `
                : html`
                    <p>
                      <button type="button" class="textlink" onClick=${() => setSeen(w.id)}>
                        ${t('set.hook.secret.show')}
                      </button>
                    </p>
                  `
              : html`
                  <p class="hint">${t('set.hook.secret.later')}</p>
                `
          }
          ${
            w.disabledAt &&
            !w.active &&
            html`
              <p class="hint">${t('set.hook.gone', { when: dayAndTime(w.disabledAt) })}</p>
            `
          }
          ${
            w.previousSecretUntil &&
            html`
              <p class="hint">${t('set.hook.both', { until: dayAndTime(w.previousSecretUntil) })}</p>
            `
          }
          ${
            w.secret &&
            html`
              <${Check}
                checked=${!!w.rotateSecret}
                input=${rotateSecret => edit(i, { rotateSecret })}
                hint=${t('set.hook.rotate.hint')}
              >
                ${t('set.hook.rotate')}
              </${Check}>
            `
          }
          ${
            w.secret &&
            html`
              <${HookTest} desk=${desk} id=${w.id} />
              <${Deliveries} desk=${desk} id=${w.id} active=${w.active} />
            `
          }
          <div class="actions">
            <${Check} checked=${w.active} input=${active => edit(i, { active })}>${t('set.hook.active')}</${Check}>
            <button type="button" class="btn quiet" onClick=${() => change(list.filter((_, j) => j !== i))}>
              <${Icon} name="trash" />
              ${t('set.hook.remove')}
            </button>
          </div>
        </fieldset>
      `,
    )}
    <p>
      <${Plus} label="set.hook.add" onClick=${() => change([...list, { url: '', active: true, events: [] }])} />
    </p>
  `
}
