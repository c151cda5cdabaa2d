// The parts that the page of an appointment loads after it has shown the appointment: links that add it to a web
// calendar, and the people of a group visit.
import { html } from '../lib/html.js'
import { boot, nameOf, typeOf } from '../lib/boot.js'
import { t } from '../lib/i18n.js'
import { words as rich } from '../lib/notice.js'
import { range } from '../lib/time.js'
import { Name } from './shell.js'

// short writes an instant like 20261123T090000Z.
const short = at => new Date(at).toISOString().replace(/[-:]|\.\d+/g, '')

const Open = ({ at, params, name }) => html`
  <a class="textlink" href=${at + new URLSearchParams(params)} target="_blank" rel="noopener noreferrer">${name}</a>
`

// Calendars shows plain links: the page loads nothing from these sites, and they receive the appointment only if the
// patient opens the link. The links contain neither the patient's data nor the link that changes the appointment, nor
// the address of a video call.
export function Calendars({ a, address }) {
  const type = typeOf(a.appointmentTypeId),
    title = [type?.name, boot.clinic.name].filter(Boolean).join(', '),
    remote = type?.remote || a.videoLink,
    location = remote ? t('type.remote') : address || ''
  return html`
    <p class="muted calendars">
      ${rich('after.calendars', {
        google: html`
          <${Open}
            name="Google"
            at="https://calendar.google.com/calendar/render?"
            params=${{
              action: 'TEMPLATE',
              text: title,
              dates: `${short(a.slotStartDate)}/${short(a.slotEndDate)}`,
              location,
            }}
          />
        `,
        outlook: html`
          <${Open}
            name="Outlook"
            at="https://outlook.live.com/calendar/0/deeplink/compose?"
            params=${{
              path: '/calendar/action/compose',
              rru: 'addevent',
              subject: title,
              startdt: a.slotStartDate,
              enddt: a.slotEndDate,
              location,
            }}
          />
        `,
      })}
    </p>
  `
}

// People lists the people of a group visit, with the time of each.
export const People = ({ visit }) => html`
  <section class="visit" aria-labelledby="visit">
    <h2 id="visit">${t('after.visit', { n: visit.length })}</h2>
    <ul>
      ${visit.map(
        x => html`
          <li key=${x.slotStartDate}>
            <b>${range(x.slotStartDate, x.slotEndDate)}</b>
            <${Name} of=${x.name} />
            <span class="muted">
              <${Name} of=${typeOf(x.appointmentTypeId)?.name || nameOf(x.appointmentTypeId)} />
            </span>
          </li>
        `,
      )}
    </ul>
  </section>
`
