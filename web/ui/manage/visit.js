// The people of a group visit, for the patient whose link opens one of its appointments.
import { html } from '../lib/html.js'
import { nameOf, typeOf } from '../lib/boot.js'
import { t } from '../lib/i18n.js'
import { range } from '../lib/time.js'
import { Name } from '../book/shell.js'

// People lists everyone who comes, with the time of each. It shows nothing for an appointment without a visit.
export const People = ({ visit }) =>
  visit?.length > 1 &&
  html`
    <section class="visit" aria-labelledby="visit">
      <h2 id="visit">${t('manage.visit', { n: visit.length })}</h2>
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
