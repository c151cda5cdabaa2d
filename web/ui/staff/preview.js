// The slots of seven days with the edited hours, which the server computes before the user saves. Days on which the
// clocks change are marked.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { Trouble } from '../lib/trouble.js'
import { t } from '../lib/i18n.js'
import { addDays, dateOf, hhmm, write } from '../lib/time.js'
import { dayIn } from './day.js'

// changesClocks returns by how many minutes the clocks go forward on a date. The number is negative if they go back.
export const changesClocks = (date, zone) => {
  const day = dayIn(date, zone)
  return 1440 - (day.end - day.start) / 6e4
}

// ask({from, to}) returns a promise of the server's answer. signature is a text that changes whenever the hours change.
export function Preview({ ask, signature, from, zone, days = 7, hold }) {
  const [state, setState] = useState({ slots: null, problem: null })
  const n = useRef(0)
  useEffect(() => {
    if (hold) return
    const mine = ++n.current
    const timer = setTimeout(() => {
      setState(s => ({ ...s, busy: true }))
      ask({ from, to: addDays(from, days) }).then(
        answer => {
          if (mine === n.current) setState({ slots: answer.slots, problem: null })
        },
        problem => {
          if (mine === n.current) setState(s => ({ slots: s.slots, problem }))
        },
      )
    }, 350)
    return () => clearTimeout(timer)
  }, [signature, from, hold])
  const byDate = {}
  for (const s of state.slots || []) (byDate[dateOf(s.start, zone)] ||= new Set()).add(hhmm(s.start, zone))
  const dates = Array.from({ length: days }, (_, i) => addDays(from, i))
  const total = Object.values(byDate).reduce((sum, set) => sum + set.size, 0)
  return html`
    <div class=${'preview' + (state.busy ? ' busy' : '')} aria-busy=${state.busy ? 'true' : undefined}>
      <${Trouble} problem=${state.problem} />
      <p class="muted" role="status">${state.slots ? t('preview.total', { n: total }) : t('preview.loading')}</p>
      <ol>
        ${dates.map(date => {
          const times = [...(byDate[date] || [])].sort(),
            shift = changesClocks(date, zone)
          return html`
            <li key=${date}>
              <h3>
                <span>${write('shortDay', date)}</span>
                <span class="muted">${state.slots && t('preview.count', { n: times.length })}</span>
              </h3>
              ${
                shift !== 0 &&
                html`
                  <p class="dst">${t(shift > 0 ? 'preview.forward' : 'preview.back')}</p>
                `
              }
              ${
                times.length > 0 &&
                html`
                  <p class="slots">
                    ${times.map(
                      x => html`
                        <span key=${x}>${write('time', '2000-01-01T' + x + ':00Z', 'UTC')}</span>
                      `,
                    )}
                  </p>
                `
              }
            </li>
          `
        })}
      </ol>
    </div>
  `
}
