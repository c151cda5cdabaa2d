// The day board: one column per specialist on one date.
//
// How it works:
// - The date is in the address (#day/2026-11-25), so that links and the back button work. Without a date, the board
//   shows today. desk.show() loads the date. Until it is loaded, the board shows a placeholder, or is marked as busy.
// - columnsOn() chooses the columns: active specialists, and inactive ones who have appointments on the date. It leaves
//   out specialists whom the user has hidden and those who do not work at the chosen place.
// - grid.js renders the columns and handles cursor, keys and pointers. column.js computes a column's items from the
//   store, and layout.js their position. This file gives the grid its columns and heads.
// - On a narrow screen (up to 40 rem) the board shows one column. The user changes it with a select, buttons or a
//   swipe.
// - Changes arrive through the desk's store (desk.js). Holds change there immediately. After an appointment event
//   the desk loads the date again, after an availability event the schedule. Only the affected columns render again.
import { html, useEffect, useMemo, useState } from '../lib/html.js'
import { useStore } from '../lib/store.js'
import { t } from '../lib/i18n.js'
import { addDays, shortDate, write, zone } from '../lib/time.js'
import { Disc } from '../lib/disc.js'
import { Icon } from '../lib/icons.js'
import { Notice } from '../lib/notice.js'
import { cell, isLoaded } from './store.js'
import { columnIn } from './column.js'
import { dayIn } from './day.js'
import { reasonOf } from './layout.js'
import { closedWord } from './words.js'
import { Grid, useGrid } from './grid.js'
import { DayBar, Trouble, go, today } from './daybar.js'
import { PrintSheet } from './sheet.js'
import { Waiting } from './waiting.js'
import { PlacePick, hasPlaces, isAt, placeName } from './where.js'

// columnsOn returns the columns of a date, in the specialists' order: active specialists, and inactive ones who have
// appointments on the date. The signed-in specialist's own column comes first and cannot be hidden.
export const columnsOn = (s, date, desk, hidden, place = '') =>
  s.specialists
    .filter(x => x.active || s.cells[cell(date, x.id)]?.length)
    .filter(x => x.id === desk.own || (!hidden.includes(x.id) && isAt(s, x, date, place)))
    .sort((a, b) => Number(b.id === desk.own) - Number(a.id === desk.own))
    .map(x => ({ id: x.id, specialistId: x.id, date, name: x.name }))

const narrow = matchMedia('(max-width: 40rem)')
export function useNarrow() {
  const [is, set] = useState(narrow.matches)
  useEffect(() => {
    const look = () => set(narrow.matches)
    narrow.addEventListener('change', look)
    return () => narrow.removeEventListener('change', look)
  }, [])
  return is
}

// isAbsent reports whether the column has no opening hours and no items, and is not the column of a room that is always
// open.
const isAbsent = (s, column) => {
  const { open, items, always } = columnIn(s, column.date, column.specialistId)
  return !open.length && !items.length && !always
}

// Strip is the head of an absent specialist's column. A press widens the column.
function Strip({ desk, column, widen }) {
  const reason = useStore(desk.store, s => reasonOf(columnIn(s, column.date, column.specialistId)))
  const why = reason ? closedWord(reason) : t('board.off')
  return html`
    <div class="head narrowed">
      <button
        type="button"
        title=${`${column.name}, ${why}`}
        aria-label=${t('board.widen', { name: column.name, why })}
        onClick=${() => widen(column.id)}
      >
        <${Disc} name=${column.name} />
      </button>
    </div>
  `
}

export function Head({ desk, column, children, away }) {
  const s = useStore(desk.store, s => columnIn(s, column.date, column.specialistId))
  const n = s.booked,
    reason = reasonOf(s), // the reason for a whole day away, such as "Sick"
    // the columns of a week are days (children), and their heads use the word of the column
    absent = reason || children ? closedWord(reason || 'closed') : t('board.off')
  const text = n ? t('board.booked', { n }) : s.open.length || s.always ? t('board.none') : absent
  return html`
    <div class=${'head' + (away ? ' with-away' : '') + (column.starts ? ' starts-day' : '')}>
      <b><bdi>${children || column.name}</bdi></b>
      <span>
        ${[column.specialistId === desk.own && t('board.you'), text, n > 0 && reason && absent].filter(Boolean).join(', ')}
        ${
          away &&
          html`
            <${Answered} desk=${desk} column=${column} />
          `
        }
      </span>
      ${
        away &&
        html`
          <${Away} column=${column} />
        `
      }
    </div>
  `
}

const absenceIn = (s, column) => {
  const day = dayIn(column.date, zone)
  return s.absences?.find(
    x => x.specialistId === column.specialistId && Date.parse(x.start) < day.end && Date.parse(x.end) > day.start,
  )
}

// Answered shows how many patients of an absence have answered, and links to the list of patients.
function Answered({ desk, column }) {
  const absence = useStore(desk.store, s => absenceIn(s, column))
  return (
    absence &&
    html`
      ${' '}
      <a class="away-answered" href=${'#away/' + absence.id}>
        ${t('board.away.answered', { n: absence.answered, of: absence.appointments.length })}
      </a>
    `
  )
}

// Away links to the form for an absent specialist.
const Away = ({ column }) => html`
  <a
    class="away-open"
    title=${t('board.away')}
    aria-label=${`${t('board.away')}: ${column.name}`}
    href=${`#away/new/${encodeURIComponent(column.specialistId)}/${column.date}`}
  >
    <${Icon} name="away" />
    <span aria-hidden="true">${t('board.away')}</span>
  </a>
