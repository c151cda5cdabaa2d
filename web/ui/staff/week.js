// A week of one specialist: seven columns, with the same cards, keys and drags as the day view.
import { html, useEffect, useMemo } from '../lib/html.js'
import { useStore } from '../lib/store.js'
import { locale, t } from '../lib/i18n.js'
import { addDays, write } from '../lib/time.js'
import { Notice } from '../lib/notice.js'
import { mondayOf } from './day.js'
import { isLoaded } from './store.js'
import { Head } from './board.js'
import { DayBar, Trouble, go, today } from './daybar.js'
import { Grid, useGrid } from './grid.js'
import { PrintSheet } from './sheet.js'

const span = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long', timeZone: 'UTC' })

export function Page({ desk, rest }) {
  const date = /^\d{4}-\d\d-\d\d$/.test(rest[0]) ? rest[0] : today(),
    monday = mondayOf(date)
  const list = useStore(desk.store, s => s.specialists)
  const people = list.filter(x => x.active && desk.reaches(x.id))
  const person = people.find(x => x.id === rest[1]) || people[0]
  const grid = useGrid(desk)
  useEffect(() => {
    if (person) desk.show({ from: monday, to: addDays(monday, 7), specialistId: person.id })
  }, [monday, person?.id])
  const ready = useStore(desk.store, s => Boolean(s.ready && person && isLoaded(s, monday, person.id)))
  const known = useStore(desk.store, s => s.ready)
  const columns = useMemo(
    () =>
      person
        ? Array.from({ length: 7 }, (_, i) => {
            const day = addDays(monday, i)
            return { id: day, date: day, specialistId: person.id, name: write('shortDay', day) }
          })
        : [],
    [monday, person?.id],
  )
  grid.go = by => go('week', by ? addDays(date, 7 * by) : today(), person.id)
  const pick =
    person &&
    html`
      <label class="pick">
        <span class="sr">${t('board.who')}</span>
        <select value=${person.id} onChange=${e => go('week', date, e.currentTarget.value)}>
          ${people.map(
            x => html`
              <option key=${x.id} value=${x.id}>${x.name}</option>
            `,
          )}
        </select>
      </label>
    `
  const title = span.formatRange(Date.parse(monday), Date.parse(addDays(monday, 6)))
  return html`
    <div class="page-day week">
      <${DayBar}
        desk=${desk}
        view="week"
        date=${date}
        by=${7}
        rest=${person ? [person.id] : []}
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
              label=${t('week.label', { who: person.name, date: write('longDay', monday) })}
              heads=${columns.map(
                c => html`
                  <${Head} key=${'h' + c.id} desk=${desk} column=${c}>
                    <a href=${'#day/' + c.date} class=${c.date === today() ? 'today' : ''}>
                      ${write('shortDay', c.date)}
                    </a>
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
          <${PrintSheet} desk=${desk} date=${monday} columns=${columns.map(c => ({ ...c, name: person.name }))} />
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
