// The facts of a planned or booked appointment, at a glance.
import { html } from '../lib/html.js'
import { nameOf, typeOf } from '../lib/boot.js'
import { t } from '../lib/i18n.js'
import { Disc } from '../lib/disc.js'
import { foreignZone, range, write } from '../lib/time.js'
import { Name, Where } from '../book/shell.js'

// Zone shows the time zone of the appointment, if the reader's own clock shows another time.
export function Zone({ a }) {
  const zone = foreignZone(a.slotStartDate)
  return (
    zone &&
    html`
      <span class="muted zone">${zone}</span>
    `
  )
}

// Leaf shows the date like a page of a tear-off calendar. It only repeats the text next to it.
export const Leaf = ({ at }) => html`
  <span class="leaf" aria-hidden="true">
    <span>${write('weekday', at)}</span>
    <b>${write('day', at)}</b>
    <span>${write('monthOnly', at)}</span>
  </span>
`

// Ticket shows the facts of the appointment, large enough to read across a room.
export function Ticket({ a, children }) {
  const type = typeOf(a.appointmentTypeId),
    what = type?.name || nameOf(a.appointmentTypeId),
    who = nameOf(a.specialistId)
  return html`
    <section class=${'ticket ' + a.status} aria-label=${t('summary.title')}>
      ${
        children ||
        html`
          <div class="ticket-date">
            <${Leaf} at=${a.slotStartDate} />
            <p class="ticket-when">
              <span>${write('fullDay', a.slotStartDate)}</span>
              <b>${range(a.slotStartDate, a.slotEndDate)}</b>
              <${Zone} a=${a} />
            </p>
          </div>
        `
      }
      <dl>
        ${
          what &&
          html`
            <div>
              <dt>${t('summary.what')}</dt>
              <dd><${Name} of=${what} /></dd>
            </div>
          `
        }
        ${
          who &&
          html`
            <div>
              <dt>${t('summary.who')}</dt>
              <dd class="person">
                <${Disc} name=${who} />
                <${Name} of=${who} />
              </dd>
            </div>
          `
        }
        <div>
          <dt>${t('summary.where')}</dt>
          <dd>
            ${
              type?.remote || a.videoLink
                ? html`
                    ${t('type.remote')}${' '}${
                      a.videoLink &&
                      html`
                        <a href=${a.videoLink} target="_blank" rel="noopener noreferrer"><bdi>${a.videoLink}</bdi></a>
                      `
                    }
                  `
                : html`
                    <${Where} id=${a.place} />
                  `
            }
          </dd>
        </div>
      </dl>
      ${
        type?.cancelText &&
        a.status !== 'cancelled' &&
        html`
          <p class="muted lines"><bdi>${type.cancelText}</bdi></p>
        `
      }
    </section>
  `
}
