// The times when a specialist was online in one week, with the total of each day and the start and end of each span.
// The page answers "When was Ada online last week?"
import { html } from '../lib/html.js'
import { get } from '../lib/api.js'
import { serverNow } from '../lib/clock.js'
import { locale, t } from '../lib/i18n.js'
import { Icon } from '../lib/icons.js'
import { addDays, dateOf, hhmm, write } from '../lib/time.js'
import { mondayOf } from './day.js'
import { Office, SpecialistPick, State, Trouble, useAsk } from './office.js'

const week = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long', timeZone: 'UTC' })
const hours = seconds =>
  t('online.hours', {
    h: Math.floor(Math.round(seconds / 60) / 60),
    m: String(Math.round(seconds / 60) % 60).padStart(2, '0'),
  })
const minutes = clock => +clock.slice(0, 2) * 60 + +clock.slice(3)

// onDay returns the part of a span that is on a local day, in minutes of that day's clock, or null if no part is.
function onDay(span, date, zone) {
  const from = dateOf(span.from, zone),
    to = dateOf(span.to, zone)
  if (to < date || from > date) return null
  const begin = from < date ? 0 : minutes(hhmm(span.from, zone)),
    end = to > date ? 1440 : minutes(hhmm(span.to, zone))
  return to === date && from < date && end === 0
    ? null
    : {
        begin,
        end: Math.max(begin, end),
        last: to === date || (to === addDays(date, 1) && hhmm(span.to, zone) === '00:00'),
      }
}
const clock = n => String(Math.floor(n / 60)).padStart(2, '0') + ':' + String(n % 60).padStart(2, '0')

function Day({ day, spans, zone, today, now }) {
  const parts = spans.map(s => ({ ...onDay(s, day.date, zone), s })).filter(p => p.begin != null)
  return html`
    <li class="line">
      <div class="line-main">
        <p class="line-title dated"><b>${write('longDay', day.date)}</b></p>
        <span class="hourbar" aria-hidden="true">
          ${[6, 12, 18].map(
            h => html`
              <s key=${h} style=${{ insetInlineStart: (h / 24) * 100 + '%' }}></s>
            `,
          )}${parts.map(
            (p, i) => html`
              <i
                key=${i}
                style=${{ insetInlineStart: p.begin / 14.4 + '%', inlineSize: Math.max(0.3, (p.end - p.begin) / 14.4) + '%' }}
              ></i>
            `,
          )}
        </span>
        ${
          parts.length > 0 &&
          html`
            <ul class="line-facts stretches">
              ${parts.map((p, i) => {
                const goesOn = !p.s.ended && day.date === today && Math.abs(now - Date.parse(p.s.to)) < 120000
                return html`
                  <li key=${i}>
                    ${t('range', { from: clock(p.begin), to: goesOn ? t('online.now') : clock(p.end) })}${
                      p.last &&
                      ['auto_offline', 'deactivated'].includes(p.s.ended) &&
                      html`
                        ${' '}
                        <span class="muted">${t('online.' + p.s.ended)}</span>
                      `
                    }
                  </li>
                `
              })}
            </ul>
          `
        }
      </div>
      <b class="hours-sum">${day.seconds ? hours(day.seconds) : t('online.not')}</b>
    </li>
  `
}

export function Page({ desk, rest }) {
  const people = useAsk(desk, () => get('/v1/specialists'))
  const mine = (people.data?.specialists || []).filter(x => desk.reaches(x.id))
  const person = mine.find(x => x.id === rest[0]) || mine[0],
    zone = person?.timezone
  const today = dateOf(serverNow(), zone),
    monday = mondayOf(/^\d{4}-\d\d-\d\d$/.test(rest[1]) ? rest[1] : today)
  const log = useAsk(
    desk,
    () =>
      person
        ? get(`/v1/specialists/${person.id}/presence-log`, { from: monday, to: addDays(monday, 7) })
        : Promise.resolve(null),
    person && person.id + monday,
  )
  const go = (id, date) => {
    location.hash = ['online', id, date].map(encodeURIComponent).join('/')
  }
  const sum = (log.data?.days || []).reduce((n, d) => n + d.seconds, 0),
    title = week.formatRange(Date.parse(monday), Date.parse(addDays(monday, 6)))
  return html`
    <${Office}
      desk=${desk}
      name="online"
      lead=${t('online.lead')}
      ask=${people}
      tools=${
        person &&
        html`
          ${
            mine.length > 1 &&
            html`
              <${SpecialistPick} person=${person} people=${mine} input=${id => go(id, monday)} />
            `
          }
          <span class="pair">
            <button
              type="button"
              class="btn square"
              aria-label=${t('week.before')}
              onClick=${() => go(person.id, addDays(monday, -7))}
            >
              <${Icon} name="back" flip />
            </button>
            <button
              type="button"
              class="btn square"
              aria-label=${t('week.after')}
              aria-disabled=${addDays(monday, 7) > today ? 'true' : undefined}
              onClick=${() => addDays(monday, 7) <= today && go(person.id, addDays(monday, 7))}
            >
              <${Icon} name="next" flip />
            </button>
          </span>
        `
      }
    >
      ${
        person &&
        html`
          <p><a class="textlink" href="#sessions">${t('online.back')}</a></p>
          <${Trouble} problem=${log.problem} />
          ${
            log.data &&
            html`
              <section class="plate online">
                <header>
                  <div>
                    <h2><bdi>${person.name}</bdi></h2>
                    <p class="muted">${title}</p>
                  </div>
                  <${State} kind=${sum ? 'ok' : ''} icon="clock">${t('online.sum', { hours: hours(sum) })}</${State}>
                </header>
                <ul class="lines inner">
                  ${log.data.days.map(
                    d => html`
                      <${Day}
                        key=${d.date}
                        day=${d}
                        spans=${log.data.spans}
                        zone=${log.data.timezone}
                        today=${today}
                        now=${serverNow()}
                      />
                    `,
                  )}
                </ul>
              </section>
            `
          }
        `
      }
    </${Office}>
  `
}
