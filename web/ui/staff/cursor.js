// The cursor of the board, which is one tab stop for the whole day. The cursor is at a stop of a column: a card, a
// ghost, or a free 15-minute step. Screen readers announce the stop in a sentence. This file maps keys to the desk's
// actions; drag.js does the same for pointers.
import { dir } from '../lib/i18n.js'
import { createStore } from '../lib/store.js'
import { nearest, step, stopsOf } from './layout.js'
import { attendances } from './words.js'

const kept = new WeakMap()
const stopsIn = (column, range) => {
  const old = kept.get(column)
  if (old?.from === range.from && old.to === range.to) return old.stops
  const stops = stopsOf(column, range)
  kept.set(column, { ...range, stops })
  return stops
}

// grid: {columns() → [{id, specialistId, date}], look(id) → column, range()}.
export function createCursor(grid) {
  const store = createStore({ id: '', at: 0, item: '', span: 0 })
  const stopsAt = id => stopsIn(grid.look(id), grid.range())
  const here = () => {
    const c = store.get(),
      columns = grid.columns()
    if (!columns.length) return null
    const id = columns.some(x => x.id === c.id) ? c.id : columns[0].id
    const stops = stopsAt(id)
    const stop = (c.item && stops.find(s => s.item?.id === c.item)) || nearest(stops, c.at)
    return (
      stop && { id, stops, stop, index: stops.indexOf(stop), column: grid.look(id), ...columns.find(x => x.id === id) }
    )
  }
  const stand = (id, stop, span = 0) => stop && store.set({ id, at: stop.at, item: stop.item?.id || '', span })
  const move = {
    // Up and down move the cursor to the previous or next stop. Items at the same time are separate stops.
    step(by) {
      const h = here()
      if (h) stand(h.id, h.stops[Math.min(h.stops.length - 1, Math.max(0, h.index + by))])
    },
    page(minutes) {
      const h = here()
      if (h)
        stand(
          h.id,
          nearest(h.stops, Math.max(grid.range().from, Math.min(grid.range().to - step, h.stop.at + minutes))),
        )
    },
    side(by) {
      const h = here(),
        columns = grid.columns()
      const next = h && columns[columns.findIndex(x => x.id === h.id) + by]
      if (next) stand(next.id, nearest(stopsAt(next.id), Math.max(h.stop.at, store.get().at)))
    },
    end(last) {
      const h = here()
      if (h) stand(h.id, last ? h.stops.at(-1) : h.stops[0])
    },
    // extend selects a span of time from a free stop, in 15-minute steps.
    extend(by) {
      const h = here()
      if (!h || h.stop.item) return
      const span = Math.max(step, (store.get().span || step) + by * step)
      stand(h.id, h.stop, Math.min(span, grid.range().to - h.stop.at))
    },
    shrink() {
      store.set(c => (c.span ? { ...c, span: 0 } : c))
    },
  }
  return {
    store,
    here,
    move,
    stand,
    put: (id, at, item = '', span = 0) => store.set({ id, at, item, span }),
  }
}

const letter = /^[\p{L}\p{M}'’-]$/u

// keysFor returns the keydown handler of the board. act contains the actions: {open, book, menu, attend, move, cancel,
// correct, undo, whole, day, today, search, keys, news, find}.
export function keysFor({ cursor, prefs, act }) {
  const { move } = cursor
  const plain = {
    ArrowDown: e => (e.shiftKey ? move.extend(1) : move.step(1)),
    ArrowUp: e => (e.shiftKey ? move.extend(-1) : move.step(-1)),
    ArrowRight: () => move.side(dir === 'rtl' ? -1 : 1),
    ArrowLeft: () => move.side(dir === 'rtl' ? 1 : -1),
    PageDown: () => move.page(60),
    PageUp: () => move.page(-60),
    Home: () => move.end(false),
    End: () => move.end(true),
    Escape: () => move.shrink(),
    Enter: e => (e.shiftKey ? act.menu() : act.open()),
    ContextMenu: () => act.menu(),
    F10: e => e.shiftKey && act.menu(),
  }
  const quick = {
    ',': () => act.day(-1),
    '.': () => act.day(1),
    0: () => act.today(),
    '/': () => act.search(),
    '?': () => act.keys(),
    '!': () => act.news(),
    '+': () => act.find(),
  }
  return e => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || e.target !== e.currentTarget) return
    const h = cursor.here(),
      item = h?.stop.item,
      card = item?.kind === 'card' && item.of,
      group = item?.kind === 'group'
    // The desk's own hold counts as free time, because its release is already running.
    const free = h && (!item || (item.kind === 'ghost' && item.of.own))
    let run = plain[e.key]
    if (e.key === 'F10' && !e.shiftKey) return
    if (e.key === 'Escape' && !cursor.store.get().span) return // leave the key to the pane, if a pane is open
    if (!run && card && e.key === 'Delete') run = () => act.cancel(card)
    if (!run && group && e.key === 'Delete') run = act.whole
    if (!run && prefs.get().keys) {
      run = quick[e.key]
      if (!run && card) {
        const n = attendances[+e.key - 1]
        if (n) run = () => act.attend(card, n)
        else if (e.key.toLowerCase() === 'm') run = () => act.move(card)
        else if (e.key.toLowerCase() === 'e') run = () => act.correct(card)
        else if (e.key.toLowerCase() === 'u') run = () => act.undo()
      } else if (!run && group && (attendances[+e.key - 1] || /^[me]$/i.test(e.key))) run = act.whole
      else if (!run && group && e.key.toLowerCase() === 'u') run = () => act.undo()
      else if (!run && free && letter.test(e.key)) run = () => act.book(e.key)
    }
    if (!run) return
    e.preventDefault()
    run(e)
  }
}
