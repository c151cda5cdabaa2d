// One column of the board: a specialist on a date. It renders again only if something in it changed.
import { html, useMemo } from '../lib/html.js'
import { useStore } from '../lib/store.js'
import { zone } from '../lib/time.js'
import { dayIn } from './day.js'
import { columnOf, reasonsIn } from './layout.js'
import { cell } from './store.js'
import { card, ghost, group, place } from './card.js'
import { Marks } from './marks.js'
import { memo } from './memo.js'
import { closedWord } from './words.js'

const none = []
const holdsOn = (all, day) => {
  if (!all) return none
  const list = Object.values(all).filter(h => h.start < day.end && h.end > day.start)
  return list.length ? list : none
}
const sameList = (a, b) => a === b || (a.length === b.length && a.every((x, i) => x === b[i]))
const columns = new Map()

// columnIn returns the column for a state. It returns the same object until something in the column changes, so that
// components can compare by identity.
export function columnIn(s, date, specialistId) {
  const key = cell(date, specialistId),
    day = dayIn(date, zone),
    old = columns.get(key)
  const appointments = s.cells[key] || none,
    hours = s.hours[specialistId],
    { types } = s
  const holds = holdsOn(s.holds[specialistId], day)
  if (
    old &&
    old.appointments === appointments &&
    old.hours === hours &&
    old.types === types &&
    sameList(old.holds, holds)
  )
    return old.column
  const who = s.specialists.find(x => x.id === specialistId),
    own = who?.timezone || zone
  const column = columnOf({ day, zone: own, appointments, holds, hours, types })
  // A room without its own hours is open all day. Only its blocks and days off close it.
  if (who?.kind === 'resource' && hours && !hours.weekly.length)
    Object.assign(column, {
      always: true,
      closed: column.closed.filter(c => c.word !== 'closed' && c.word !== 'break'),
    })
  if (columns.size > 1000) columns.clear()
  columns.set(key, { appointments, hours, types, holds, column })
  return column
}

export const Column = memo(
  props => html`
    <${Inside} ...${props} />
  `,
)

function Inside({ desk, grid, date, specialistId, id, range, scale, names, strip, starts }) {
  const column = useStore(desk.store, s => columnIn(s, date, specialistId))
  const types = useStore(desk.store, s => s.types)
  // For an unchanged item, draw returns the same node as before, so that the renderer skips it.
  const view = useMemo(() => ({ range, scale, drawn: new Map() }), [date, range, scale, names, types])
  const seen = x => x.to > range.from && x.from < range.to
  const draw = i => {
    const old = view.drawn.get(i.id)
    if (
      old &&
      old.of === i.of &&
      old.from === i.from &&
      old.to === i.to &&
      old.lane === i.lane &&
      old.lanes === i.lanes
    )
      return old.node
    const node = i.kind === 'ghost' ? ghost(i, view) : i.kind === 'group' ? group(desk, i, view) : card(desk, i, view)
    view.drawn.set(i.id, { of: i.of, from: i.from, to: i.to, lane: i.lane, lanes: i.lanes, node })
    return node
  }
  return html`
    <div class=${'col' + (strip ? ' narrowed' : '') + (starts ? ' starts-day' : '')} data-col=${id}>
      ${column.closed.filter(seen).map(
        c => html`
          <div class="closed" key=${'c' + (c.block || c.from)} style=${place(c, view)}>
            ${
              ['closed', 'break'].includes(c.word) &&
              html`
                <span>${closedWord(c.word)}</span>
              `
            }
          </div>
        `,
      )}
      ${reasonsIn(column)
        .filter(seen)
        .map(
          c => html`
            <div class="closed-why" key=${'w' + c.from} style=${place(c, view)}><span>${closedWord(c.word)}</span></div>
          `,
        )}
      ${column.items.filter(seen).map(draw)}
      <${Marks} grid=${grid} id=${id} date=${date} range=${range} scale=${scale} />
    </div>
  `
}
