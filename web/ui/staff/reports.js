// Reports by week or month: bookings by source, cancellations and no-shows, utilisation, lead time, waiting list. The
// server counts. This page contains no patient data.
import { DateInput } from '../lib/typed.js'
import { html, useState } from '../lib/html.js'
import { get } from '../lib/api.js'
import { Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { locale, t } from '../lib/i18n.js'
import { useStore } from '../lib/store.js'
import { shortDate, write } from '../lib/time.js'
import { Bars, shown } from './bars.js'
import { saveCSV } from './csv.js'
import { Office, Select, Trouble, useAsk } from './office.js'
import { specialistName } from './words.js'

const sources = ['web', 'staff', 'agent', 'api']
const monthOf = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', month: 'short', year: 'numeric' })
const percent = (part, whole) => (whole ? Math.round((part / whole) * 100) : 0)
const all = p => p.appointments + p.cancelled
const days = p => Math.round((p.leadHours / 24) * 10) / 10

/** @typedef {[name: () => any, value: (p: any) => number, unit?: string]} Column */

/** @type {(source: string) => Column} */
const bookedBy = x => [() => t('report.source', { source: t('source.' + x) }), p => p.booked[x] || 0]

/** columns are the columns of the table and of the CSV file. Each computes one number of a period.
 * @type {Column[]} */
const columns = [
  ...sources.map(bookedBy),
  [() => t('report.cancelled'), p => percent(p.cancelled, all(p)), '%'],
  [() => t('report.noshow'), p => percent(p.noShows, p.started), '%'],
  [() => t('report.lead'), days],
  [() => t('report.wait.joined'), p => p.waitlist.joined],
  [() => t('report.wait.offered'), p => p.waitlist.offered],
  [() => t('report.wait.booked'), p => p.waitlist.booked],
]

// useOf sums the open and booked minutes of each specialist over all periods.
function useOf(periods) {
  const sums = new Map()
  for (const p of periods)
    for (const u of p.specialists) {
      const sum = sums.get(u.specialistId) || { open: 0, booked: 0 }
      sums.set(u.specialistId, { open: sum.open + u.openMinutes, booked: sum.booked + u.bookedMinutes })
    }
  return [...sums]
}
const hours = minutes => Math.round(minutes / 6) / 10

export function Page({ desk }) {
  const s = useStore(desk.store),
    [by, setBy] = useState('week'),
    [from, setFrom] = useState(''),
    [to, setTo] = useState('')
  const asked = useAsk(desk, () => get('/v1/reports', { by, from, to }), by + from + to)
  const periods = asked.data?.periods || []
  const [first, last] = [periods[0], periods.at(-1)]
  const month = p => monthOf.format(Date.parse(p.from)),
    label = p => (by === 'month' ? month(p) : shortDate(p.from))
  const groups = values =>
    periods.map(p => ({
      label: by === 'month' ? month(p) : write('dayMonth', p.from),
      values: values(p),
    }))
  const use = useOf(periods)
  const save = () =>
    saveCSV('report', [
      [
        t('over.from'),
        t('report.to'),
        ...columns.map(([name]) => name()),
        ...use.map(([id]) => t('report.use.of', { name: specialistName(s, id) })),
      ],
      ...periods.map(p => [
        p.from,
        p.to,
        ...columns.map(([, value]) => value(p)),
        ...use.map(([id]) => {
          const u = p.specialists.find(x => x.specialistId === id)
          return u ? percent(u.bookedMinutes, u.openMinutes) : ''
        }),
      ]),
    ])
  return html`
    <${Office}
      desk=${desk}
      name="reports"
      lead=${t('report.lead.page')}
      tools=${html`
        <button type="button" class="btn" aria-disabled=${periods.length ? undefined : 'true'} onClick=${save}>
          <${Icon} name="down" />
          ${t('audit.csv')}
        </button>
      `}
    >
      <form class="filters" onSubmit=${e => e.preventDefault()}>
        <${Field} id="by" label=${t('report.by')}>
          <${Select}
            id="by"
            value=${by}
            input=${setBy}
            options=${['week', 'month'].map(x => [x, t('report.by.' + x)])}
          />
        </${Field}>
        <${Field}
          id="from"
          label=${t('over.from')}
          as=${DateInput}
          placeholder=${first && shortDate(first.from)}
          value=${from}
          input=${setFrom}
        />
        <${Field}
          id="to"
          label=${t('report.to')}
          as=${DateInput}
          placeholder=${last && shortDate(last.to)}
          value=${to}
          input=${setTo}
        />
      </form>
      <${Trouble} problem=${asked.problem} />
      ${
        periods.length > 0 &&
        html`
          <div class="reports">
            <${Bars}
              title=${t('report.bookings')}
              stacked
              names=${sources.map(x => t('source.' + x))}
              groups=${groups(p => sources.map(x => p.booked[x] || 0))}
            />
            <${Bars}
              title=${t('report.rates')}
              unit="%"
              names=${[t('report.cancelled'), t('report.noshow')]}
              groups=${groups(p => [percent(p.cancelled, all(p)), percent(p.noShows, p.started)])}
            />
            <${Bars} title=${t('report.lead')} names=${[t('report.lead')]} groups=${groups(p => [days(p)])} />
            <${Bars}
              title=${t('report.wait')}
              names=${['joined', 'offered', 'booked'].map(x => t('report.wait.' + x))}
              groups=${groups(p => [p.waitlist.joined, p.waitlist.offered, p.waitlist.booked])}
            />
          </div>
          <h2>${t('report.use')}</h2>
          <div class="scroll" tabindex="0" role="region" aria-label=${t('report.use')}>
            <table class="grid-table">
              <thead>
                <tr>
                  <th scope="col">${t('report.who')}</th>
                  <th scope="col">${t('report.open')}</th>
                  <th scope="col">${t('report.booked')}</th>
                  <th scope="col">${t('report.share')}</th>
                </tr>
              </thead>
              <tbody>
                ${use.map(
                  ([id, u]) => html`
                    <tr key=${id}>
                      <th scope="row"><bdi>${specialistName(s, id)}</bdi></th>
                      <td>${shown(hours(u.open))}</td>
                      <td>${shown(hours(u.booked))}</td>
                      <td>
                        <svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                          <rect class="bar-empty" width="100" height="10" />
                          <rect class="bar-1" width=${Math.min(100, percent(u.booked, u.open))} height="10" />
                        </svg>
                        ${' '}${percent(u.booked, u.open)}%
                      </td>
                    </tr>
                  `,
                )}
              </tbody>
            </table>
          </div>
          <h2>${t('report.numbers')}</h2>
          <div class="scroll" tabindex="0" role="region" aria-label=${t('report.numbers')}>
            <table class="grid-table numbers">
              <thead>
                <tr>
                  <th scope="col">${t('report.by.' + by)}</th>
                  ${columns.map(
                    ([name], i) => html`
                      <th key=${i} scope="col">${name()}</th>
                    `,
                  )}
                </tr>
              </thead>
              <tbody>
                ${periods.map(
                  p => html`
                    <tr key=${p.from}>
                      <th scope="row">${label(p)}</th>
                      ${columns.map(
                        ([, value, unit = ''], i) => html`
                          <td key=${i}>${shown(value(p))}${unit}</td>
                        `,
                      )}
                    </tr>
                  `,
                )}
              </tbody>
            </table>
          </div>
        `
      }
    </${Office}>
  `
}
