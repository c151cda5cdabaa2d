// The outbound queue: operations for the practice system, webhooks and email to patients. Each line shows the state in
// words, the time of the next try, and the actions for the user.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { del, get, newKey, post } from '../lib/api.js'
import { nameOf } from '../lib/boot.js'
import { serverNow } from '../lib/clock.js'
import { Notice } from '../lib/notice.js'
import { lang, t } from '../lib/i18n.js'
import { countdown, dayAndTime, write } from '../lib/time.js'
import { reasonOf } from './reasons.js'
import { Confirm, Office, State, Trouble, useAsk, useNow, useSend, Nothing } from './office.js'

export const signs = {
  pending: ['clock', ''],
  processing: ['play', 'info'],
  completed: ['check', 'ok'],
  failed: ['alert', 'danger'],
  review: ['help', 'warn'],
}
const stateOf = op => (op.status === 'failed' && op.needsReview ? 'review' : op.status)
// wall formats the start of an appointment, which is in the practice system's local time, "11/23/2026 10:00 AM".
const wall = text => {
  const m = /^(\d+)\/(\d+)\/(\d+) (\d+):(\d+) (AM|PM)$/.exec(text || '')
  if (!m) return text || ''
  const at = Date.UTC(+m[3], +m[1] - 1, +m[2], (+m[4] % 12) + (m[6] === 'PM' ? 12 : 0), +m[5])
  return `${write('shortDay', at, 'UTC')}, ${write('time', at, 'UTC')}`
}
export function why(text, review) {
  const known = reasonOf(text)
  if (known) return t('queue.why.' + (known === 'unknown' && review ? 'unseen' : known))
  return lang === 'en'
    ? text
    : html`
        ${t('queue.why.other', { text: '' })}
        <bdi lang="en">${text}</bdi>
      `
}
const kindOf = kind => {
  const word = t('queue.kind.' + kind)
  return word.startsWith('queue.') ? kind : word
}

function Operation({ op, offset, run, ask }) {
  const state = stateOf(op),
    [icon, kind] = signs[state] || signs.pending
  const left = op.nextRetryAt ? (Date.parse(op.nextRetryAt) - offset) / 1000 : 0
  return html`
    <li class="line">
      <div class="line-main">
        <p class="line-title">
          <b>${kindOf(op.kind)}</b>
          ${
            op.childName &&
            html`
              ${' '}
              <bdi>${op.childName}</bdi>
            `
          }${
            op.startTime &&
            html`
              <span class="muted">${' '}${wall(op.startTime)}</span>
            `
          }
        </p>
        <p class="line-facts">
          <${State} kind=${kind} icon=${icon}>${t('queue.state.' + state)}</${State}>
          <span>${t('queue.attempts', { done: op.attempts, most: op.maxAttempts })}</span>
          ${
            state === 'pending' &&
            op.nextRetryAt &&
            html`
              <span>
                ${left > 0 ? t('queue.next', { clock: countdown(left).replace(/^0(?=\d:)/, '') }) : t('queue.due')}
              </span>
            `
          }
          <span class="muted">${t('queue.since', { when: dayAndTime(op.createdAt) })}</span>
        </p>
        ${
          op.lastError &&
          state !== 'completed' &&
          html`
            <p class="line-why">${why(op.lastError, state === 'review')}</p>
          `
        }
        ${
          state === 'review' &&
          html`
            <p class="line-why">${t(op.kind === 'sms' ? 'queue.review.sms' : 'queue.review.ask')}</p>
          `
        }
      </div>
      <div class="line-do">
        ${
          state === 'review'
            ? html`
                <button
                  type="button"
                  class="btn"
                  onClick=${() => run(() => post(`/v1/queue/${op.id}/review`, { decision: 'exists' }, { key: newKey() }), 'queue.done.exists')}
                >
                  ${t('queue.exists')}
                </button>
                <button
                  type="button"
                  class="btn"
                  onClick=${() => run(() => post(`/v1/queue/${op.id}/review`, { decision: 'resend' }, { key: newKey() }), 'queue.done.resend')}
                >
                  ${t('queue.resend')}
                </button>
                <button type="button" class="btn quiet" onClick=${() => ask(op)}>${t('queue.giveup')}</button>
              `
            : state === 'completed' || state === 'processing'
              ? null
              : html`
                  <button
                    type="button"
                    class="btn"
                    onClick=${() => run(() => post(`/v1/queue/${op.id}/retry`, {}, { key: newKey() }), 'queue.done.retry')}
                  >
                    ${t('queue.retry')}
                  </button>
                  ${
                    op.lastError !== 'given up by hand' &&
                    html`
                      <button type="button" class="btn quiet" onClick=${() => ask(op)}>${t('queue.giveup')}</button>
                    `
                  }
                `
        }
      </div>
    </li>
  `
}

