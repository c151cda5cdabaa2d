// A printed day or week: a table for each column on a separate page, with boxes to tick. It is rendered only when the
// browser is about to print.
import { html, useEffect, useState } from '../lib/html.js'
import { boot } from '../lib/boot.js'
import { t } from '../lib/i18n.js'
import { time, write } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { columnIn } from './column.js'
import { each } from './group.js'
import { placeName } from './where.js'
import { typeName, who } from './words.js'

export function PrintSheet({ desk, date, columns }) {
  const [printing, set] = useState(false)
  useEffect(() => {
    const before = () => set(true),
      after = () => set(false)
    addEventListener('beforeprint', before)
    addEventListener('afterprint', after)
    return () => {
      removeEventListener('beforeprint', before)
      removeEventListener('afterprint', after)
    }
  }, [])
  if (!printing) return null
  const s = desk.store.get(),
    { names } = desk.prefs.get()
  return html`
    <div class="sheet">
      ${columns.map(c => {
        const day = c.date || date,
          list = each(columnIn(s, day, c.specialistId).items)
            .filter(i => i.kind === 'card')
            .map(i => i.of)
        return (
          list.length > 0 &&
          html`
            <section key=${c.id}>
              <header>
                <h2><bdi>${c.name}</bdi></h2>
                <p>${write('fullDay', day)}</p>
              </header>
              <table>
                <thead>
                  <tr>
                    <th></th>
                    ${['time', 'patient', 'born', 'type', 'phone', 'notes'].map(
                      x => html`
                        <th key=${x}>${t('list.' + x + '.head')}</th>
                      `,
                    )}
                  </tr>
                </thead>
                <tbody>
                  ${list.map(
                    a => html`
                      <tr key=${a.id}>
                        <td><i class="tick"></i></td>
                        <td>${time(a.start)}</td>
                        <td>
                          <b><bdi>${who(desk, a)}</bdi></b>
                        </td>
                        <td>${names && a.patient?.birthDate ? write('numeric', a.patient.birthDate) : ''}</td>
                        <td>
                          ${typeName(s, a.appointmentTypeId)}${a.overbook ? ' (' + t('card.overbook') + ')' : ''}${
                            placeName(a.place) && ', ' + placeName(a.place)
                          }
                        </td>
                        <td>${names && a.patient?.phone}</td>
                        <td>${names && a.patient?.notes}</td>
                      </tr>
                    `,
                  )}
                </tbody>
              </table>
              <footer>
                <span><bdi>${boot.clinic.name}</bdi></span>
                <span>${t('sheet.printed', { time: time(serverNow()) })}</span>
              </footer>
            </section>
          `
        )
      })}
    </div>
  `
}
