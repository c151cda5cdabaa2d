// A week of one specialist, or of several side by side on each day, with the same cards, keys and drags as the day
// view. The address contains their ids: #week/2026-11-23/ada,karim.
import { html, useEffect, useMemo } from '../lib/html.js'
import { useStore } from '../lib/store.js'
import { list as joined, locale, t } from '../lib/i18n.js'
import { addDays, isThisYear, write } from '../lib/time.js'
import { Notice } from '../lib/notice.js'
import { mondayOf } from './day.js'
import { isLoaded } from './store.js'
import { Head, useNarrow } from './board.js'
import { DayBar, Trouble, go, today } from './daybar.js'
import { Grid, useGrid } from './grid.js'
import { PrintSheet } from './sheet.js'

const spanOf = (month, year) => new Intl.DateTimeFormat(locale, { day: 'numeric', month, year, timeZone: 'UTC' })

export function Page({ desk, rest }) {
  const date = /^\d{4}-\d\d-\d\d$/.test(rest[0]) ? rest[0] : today(),
    monday = mondayOf(date)
  const list = useStore(desk.store, s => s.specialists)
  const people = list.filter(x => x.active && desk.reaches(x.id))
  const asked = (rest[1] || '').split(',')
  const chosen = people.filter(x => asked.includes(x.id))
  if (!chosen.length) chosen.push(...people.slice(0, 1))
  const [person] = chosen,
    ids = chosen.map(x => x.id).join(),
    scope = chosen.length > 1 ? desk.own : person?.id
  const grid = useGrid(desk)
  useEffect(() => {
    if (person) desk.show({ from: monday, to: addDays(monday, 7), specialistId: scope })
  }, [monday, ids])
  const ready = useStore(desk.store, s => Boolean(s.ready && person && isLoaded(s, monday, scope)))
  const known = useStore(desk.store, s => s.ready)
  const columns = useMemo(
    () =>
      person
        ? Array.from({ length: 7 }, (_, i) => addDays(monday, i)).flatMap(day =>
            chosen.map((x, i) => ({
              starts: !i && chosen.length > 1, // the first of the columns of one day
              id: chosen.length > 1 ? day + ' ' + x.id : day,
              date: day,
              specialistId: x.id,
              name: chosen.length > 1 ? `${write('column', day)}, ${x.name}` : write('column', day),
              who: x.name,
            })),
          )
        : [],
    [monday, ids],
  )
  grid.go = by => go('week', by ? addDays(date, 7 * by) : today(), ids)
  const pick =
    person &&
    html`
      <label class="pick">
        <span class="sr">${t('board.who')}</span>
        <select value=${person.id} onChange=${e => go('week', date, e.currentTarget.value)}>
          ${people.map(
            x => html`
              <option key=${x.id} value=${x.id} selected=${x.id === person.id}>${x.name}</option>
            `,
          )}
        </select>
      </label>
      ${
        people.length > 1 &&
        html`
          <label class="pick">
            <span class="sr">${t('week.with')}</span>
            <select
              id="week-with"
              value=""
              onChange=${e => {
                const id = e.currentTarget.value,
                  now = ids.split(',')
                e.currentTarget.value = ''
                go('week', date, (now.includes(id) ? now.filter(x => x !== id) : [...now, id]).join())
              }}
            >
              <option value="">${chosen.length > 1 ? t('week.people', { n: chosen.length }) : t('week.with')}</option>
              ${people
                .filter(x => x !== person)
                .map(
                  x => html`
                    <option key=${x.id} value=${x.id}>${chosen.includes(x) ? '✓ ' : ''}${x.name}</option>
                  `,
                )}
            </select>
          </label>
        `
      }
    `
  const sunday = addDays(monday, 6),
    month = useNarrow() || monday.slice(0, 7) !== sunday.slice(0, 7) ? 'short' : 'long', // a long heading would wrap
    year = isThisYear(monday) && isThisYear(sunday) ? undefined : 'numeric'
  const title = spanOf(month, year).formatRange(Date.parse(monday), Date.parse(sunday))
  return html`
    <div class=${'page-day week' + (chosen.length > 1 ? ' several' : '')} style=${{ '--each': chosen.length }}>
      <${DayBar}
        desk=${desk}
        view="week"
        date=${date}
        by=${7}
        rest=${person ? [ids] : []}
        title=${title}
        extra=${pick}
        book=${() => grid.act.book('')}
      />
      <${Trouble} desk=${desk} />
      ${
        known &&
        !person &&
        html`
          <${Notice} icon="person" text="board.nobody" />
        `
      }
      ${
        known &&
        person &&
        html`
          <div class=${'busywrap' + (ready ? '' : ' loading')} aria-busy=${ready ? undefined : 'true'}>
            <${Grid}
              grid=${grid}
              columns=${columns}
              label=${t('week.label', { who: joined(chosen.map(x => x.name)), date: write('longDay', monday) })}
              heads=${columns.map(
                c => html`
                  <${Head} key=${'h' + c.id} desk=${desk} column=${c}>
                    <a href=${'#day/' + c.date} class=${c.date === today() ? 'today' : ''}>
                      ${write('column', c.date)}
                    </a>
                    ${
                      chosen.length > 1 &&
                      html`
                        ${' '}
                        <small><bdi>${c.who}</bdi></small>
                      `
                    }
                  </${Head}>
                `,
              )}
            />
          </div>
        `
      }
      ${
        ready &&
        html`
          <${PrintSheet} desk=${desk} date=${monday} columns=${columns.map(c => ({ ...c, name: c.who }))} />
        `
      }
      ${
        !known &&
        html`
          <div class="board-wait" aria-hidden="true"></div>
        `
      }
    </div>
  `
}
