// The day as a table: the same content and actions as the board, for users who prefer to read a list.
import { html, useEffect, useMemo, useRef, useState } from '../lib/html.js'
import { useStore } from '../lib/store.js'
import { Icon } from '../lib/icons.js'
import { t } from '../lib/i18n.js'
import { addDays, shortDate, time, write } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { Notice } from '../lib/notice.js'
import { attendances, colourOf, sayGhost, specialistName, typeName, who } from './words.js'
import { refused } from './acts.js'
import { columnIn } from './column.js'
import { each, isFull } from './group.js'
import { columnsOn, useNarrow } from './board.js'
import { DayBar, Trouble, today } from './daybar.js'
import { PrintSheet } from './sheet.js'
import { find, isLoaded } from './store.js'
import { offer } from './undo.js'
import { PlacePick, hasPlaces, placeName } from './where.js'

function Row({ desk, item, s }) {
  const a = item.of
  if (item.kind === 'group') {
    return html`
      <tr class="group">
        <td class=${colourOf(s, a.typeId)}>
          <b>${time(a.start)}</b>
          <span class="until">${time(a.end)}</span>
        </td>
        <th scope="row" colspan="2">
          <button
            type="button"
            class="textlink"
            onClick=${() => desk.open('roster', { typeId: a.typeId, specialistId: a.specialistId, start: a.start })}
          >
            <span>
              <bdi>${typeName(s, a.typeId)}</bdi>
              ${' '}${a.heads.length}/${a.capacity}
            </span>
          </button>
          ${
            isFull(a) &&
            html`
              ${' '}
              <span class="muted">${t('group.full')}</span>
            `
          }
        </th>
        <td><bdi>${specialistName(s, a.specialistId)}</bdi></td>
        <td colspan="3"></td>
      </tr>
    `
  }
  if (item.kind !== 'card') {
    return html`
      <tr class=${item.kind}>
        <td>
          <b>${time(a.start)}</b>
          <span class="until">${time(a.end)}</span>
        </td>
        <td colspan="2"><em>${item.kind === 'ghost' ? sayGhost(a) : t('card.busy')}</em></td>
        <td><bdi>${specialistName(s, a.specialistId)}</bdi></td>
        <td colspan="3"></td>
      </tr>
    `
  }
  const p = a.patient || {},
    mine = desk.reaches(a.specialistId),
    name = who(desk, a)
  const attend = e => {
    const to = e.currentTarget.value
    return desk.attend(a, to).then(
      () =>
        offer(desk, 'att.said', { name, state: t('att.' + to) }, () =>
          desk.attend(find(desk.store.get(), a.id) || a, a.attendance),
        ),
      problem => refused(desk, a, problem),
    )
  }
  return html`
    <tr class=${a.attendance}>
      <td class=${colourOf(s, a.appointmentTypeId)}>
        <b>${time(a.start)}</b>
        <span class="until">${time(a.end)}</span>
      </td>
      <th scope="row">
        <button type="button" class="textlink" onClick=${() => desk.open('appointment', { id: a.id })}>
          <bdi>${name}</bdi>
        </button>
        ${
          p.birthDate &&
          desk.prefs.get().names &&
          html`
            <span class="muted">${' '}${t('person.born', { date: write('numeric', p.birthDate) })}</span>
          `
        }
      </th>
      <td>
        <bdi>${typeName(s, a.appointmentTypeId)}</bdi>
        ${
          a.overbook &&
          html`
            ${' '}
            <span class="flag">
              <${Icon} name="over" />
              ${t('card.overbook')}
            </span>
          `
        }${
          a.upstreamState === 'failed' &&
          html`
            ${' '}
            <span class="flag">
              <${Icon} name="alert" />
              ${t('card.upstream')}
            </span>
          `
        }
      </td>
      <td>
        <bdi>${specialistName(s, a.specialistId)}</bdi>
        ${
          placeName(a.place) &&
          html`
            <span class="until"><bdi>${placeName(a.place)}</bdi></span>
          `
        }
      </td>
      <td class="phone">
        ${
          desk.prefs.get().names &&
          html`
            <bdi>${p.phone}</bdi>
          `
        }
      </td>
      <td>
        ${
          mine &&
          html`
            <select aria-label=${t('list.attendance', { name })} value=${a.attendance} onChange=${attend}>
              ${attendances.map(
                x => html`
                  <option key=${x} value=${x}>${t('att.' + x)}</option>
                `,
              )}
            </select>
          `
        }
      </td>
      <td class="rowacts">
        ${
          mine &&
          html`
            <button
              type="button"
              class="btn"
              onClick=${() => desk.open('move', { id: a.id })}
              aria-label=${`${t('menu.move')}: ${name}`}
            >
              ${t('menu.move')}
            </button>
            <button
              type="button"
              class="btn quiet"
              onClick=${() => desk.open('cancel', { id: a.id })}
              aria-label=${`${t('list.cancel')}: ${name}`}
            >
              ${t('list.cancel')}
            </button>
          `
        }
      </td>
    </tr>
  `
}

