// What the desk should know about a known patient during a booking: the desk's own notes and earlier
// no-shows.
import { html, useEffect, useState } from '../lib/html.js'
import { Icon } from '../lib/icons.js'
import { t } from '../lib/i18n.js'

// id is an appointment of the patient; empty for a new patient.
export function About({ desk, id }) {
  const [h, setHistory] = useState(null)
  useEffect(() => {
    setHistory(null)
    if (!id) return
    let here = true
    desk.history(id).then(
      x => {
        if (here) setHistory(x)
      },
      () => {},
    ) // the booking does not need it
    return () => {
      here = false
    }
  }, [id])
  // An appointment today can be marked as a no-show before its end.
  const missed = h ? h.noShows + h.coming.filter(a => a.attendance === 'no_show').length : 0
  if (!h || (!h.notes.length && !missed)) return null
  return html`
    <div class="about" role="status">
      ${
        missed > 0 &&
        html`
          <p class="missed">
            <${Icon} name="close" />
            ${t('history.missed', { n: missed })}
          </p>
        `
      }
      ${
        desk.prefs.get().names &&
        h.notes.map(
          n => html`
            <p key=${n.id}>
              <${Icon} name="note" />
              ${' '}
              <span class="notes">${n.text}</span>
            </p>
          `,
        )
      }
    </div>
  `
}
