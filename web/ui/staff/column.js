// One column of the board: a specialist on a date. It is drawn again only when something in it changed.
import { html, Component } from '../lib/html.js'
import { useStore } from '../lib/store.js'
import { zone } from '../lib/time.js'
import { dayIn } from './day.js'
import { columnOf } from './layout.js'
import { cell } from './store.js'
import { Card, Ghost } from './card.js'
import { closedWord } from './words.js'

// memo draws a component again only if one of its properties is another.
export const memo = view => class extends Component {
  shouldComponentUpdate(next) {
    for (const key in next) if (next[key] !== this.props[key]) return true
    for (const key in this.props) if (!(key in next)) return true
    return false
  }
  render(props) { return view(props) }
}

const none = []
const holdsOn = (all, day) => {
  if (!all) return none
  const list = Object.values(all).filter(h => h.start < day.end && h.end > day.start)
  return list.length ? list : none
}
const sameList = (a, b) => a === b || (a.length === b.length && a.every((x, i) => x === b[i]))
const kept = new Map()

// columnIn gives the column of the state, and the very same one as long as nothing in it changes.
export function columnIn(s, date, specialistId) {
  const key = cell(date, specialistId), day = dayIn(date, zone), old = kept.get(key)
  const appointments = s.cells[key] || none, hours = s.hours[specialistId]
  const holds = holdsOn(s.holds[specialistId], day)
  if (old && old.appointments === appointments && old.hours === hours && sameList(old.holds, holds)) return old.column
  const own = s.specialists.find(x => x.id === specialistId)?.timezone || zone
  const column = columnOf({ day, zone: own, appointments, holds, hours })
  if (kept.size > 200) kept.clear()
  kept.set(key, { appointments, hours, holds, column })
  return column
}

const px = n => n + 'px'
// place is where something from one minute to another stands in its column.
export const place = (from, to, { range, scale }, lane = 0, lanes = 1) => ({
  insetBlockStart: px((Math.max(from, range.from) - range.from) * scale), blockSize: px(Math.max((Math.min(to, range.to) - Math.max(from, range.from)) * scale - 2, 16)),
  insetInlineStart: `${100 * lane / lanes}%`, inlineSize: `${100 / lanes}%`,
})

const Closed = memo(({ from, to, word, range, scale }) => html`<div class="closed" style=${place(from, to, { range, scale })}><span>${closedWord(word)}</span></div>`)

export const Column = memo(({ desk, date, specialistId, id, range, scale, names, children }) => html`<${Inside} ...${{ desk, date, specialistId, id, range, scale, names, children }} />`)

function Inside({ desk, date, specialistId, id, range, scale, names, children }) {
  const column = useStore(desk.store, s => columnIn(s, date, specialistId))
  const types = useStore(desk.store, s => s.types)
  const seen = x => x.to > range.from && x.from < range.to
  return html`<div class="col" data-col=${id}>
    ${column.closed.filter(seen).map(c => html`<${Closed} key=${'c' + c.from} ...${c} range=${range} scale=${scale} />`)}
    ${column.items.filter(seen).map(i => {
      const top = Math.max(i.from, range.from), height = (Math.min(i.to, range.to) - top) * scale
      const at = { id: i.id, of: i.of, top: (top - range.from) * scale, height: Math.max(height - 2, 16), lane: i.lane, lanes: i.lanes }
      return i.kind === 'ghost' ? html`<${Ghost} key=${i.id} ...${at} />` : html`<${Card} key=${i.id} desk=${desk} types=${types} names=${names} ...${at} />`
    })}
    ${children}
  </div>`
}
