// The patients who have arrived and are waiting, longest wait first, above today's board. A press on a patient opens
// the appointment. A press on the card's icon marks that the patient was called in.
import { html, useEffect, useState } from '../lib/html.js'
import { Icon } from '../lib/icons.js'
import { useStore } from '../lib/store.js'
import { t } from '../lib/i18n.js'
import { time } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { cell } from './store.js'
import { specialistName, who } from './words.js'

// The page highlights a patient who has waited for more than 15 minutes since the start of the appointment or, if
// later, since the arrival.
const long = 15 * 6e4

const waitingIn = (s, date) =>
  s.specialists
    .flatMap(x => s.cells[cell(date, x.id)] || [])
    .filter(a => a.attendance === 'arrived' && a.arrivedAt)
    .sort((a, b) => (a.arrivedAt < b.arrivedAt ? -1 : 1))

export function Waiting({ desk, date }) {
  const s = useStore(desk.store),
    [now, set] = useState(serverNow)
  useStore(desk.prefs, p => p.names)
  const list = waitingIn(s, date),
    some = list.length > 0
  useEffect(() => {
    set(serverNow())
    if (!some) return
    const timer = setInterval(() => {
      if (!document.hidden) set(serverNow())
    }, 15000)
    return () => clearInterval(timer)
  }, [some, list.length])
  if (!some) return null
  return html`
    <section class="waiting" aria-labelledby="waiting-title">
      <h2 id="waiting-title">
        <${Icon} name="clock" />
        ${t('waiting.title', { n: list.length })}
      </h2>
      <ul>
        ${list.map(a => {
          const since = Date.parse(a.arrivedAt),
            n = Math.max(0, Math.floor((now - since) / 6e4)),
            late = now - Math.max(since, a.start) > long
          return html`
            <li key=${a.id}>
              <button
                type="button"
                class=${'btn' + (late ? ' late' : '')}
                onClick=${() => desk.open('appointment', { id: a.id })}
              >
                <b><bdi>${who(desk, a)}</bdi></b>
                <span>
                  ${t('waiting.since', { n })}${
                    late &&
                    html`
                      <${Icon} name="alert" />
                      <span class="sr">${' '}${t('waiting.late')}</span>
                    `
                  }
                </span>
                <span class="muted">
                  ${time(a.start)},${' '}
                  <bdi>${specialistName(s, a.specialistId)}</bdi>
                </span>
              </button>
            </li>
          `
        })}
      </ul>
    </section>
  `
}
