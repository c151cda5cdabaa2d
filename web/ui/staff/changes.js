// The log of one appointment in its dialog: who booked, moved or cancelled it, and when. The summary line shows the
// latest change, so that the desk can immediately answer "who cancelled this?".
import { html, useEffect, useState } from '../lib/html.js'
import { t } from '../lib/i18n.js'
import { dateOf, dayAndTime, time } from '../lib/time.js'
import { go, today } from './daybar.js'
import { specialistName } from './words.js'

const text = (key, params) => (t(key, params) === key ? '' : t(key, params))
const clock = at => (dateOf(Date.parse(at)) === today() ? time(at) : dayAndTime(at))

// whoDid returns the name of the user or program that made a change. Without a name, it returns the kind of the author.
export const whoDid = e => e.actorName || text('audit.by.' + e.actor.split(':')[0]) || e.actor

function what(e) {
  const name = e.action.replace(/^appointment\./, '')
  if (name === 'attendance') return t('log.attendance', { to: text('att.' + e.after?.attendance) })
  return text('log.do.' + name) || e.action
}
const line = e => t('log.line', { what: what(e), who: whoDid(e), when: clock(e.at) })

// moved returns the old and the new time of a move. It adds the specialists if they differ.
function moved(s, e) {
  const [from, to] = [e.before, e.after]
  if (!from?.slotStartDate || !to?.slotStartDate) return ''
  const other = from.specialistId !== to.specialistId
  if (!other && from.slotStartDate === to.slotStartDate) return ''
  const place = x => dayAndTime(x.slotStartDate) + (other ? ', ' + specialistName(s, x.specialistId) : '')
  return t('log.moved', { from: place(from), to: place(to) })
}

export function Changes({ desk, id, version, open, close }) {
  const [list, setList] = useState(null),
    [shown, show] = useState(Boolean(open))
  useEffect(() => {
    let here = true
    desk.log(id).then(
      x => {
        if (here) setList(x)
      },
      () => {},
    ) // ignore a failure: the dialog shows the appointment without its log
    return () => {
      here = false
    }
  }, [id, version])
  const s = desk.store.get()
  return html`
    <details class="changes" open=${shown} onToggle=${e => show(e.currentTarget.open)}>
      <summary>
        <b>${t('log.title')}</b>
        ${' '}${
          list?.length > 0 &&
          html`
            <span class="muted"><bdi>${line(list[0])}</bdi></span>
          `
        }
      </summary>
      <ul>
        ${list?.map(
          e => html`
            <li key=${e.id}>
              <span><bdi>${line(e)}</bdi></span>
              ${
                (moved(s, e) || e.reason) &&
                html`
                  <span class="muted">${moved(s, e)} ${' '}${e.reason && t('audit.reason', { reason: e.reason })}</span>
                `
              }
            </li>
          `,
        )}
      </ul>
      ${
        desk.role === 'owner' &&
        html`
          <button
            type="button"
            class="textlink"
            onClick=${() => {
              close()
              go('audit', 'appointment', id)
            }}
          >
            ${t('log.open')}
          </button>
        `
      }
    </details>
  `
}