// keysOf returns the columns by which the table can be sorted. Each has a function that returns the text or number of
// an item.
const keysOf = (desk, s) => ({
  time: i => i.from,
  patient: i => (i.kind === 'card' ? who(desk, i.of) : ''),
  type: i => typeName(s, i.of.appointmentTypeId || i.of.typeId),
  with: i => specialistName(s, i.of.specialistId),
  phone: i => i.of.patient?.phone || '',
  attendance: i => attendances.indexOf(i.of.attendance),
})
const sorted = (items, key, down) => {
  const by = (a, b) => {
    const [x, y] = [key(a), key(b)]
    return typeof x === 'string' ? x.localeCompare(y) : x - y
  }
  return [...items].sort((a, b) => (down ? -by(a, b) : by(a, b)) || a.from - b.from || (a.id < b.id ? -1 : 1))
}

// SortHead is the head of a column. A press sorts by the column, and a second press reverses the order.
const SortHead = ({ id, sort, set }) => html`
  <th scope="col" aria-sort=${sort.by === id ? (sort.down ? 'descending' : 'ascending') : undefined}>
    <button type="button" onClick=${() => set({ by: id, down: sort.by === id && !sort.down })}>
      ${t('list.' + id + '.head')}
      <span aria-hidden="true">${sort.by === id ? (sort.down ? '↓' : '↑') : ''}</span>
    </button>
  </th>
`

export function Page({ desk, rest }) {
  const date = /^\d{4}-\d\d-\d\d$/.test(rest[0]) ? rest[0] : today()
  useEffect(() => {
    desk.show({ from: date, to: addDays(date, 1), specialistId: '' })
  }, [date])
  const { place } = useStore(desk.prefs)
  const s = useStore(desk.store),
    [only, setOnly] = useState(''),
    [sort, setSort] = useState({ by: 'time', down: false }),
    table = useRef()
  const known = s.ready && isLoaded(s, date),
    narrow = useNarrow()
  const all = useMemo(() => columnsOn(s, date, desk, [], place), [s.specialists, s.hours, s.cells, date, place])
  const columns = only ? all.filter(c => c.id === only) : all
  const shown = columns
    .flatMap(c => columnIn(s, date, c.specialistId).items)
    .filter(i => !placeName(place) || !i.of.place || i.of.place === place)
  const items = sorted(shown, keysOf(desk, s)[sort.by], sort.down)
  // now scrolls to the first row that has not ended, in the order of time.
  const now = () => {
    setSort({ by: 'time', down: false })
    const next = sorted(shown, i => i.from, false).findIndex(i => i.of.end > serverNow())
    const row = () => table.current?.querySelectorAll('tbody tr')[next < 0 ? shown.length - 1 : next]
    setTimeout(() => {
      row()?.scrollIntoView({ block: 'center' })
      row()?.querySelector('button, select')?.focus({ preventScroll: true })
    })
  }
  const book = () => desk.open('book', {})
  return html`
    <div class="page-list">
      <${DayBar}
        desk=${desk}
        view="list"
        date=${date}
        title=${narrow ? shortDate(date) : write('longDay', date)}
        book=${book}
        extra=${
          (all.length > 1 || hasPlaces()) &&
          html`
            <${PlacePick} desk=${desk} />
            <label class="pick">
              <span class="sr">${t('board.who')}</span>
              <select value=${only} onChange=${e => setOnly(e.currentTarget.value)}>
                <option value="">${t('list.everybody')}</option>
                ${all.map(
                  c => html`
                    <option key=${c.id} value=${c.id}>${c.name}</option>
                  `,
                )}
              </select>
            </label>
          `
        }
      />
      <${Trouble} desk=${desk} />
      ${
        known &&
        !items.length &&
        html`
          <${Notice} icon="calendar" text="list.none" />
        `
      }
      ${
        items.length > 0 &&
        html`
          <div
            class="tablewrap"
            role="region"
            tabindex="0"
            aria-label=${t('board.label', { date: write('longDay', date) })}
          >
            <table class="tbl" ref=${table}>
              <caption class="sr">${t('board.label', { date: write('longDay', date) })}</caption>
              <thead>
                <tr>
                  ${['time', 'patient', 'type', 'with', 'phone', 'attendance'].map(
                    x => html`
                      <${SortHead} key=${x} id=${x} sort=${sort} set=${setSort} />
                    `,
                  )}
                  <th scope="col"><span class="sr">${t('list.acts')}</span></th>
                </tr>
              </thead>
              <tbody>
                ${items
                  .flatMap(i => (i.kind === 'group' ? [i, ...each([i])] : [i]))
                  .map(
                    i => html`
                      <${Row} key=${i.id} desk=${desk} item=${i} s=${s} />
                    `,
                  )}
              </tbody>
            </table>
          </div>
        `
      }
      <p class="actions end">
        ${
          date === today() &&
          shown.length > 0 &&
          html`
            <button type="button" class="btn" onClick=${now}>
              <${Icon} name="clock" />
              ${t('list.now')}
            </button>
          `
        }
        <button type="button" class="btn" onClick=${() => print()}>
          <${Icon} name="print" />
          ${t('set.print')}
        </button>
      </p>
      <${PrintSheet} desk=${desk} date=${date} columns=${columns} />
    </div>
  `
}
