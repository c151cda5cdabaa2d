// One column of the board: a specialist on a date. It is drawn again only when something in it changed.
import { html } from '../lib/html.js'
import { useStore } from '../lib/store.js'
import { zone } from '../lib/time.js'
import { dayIn } from './day.js'
import { columnOf } from './layout.js'
import { cell } from './store.js'
import { Card, Ghost, place } from './card.js'
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

const Closed = memo(({ from, to, word, range, scale }) => html`<div class="closed" style=${place({ from, to, range, scale })}><span>${closedWord(word)}</span></div>`)

export const Column = memo(props => html`<${Inside} ...${props} />`)

function Inside({ desk, grid, date, specialistId, id, range, scale, names }) {
  const column = useStore(desk.store, s => columnIn(s, date, specialistId))
  const types = useStore(desk.store, s => s.types)
  const seen = x => x.to > range.from && x.from < range.to
  return html`<div class="col" data-col=${id}>
    ${column.closed.filter(seen).map(c => html`<${Closed} key=${'c' + c.from} ...${c} range=${range} scale=${scale} />`)}
    ${column.items.filter(seen).map(i => i.kind === 'ghost'
      ? html`<${Ghost} key=${i.id} ...${i} range=${range} scale=${scale} />`
      : html`<${Card} key=${i.id} desk=${desk} types=${types} names=${names} range=${range} scale=${scale} ...${i} />`)}
    <${Marks} grid=${grid} id=${id} date=${date} range=${range} scale=${scale} />
  </div>`
}