// Practice shows the open operations for the practice system, their age, and the system's recent refusals.
function Practice({ desk }) {
  const asked = useAsk(desk, () => get('/v1/upstream-status'))
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) asked.again()
    }, 15000)
    return () => clearInterval(timer)
  }, [])
  const x = asked.data
  if (!x?.configured || (!x.openings.fetched && !x.closures.length)) return null
  const { openings } = x,
    used = openings.types
      .filter(k => k.used)
      .map(k => k.oldest)
      .sort()
  const clock = at => write('time', at)
  return html`
    <section class="plate" id="practice" aria-label=${t('practice.title')}>
      <h2>${t('practice.title')}</h2>
      ${
        openings.failedSince &&
        html`
          <${Notice} kind="warn" icon="alert" text="practice.failed" params=${{ time: clock(openings.failedSince) }} />
        `
      }
      ${
        openings.fetched &&
        (used.length
          ? html`
              <p>${t('practice.age', { time: clock(used[0]) })}</p>
            `
          : openings.types.length > 0 &&
            html`
              <p class="muted">${t('practice.none')}</p>
            `)
      }
      ${
        x.closures.length > 0 &&
        html`
          <ul>
            ${x.closures.map(
              k => html`
                <li key=${k.specialistId + k.slotStartDate}>
                  ${t('practice.closed', {
                    until: clock(k.until),
                    who: nameOf(k.specialistId),
                    when: dayAndTime(k.slotStartDate),
                  })}
                </li>
              `,
            )}
          </ul>
        `
      }
    </section>
  `
}

export function Page({ desk }) {
  const [filter, setFilter] = useState(''),
    [confirming, setConfirming] = useState(null)
  const queue = useAsk(desk, () => get('/v1/queue-status', { status: filter, kind: 'all' }), filter)
  const sending = useSend(desk)
  useNow(1000)
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) queue.again()
    }, 5000)
    return () => clearInterval(timer)
  }, [filter])
  const run = async (change, word) => {
    if (await sending.send(change)) desk.toast(word)
    queue.again()
  }
  const retryAll = async () => {
    const answer = await sending.send(() => post('/v1/queue-retry', {}, { key: newKey() }))
    if (answer) desk.toast('queue.done.all', { n: answer.retried })
    queue.again()
  }
  const q = queue.earlier // its totals are the same for every filter
  // While the pointer or the focus is in the list, the lines keep their positions, so that a click reaches the intended
  // line.
  const still = useRef(null),
    ids = useRef([])
  const place = op => {
    const at = still.current ? still.current.indexOf(op.id) : 0
    return at < 0 ? Infinity : at
  }
  const list = [...(queue.data?.operations || [])].sort((a, b) => (place(a) === place(b) ? 0 : place(a) - place(b)))
  ids.current = list.map(op => op.id)
  const hold = () => {
    still.current ||= ids.current
  }
  const release = e => {
    if (!e.currentTarget.matches(':hover, :focus-within')) still.current = null
  }
  const totals = ['', 'pending', 'processing', 'completed', 'failed']
  return html`
    <${Office} desk=${desk} name="queue" lead=${t('queue.lead')} ask=${queue}>
      ${
        q &&
        html`
          <div class="totals" role="group" aria-label=${t('queue.filter')}>
            ${totals.map(
              s => html`
                <button
                  type="button"
                  key=${s}
                  class="total"
                  aria-pressed=${s === filter ? 'true' : 'false'}
                  onClick=${() => setFilter(s)}
                >
                  <b>${q[s || 'total'] ?? 0}</b>
                  <span>${t(s ? 'queue.state.' + s : 'queue.all')}</span>
                </button>
              `,
            )}
          </div>
          <${Practice} desk=${desk} />
          <${Trouble} problem=${sending.problem} />
          ${
            q.failed > 0 &&
            !filter &&
            html`
              <${Notice} kind="warn" icon="alert" text="queue.attention" params=${{ n: q.failed }} />
              ${
                list.some(op => stateOf(op) === 'failed') &&
                html`
                  <div class="actions">
                    <button
                      type="button"
                      class="btn"
                      id="retry-all"
                      aria-disabled=${sending.busy ? 'true' : undefined}
                      onClick=${retryAll}
                    >
                      ${t('queue.retry.all')}
                    </button>
                  </div>
                `
              }
            `
          }
          ${
            list.length
              ? html`
                  <ul
                    class="lines"
                    onPointerEnter=${hold}
                    onFocusIn=${hold}
                    onPointerLeave=${release}
                    onFocusOut=${release}
                  >
                    ${list.map(
                      op => html`
                        <${Operation} key=${op.id} op=${op} offset=${serverNow()} run=${run} ask=${setConfirming} />
                      `,
                    )}
                  </ul>
                `
              : queue.data &&
                html`
                  <${Nothing} icon="queue">${t(filter ? 'queue.none.filter' : 'queue.none')}</${Nothing}>
                `
          }
        `
      }
      ${
        confirming &&
        html`
          <${Confirm}
            desk=${desk}
            title=${t('queue.giveup')}
            text=${t(confirming.kind.startsWith('upstream') ? 'queue.giveup.text' : 'queue.giveup.notice')}
            action=${t('queue.giveup')}
            close=${() => setConfirming(null)}
            run=${async () => {
              await (stateOf(confirming) === 'review'
                ? post(`/v1/queue/${confirming.id}/review`, { decision: 'give_up' }, { key: newKey() })
                : del('/v1/queue/' + confirming.id))
              desk.toast('queue.done.giveup')
              queue.again()
            }}
          />
        `
      }
    </${Office}>
  `
}
