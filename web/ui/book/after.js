// The parts that the page of an appointment loads when it needs them: the choice of a new time, links that add the
// appointment to a web calendar, the people of a group visit, the other times of a series, and a new time that the
// clinic proposes.
import { html } from '../lib/html.js'
import { boot, nameOf, typeOf } from '../lib/boot.js'
import { post } from '../lib/api.js'
import { need, t } from '../lib/i18n.js'
import { words as rich } from '../lib/notice.js'
import { range, write } from '../lib/time.js'
import { Name } from './shell.js'

export { Change } from '../manage/change.js'
export { Proposed } from '../manage/proposed.js'
export { Recall } from '../manage/recall.js'

// Places lets the patient choose the place of the new time. It is missing if the clinic has only one place.
export const Places = boot.places.length > 1 && (await Promise.all([import('./choose.js'), need('choose')]))[0].Places

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

// joined returns an appointment that stands for all people of a group visit, from the first start to the last end.
export const joined = (a, { list }) => ({
  ...a,
  status: 'confirmed',
  specialistId: list[0].specialistId,
  slotStartDate: list[0].slotStartDate,
  slotEndDate: list[list.length - 1].slotEndDate,
})

// whole returns an appointment type that stands for all people of a visit: the calendar lists the times at which all of
// them fit. Without approval, the patient can move the visit. It returns nothing if a type is not offered online.
export function whole({ list, n }) {
  const types = list.map(x => typeOf(x.appointmentTypeId))
  return (
    types.every(Boolean) && {
      ...types[0],
      name: t('after.visit', { n }),
      horizonDays: Math.min(...types.map(x => x.horizonDays)),
      bufferAfterMinutes: types[types.length - 1].bufferAfterMinutes,
      with: types
        .slice(1)
        .map(x => x.id)
        .join(),
      approval: list.length < n || types.some(x => x.approval),
    }
  )
}

// change sends a change of a visit. It returns the appointment of the link, if it is one of those that change.
export async function change(path, body, options) {
  const { appointments } = await post(path, body, options)
  return { appointment: appointments.find(x => x.patient) }
}

const Person = ({ x }) => html`
  <b>${range(x.slotStartDate, x.slotEndDate)}</b>
  <${Name} of=${x.name} />
  <span class="muted"><${Name} of=${typeOf(x.appointmentTypeId)?.name || nameOf(x.appointmentTypeId)} /></span>
`

// People lists the people of a group visit, with the time of each.
export const People = ({ visit }) => html`
  <section class="visit" aria-labelledby="visit">
    <h2 id="visit">${t('after.visit', { n: visit.n })}</h2>
    <ul>
      ${visit.list.map(
        x => html`
          <li key=${x.appointmentId}><${Person} x=${x} /></li>
        `,
      )}
    </ul>
  </section>
`

// Series lists the other times of the patient's series. The link of one appointment does not open the others.
export const Series = ({ list }) => html`
  <section class="visit" aria-labelledby="series">
    <h2 id="series">${t('after.series')}</h2>
    <ul>
      ${list.map(
        x => html`
          <li key=${x.slotStartDate}>
            ${write('longDay', x.slotStartDate)},${' '}
            <b class="nowrap">${range(x.slotStartDate, x.slotEndDate)}</b>
          </li>
        `,
      )}
    </ul>
  </section>
`

// Scope lets the patient choose whose appointments to cancel. only is the appointment of one person, or nothing.
export const Scope = ({ visit, only, set }) => html`
  <fieldset class="visit">
    <legend><h2>${t('after.visit', { n: visit.n })}</h2></legend>
    ${[{}, ...(visit.n > 1 ? visit.list : [])].map(
      x => html`
        <label class="option" key=${x.appointmentId}>
          <input type="radio" name="only" checked=${x.appointmentId === only} onChange=${() => set(x.appointmentId)} />
          <span class="face">
            ${
              x.name
                ? html`
                    <${Person} x=${x} />
                  `
                : t('after.visit.all', { n: visit.n })
            }
          </span>
        </label>
      `,
    )}
  </fieldset>
`

// label names the button that cancels the chosen appointments.
export const label = ({ list, n }, only) =>
  only ? t('after.visit.one', { name: list.find(x => x.appointmentId === only)?.name }) : t('after.visit.do', { n })
