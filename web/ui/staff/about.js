// About shows the desk's notes about a known patient and the patient's earlier no-shows, during a booking.
import { html, useEffect, useState } from '../lib/html.js'
import { Icon } from '../lib/icons.js'
import { t } from '../lib/i18n.js'

// id is an appointment of the patient. It is empty for a new patient.
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
    ) // ignore a failure: the booking does not need the history
    return () => {
      here = false
    }
  }, [id])
  // Count today's no-shows too: an appointment can be marked as a no-show before its end.
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
