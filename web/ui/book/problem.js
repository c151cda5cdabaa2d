// The reason for the server's refusal, in words for the patient. If the patient can do something about it, the notice
// states the next step.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { wordsFor } from '../lib/api.js'
import { recall } from '../lib/store.js'
import { Notice } from '../lib/notice.js'
import { t } from '../lib/i18n.js'
import { dateOf, dayAndTime, near, time } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { Name, PhoneLink } from './shell.js'

// useCountdown returns the seconds until the next retry, and calls done when they have elapsed.
function useCountdown(seconds, done, key) {
  const [left, setLeft] = useState(seconds)
  useEffect(() => {
    if (!seconds) return
    setLeft(seconds)
    const end = performance.now() + seconds * 1000
    const timer = setInterval(() => {
      const s = Math.ceil((end - performance.now()) / 1000)
      setLeft(Math.max(0, s))
      if (s <= 0) {
        clearInterval(timer)
        done?.()
      }
    }, 250)
    return () => clearInterval(timer)
  }, [key])
  return left
}

// own: the patient's live holds from GET /v1/holds, if the quota is full. retry: called after rate_limited, when the
// wait is over. text: a text key that replaces the default text.
export function ProblemNotice({ problem, type, text, holding, own = [], release, retry }) {
  const ref = useRef()
  const limited = problem.code === 'rate_limited' && problem.reason !== 'public_bookings'
  const left = useCountdown(limited ? problem.retryAfter || 8 : 0, retry, problem)
  useEffect(() => {
    ref.current?.focus({ preventScroll: false })
  }, [problem])
  let key = text || wordsFor(problem)
  if (key === 'err.storage' && !holding) key = 'err.storage.nohold'
  if (key === 'err.cooldown_active')
    key = !type || !problem.until ? 'err.not_bookable' : problem.start ? key + '.at' : key
  if (key === 'err.quota_exceeded' && !own.length) key = 'err.quota_exceeded.elsewhere'
  const booked = recall('booked')
  const until =
    problem.until &&
    (Math.abs(Date.parse(problem.until) - serverNow()) < 6 * 864e5
      ? near(problem.until, dateOf(serverNow()))
      : dayAndTime(problem.until))
  const params = {
    s: left,
    n: own.length,
    type: html`
      <${Name} of=${type?.name || ''} />
    `,
    when: until,
    start: problem.start && dayAndTime(problem.start),
    reason: problem.detail,
    phone: html`
      <${PhoneLink} />
    `,
  }
  const kind = limited || key.startsWith('err.storage') ? 'warn' : 'danger'
  return html`
    <${Notice} kind=${kind} role="alert" tabIndex="-1" innerRef=${ref} text=${key} params=${params}>
      ${
        problem.code === 'cooldown_active' &&
        booked &&
        booked.id === problem.appointmentId &&
        html`
          <a class="btn" href=${booked.url}>${t('err.cooldown.do')}</a>
        `
      }
      ${
        problem.code === 'quota_exceeded' &&
        own.map(
          h => html`
            <button type="button" class="btn" key=${h.holdId} onClick=${() => release(h)}>
              ${dayAndTime(h.slotStartDate)}
            </button>
          `,
        )
      }
    </${Notice}>
  `
}

// LinkNotice explains in one line what the state of the connection means for the patient. It shows nothing while the
// connection works.
export function LinkNotice({ link, asOf, hold, takeOver }) {
  if (link === 'replaced') {
    return html`
      <${Notice} kind="warn" icon="info" text="replaced" role="status">
        <button type="button" class="btn" onClick=${takeOver}>${t('replaced.do')}</button>
      </${Notice}>
    `
  }
  if (!['slow', 'offline'].includes(link)) return null
  if (link === 'offline' && hold?.expiresAt > serverNow())
    return html`
      <${Notice}
        kind="warn"
        icon="offline"
        role="status"
        text="offline.hold"
        params=${{ time: time(hold.start), clock: time(hold.expiresAt) }}
      />
    `
  return html`
    <${Notice}
      kind="warn"
      icon="offline"
      role="status"
      text=${asOf ? link : 'offline.empty'}
      params=${{ clock: asOf && time(asOf) }}
    />
  `
}
