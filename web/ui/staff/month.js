// A month at a glance: how much is booked and free on each day, or why the clinic is closed. A press opens the day.
import { html, useEffect, useMemo } from '../lib/html.js'
import { useStore } from '../lib/store.js'
import { locale, t } from '../lib/i18n.js'
import { addDays, write, zone } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { dayIn, mondayOf } from './day.js'
import { isLoaded } from './store.js'
import { columnIn } from './column.js'
import { columnsOn } from './board.js'
import { DayBar, Trouble, go, today } from './daybar.js'
import { freeIn, reasonOf } from './layout.js'
import { closedWord } from './words.js'

const name = new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric', timeZone: 'UTC' })
const decimal = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 })
const firstOf = date => date.slice(0, 8) + '01'
// addMonths returns the first day of the month that is n months later.
const addMonths = (date, n) => {
  const [year, month] = date.split('-').map(Number)
  return new Date(Date.UTC(year, month - 1 + n, 1)).toISOString().slice(0, 10)
}
// countOf returns the booked and free time of a day, summed over the chosen specialists. It does not count rooms.
function countOf(s, date, desk, hidden, person) {
  const columns = columnsOn(s, date, desk, hidden).filter(
    c => desk.reaches(c.id) && (person ? c.id === person : s.specialists.find(x => x.id === c.id)?.kind !== 'resource'),
  )
  const all = columns.map(c => columnIn(s, date, c.id))
  const now = date === today() ? dayIn(date, zone).minuteOf(serverNow()) : 0
  const worked = all.reduce((n, c) => n + c.open.reduce((n, w) => n + w.to - w.from, 0), 0)
  const free = all.reduce((n, c) => n + freeIn(c, now), 0)
  const why = all.map(reasonOf).find(Boolean)
  return { booked: all.reduce((n, c) => n + c.booked, 0), worked, free, why: why ? closedWord(why) : t('month.closed') }
}

function Cell({ date, month, n }) {
  const past = date < today(),
    closed = !n.worked && !n.booked
  const kind = closed ? 'shut' : past ? 'past' : n.free ? '' : 'full',
    quiet = past && !n.booked
  const free = past
    ? ''
    : !n.worked
      ? n.why
      : n.free
        ? t('month.free', { n: decimal.format(Math.max(0.5, Math.round(n.free / 30) / 2)) })
        : t('month.full')
  return html`
    <td class=${[kind, date.slice(0, 7) === month ? '' : 'other'].filter(Boolean).join(' ')}>
      <a href=${'#day/' + date} aria-current=${date === today() ? 'date' : undefined}>
        <b aria-hidden="true">${+date.slice(8)}</b>
        <span class="sr">${write('longDay', date)},${' '}</span>
        ${
          closed
            ? html`
                <span class="word">${n.why}</span>
              `
            : html`
                <span class=${quiet ? 'sr' : ''}>
                  ${n.booked ? t('board.booked', { n: n.booked }) : t('board.none')}
                </span>
                ${
                  free &&
                  html`
                    <span class="sr">,${' '}</span>
                    <span class="free">${free}</span>
                  `
                }
              `
        }
        <i class="share" hidden=${quiet} aria-hidden="true">
          <s
            style=${{ inlineSize: n.worked ? Math.round((1 - Math.min(1, n.free / n.worked)) * 100) + '%' : '0%' }}
          ></s>
        </i>
      </a>
    </td>
  `
}

export function Page({ desk, rest }) {
  const date = /^\d{4}-\d\d-\d\d$/.test(rest[0]) ? rest[0] : today(),
    first = firstOf(date),
    from = mondayOf(first),
    to = addDays(mondayOf(addDays(addMonths(first, 1), -1)), 7)
  const s = useStore(desk.store),
    hidden = useStore(desk.prefs, p => p.hidden)
  const people = s.specialists.filter(x => x.active && desk.reaches(x.id))
  const person = people.find(x => x.id === rest[1])?.id || ''
  const scope = person || desk.own
  useEffect(() => {
    desk.show({ from, to, specialistId: scope })
  }, [from, to, scope])
  const ready = s.ready && isLoaded(s, from, scope) && isLoaded(s, addDays(to, -1), scope)
  const weeks = useMemo(() => {
    const all = []
    for (let monday = from; monday < to; monday = addDays(monday, 7))
      all.push(
        Array.from({ length: 7 }, (_, i) => addDays(monday, i)).map(day => ({
          day,
          n: countOf(s, day, desk, hidden, person),
        })),
      )
    return all
  }, [from, person, hidden, s.cells, s.hours, s.holds, s.specialists, today()])
  const pick =
    people.length > 1 &&
    html`
      <label class="pick">
        <span class="sr">${t('board.who')}</span>
        <select value=${person} onChange=${e => go('month', date, ...[e.currentTarget.value].filter(Boolean))}>
          <option value="" selected=${!person}>${t('month.all')}</option>
          ${people.map(
            x => html`
              <option key=${x.id} value=${x.id} selected=${x.id === person}>${x.name}</option>
            `,
          )}
        </select>
      </label>
    `
  return html`
    <div class="page-day month">
      <${DayBar}
        desk=${desk}
        view="month"
        date=${date}
        shift=${n => addMonths(first, n)}
        rest=${person ? [person] : []}
        title=${name.format(Date.parse(first))}
        extra=${pick}
        book=${() => desk.open('book', {})}
      />
      <${Trouble} desk=${desk} />
      <div class=${'months' + (ready ? '' : ' loading')} aria-busy=${ready ? undefined : 'true'}>
        <table>
          <caption class="sr">${name.format(Date.parse(first))}</caption>
          <thead>
            <tr>
              ${Array.from({ length: 7 }, (_, i) => addDays(from, i)).map(
                day => html`
                  <th key=${day} scope="col">${write('weekday', day)}</th>
                `,
              )}
            </tr>
          </thead>
          <tbody>
            ${weeks.map(
              week => html`
                <tr key=${week[0].day}>
                  ${week.map(
                    ({ day, n }) => html`
                      <${Cell} key=${day} date=${day} month=${date.slice(0, 7)} n=${n} />
                    `,
                  )}
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
    </div>
  `
}