`

// One shows which specialist's column is visible on a narrow screen, and lets the user change it, as a swipe does.
function One({ desk, all, column, set, side }) {
  const s = useStore(desk.store, s => columnIn(s, column.date, column.specialistId))
  return html`
    <div class="one">
      <button type="button" class="btn quiet square" aria-label=${t('board.before')} onClick=${() => side(-1)}>
        <${Icon} name="back" flip />
      </button>
      <label class="pick">
        <span class="sr">${t('board.who')}</span>
        <select value=${column.id} onChange=${e => set(e.currentTarget.value)}>
          ${all.map(
            c => html`
              <option key=${c.id} value=${c.id}>${c.name}</option>
            `,
          )}
        </select>
      </label>
      <p>
        ${s.booked ? t('board.booked', { n: s.booked }) : t(s.open.length || s.always ? 'board.none' : 'board.off')}
      </p>
      <button type="button" class="btn quiet square" aria-label=${t('board.after')} onClick=${() => side(1)}>
        <${Icon} name="next" flip />
      </button>
    </div>
  `
}

export function Page({ desk, rest }) {
  const date = /^\d{4}-\d\d-\d\d$/.test(rest[0]) ? rest[0] : today()
  const grid = useGrid(desk)
  useEffect(() => {
    desk.show({ from: date, to: addDays(date, 1), specialistId: '' })
  }, [date])
  const hidden = useStore(desk.prefs, p => p.hidden),
    place = useStore(desk.prefs, p => p.place),
    hours = useStore(desk.store, s => s.hours)
  const ready = useStore(desk.store, s => s.ready && isLoaded(s, date))
  const known = useStore(desk.store, s => s.ready && (isLoaded(s, date) || s.scope))
  const list = useStore(desk.store, s => s.specialists),
    cells = useStore(desk.store, s => s.cells)
  const all = useMemo(
    () => columnsOn(desk.store.get(), date, desk, hidden, place),
    [date, hidden, place, list, hours, cells],
  )
  const one = useNarrow(),
    [only, setOnly] = useState('')
  const at = Math.max(
    0,
    all.findIndex(c => c.id === only),
  )
  const isRoom = c => list.find(x => x.id === c.specialistId)?.kind === 'resource'
  const columns = useMemo(() => (one ? all.slice(at, at + 1) : all), [one, all.map(c => c.id).join(), at, date])
  // Show the columns of absent specialists as strips, unless all columns would be strips.
  const [widened, setWidened] = useState([])
  const absent = useStore(desk.store, s =>
    columns
      .filter(c => isAbsent(s, c))
      .map(c => c.id)
      .join(),
  )
  const strips = absent.split(',').filter(id => id && id !== desk.own && !widened.includes(date + id))
  const narrowed = columns.length > 1 && absent.split(',').length < columns.length ? strips : []
  const widen = id => setWidened(all => [...all, date + id])
  const side = by => setOnly(all[(at + by + all.length) % all.length].id)
  // Every absence has a block, so a day without blocks has no absence to load.
  const blocked = useStore(desk.store, s => {
    const day = dayIn(date, zone)
    return Object.values(s.hours).some(h => h.blocks.some(b => b.start < day.end && b.end > day.start))
  })
  useEffect(() => {
    if (!desk.front) return
    if (!blocked) return desk.patch({ absences: [] })
    const load = () => {
      if (!document.hidden) desk.loadAbsences()
    }
    const timer = setInterval(load, 20000)
    load()
    return () => clearInterval(timer)
  }, [desk, blocked])
  grid.go = by => go('day', by ? addDays(date, by) : today())

  return html`
    <div class="page-day">
      <${DayBar}
        desk=${desk}
        view="day"
        date=${date}
        title=${one ? shortDate(date) : write('longDay', date)}
        book=${() => grid.act.book('')}
        extra=${
          hasPlaces() &&
          html`
            <${PlacePick} desk=${desk} />
          `
        }
      />
      <${Trouble} desk=${desk} />
      ${
        date === today() &&
        html`
          <${Waiting} desk=${desk} date=${date} />
        `
      }
      ${
        one &&
        columns[0] &&
        html`
          <${One} desk=${desk} all=${all} column=${columns[0]} set=${setOnly} side=${side} />
        `
      }
      ${
        known &&
        !all.length &&
        html`
          <${Notice}
            icon="person"
            text=${(hidden.length || placeName(place)) && list.length ? (placeName(place) ? 'place.nobody' : 'board.hidden') : 'board.nobody'}
          />
        `
      }
      ${
        known &&
        columns.length > 0 &&
        html`
          <div class=${'busywrap' + (ready ? '' : ' loading')} aria-busy=${ready ? undefined : 'true'}>
            <${Grid}
              grid=${grid}
              columns=${columns}
              label=${t('board.label', { date: write('longDay', date) })}
              single=${one}
              side=${side}
              strips=${narrowed}
              widen=${widen}
              heads=${columns.map(c =>
                narrowed.includes(c.id)
                  ? html`
                      <${Strip} key=${'h' + c.id} desk=${desk} column=${c} widen=${widen} />
                    `
                  : html`
                      <${Head}
                        key=${'h' + c.id}
                        desk=${desk}
                        column=${c}
                        away=${desk.front && date >= today() && !isRoom(c)}
                      />
                    `,
              )}
            />
          </div>
        `
      }
      ${
        !known &&
        html`
          <div class="board-wait" aria-hidden="true"></div>
        `
      }
      <${PrintSheet} desk=${desk} date=${date} columns=${all} />
    </div>
  `
}
