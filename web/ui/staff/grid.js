// The grid of a calendar: a rail with the hours and one column per specialist or per day. The day board and the week
// view pass in their columns. The whole grid is one tab stop.
//
// How it works:
// - createGrid() creates the object that the parts of one calendar share: the columns, the range of minutes, the cursor
//   (cursor.js), the marks for a drag and for the mouse, and the actions (acts.js). Grid adds the handlers for pointers
//   (drag.js) and keys (cursor.js).
// - Grid renders the rail, the heads and one Column per entry (column.js). Each Column subscribes to its own part of
//   the store, so a change renders only the columns that it affects.
// - A vertical position is (minute - range.from) * scale pixels. range covers the hours and items of all columns; scale
//   is 1.6 pixels per minute, or 1.2 in the compact view.
// - Keys move the cursor from stop to stop or run an action. Pointers put the cursor, select a span or drag a card. A
//   drag changes nothing by itself: a drop opens the move dialog.
// - When another date opens, the grid scrolls to the working hours (opensAt). If the store's `reveal` names an
//   appointment, the cursor moves to it when it is loaded.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../lib/html.js'
import { useStore } from '../lib/store.js'
import { t } from '../lib/i18n.js'

import { zone } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { clock, dayIn } from './day.js'
import { Column, columnIn } from './column.js'
import { createCursor, keysFor } from './cursor.js'
import { createMarks, createPointer } from './drag.js'
import { isOf } from './group.js'
import { isBare, isOpen, opensAt, rangeOf, step } from './layout.js'
import { useNow } from './marks.js'
import { Menu } from './menu.js'
import { createActs } from './acts.js'
import { fit } from './fit.js'
import { find } from './store.js'
import { sayObstacle, sayStop, who } from './words.js'

const roomy = 1.6,
  dense = 1.2

// createGrid creates the object that the parts of one calendar share. `columns` are {id, date, specialistId, name}.
function createGrid(desk) {
  let columns = [],
    range = { from: 480, to: 1080 },
    element
  /** @type {any} */
  const grid = {
    desk,
    ...createMarks(),
    single: () => false,
    side: () => {},
    go: () => {},
    columns: () => columns,
    range: () => range,
    element: () => element,
    scale: () => (desk.prefs.get().compact ? dense : roomy),
    look: id => {
      const c = columns.find(x => x.id === id)
      return c && columnIn(desk.store.get(), c.date, c.specialistId)
    },
    set(next) {
      ;({ columns, range } = { columns, range, ...next })
    },
    place: el => {
      element = el
    },
    instant: (id, at) => {
      const c = columns.find(x => x.id === id)
      return { ...c, start: dayIn(c.date, zone).at(at) }
    },
  }
  grid.cursor = createCursor(grid)
  Object.assign(grid, createActs(desk, grid), {
    // lift reports whether a card can be dragged. target describes a drop at a time in a column. dropped opens the move
    // dialog, or shows why the drop is impossible.
    lift: id => {
      const a = find(desk.store.get(), id)
      if (grid.columns().some(c => grid.look(c.id).items.some(i => i.kind === 'group' && i.id === id)))
        desk.toast('group.whole')
      return Boolean(a && !a.busy && desk.reaches(a.specialistId))
    },
    target(id, col, at) {
      const s = desk.store.get(),
        a = find(s, id),
        { specialistId, start } = grid.instant(col, at)
      const length = (a.end - a.start) / 6e4,
        same = start === a.start && specialistId === a.specialistId
      const no = !desk.reaches(specialistId) ? t('drag.own') : same ? '' : null
      const block = no === null ? fit(s, { typeId: a.appointmentTypeId, specialistId, start, moving: id }) : {}
      // Closed hours and other clients' holds do not prevent a drop: the move dialog asks about them.
      const why = no ?? (block.why && block.why !== 'closed' && block.why !== 'held' ? sayObstacle(desk, block) : '')
      return { length, why, who: same ? t('drag.same') : who(desk, a), same }
    },
    dropped(id, col, at) {
      const a = find(desk.store.get(), id),
        { specialistId, start } = grid.instant(col, at),
        { why, same } = grid.target(id, col, at)
      if (why) return desk.toast('drag.no', { why })
      if (!same) desk.open('move', { id: a.id, specialistId, start, asked: true })
    },
  })
  return grid
}
export function useGrid(desk) {
  const grid = useMemo(() => createGrid(desk), [desk])
  return grid
}

function Rail({ range, scale, today }) {
  const at = useNow(today),
    now = at > range.from && at < range.to ? at : null
  const hours = []
  for (let m = range.from; m <= range.to; m += 60) hours.push(m)
  return html`
    <div class="rail" aria-hidden="true">
      ${hours.map(
        m => html`
          <span
            key=${m}
            class=${now !== null && Math.abs(now - m) < 16 ? 'near' : ''}
            style=${{ insetBlockStart: (m - range.from) * scale + 'px' }}
          >
            ${clock(m)}
          </span>
        `,
      )}
      ${
        now !== null &&
        html`
          <b style=${{ insetBlockStart: (now - range.from) * scale + 'px' }}>${clock(Math.floor(now))}</b>
        `
      }
    </div>
  `
}

// CursorLine describes the cursor's stop as text below the board, which screen readers announce.
function CursorLine({ grid }) {
  const { desk } = grid
  useStore(grid.cursor.store)
  useStore(desk.store, () => grid.cursor.here()?.column)
  const h = grid.cursor.here()
  const text = h ? sayStop(desk, h.column, h.stop, h.name, grid.cursor.store.get().span) : ''
  return html`
    <p class="cursorline" role="status">${text}</p>
  `
}
function Hover({ grid, range, scale }) {
  const h = useStore(grid.hover)
  const el = useRef()
  useLayoutEffect(() => {
    const col = h && grid.element()?.querySelector(`[data-col="${CSS.escape(h.id)}"]`)
    if (!col || !el.current) return
    Object.assign(el.current.style, {
      left: col.offsetLeft + 'px',
      width: col.offsetWidth + 'px',
      top: col.offsetTop + (h.at - range.from) * scale + 'px',
      height: 15 * scale + 'px',
    })
  })
  return (
    h &&
    html`
      <div class="hover" ref=${el} aria-hidden="true"><span>+ ${clock(h.at)}</span></div>
    `
  )
}

// Grid shows the columns. strips are the ids of columns that are only a narrow strip; a press on one calls widen(id).
export function Grid({ grid, columns, heads, label, single, side, strips = [], widen }) {
  const { desk } = grid
  const prefs = useStore(desk.prefs)
  const range = useStore(desk.store, s => {
    const { from, to } = rangeOf(columns.map(c => columnIn(s, c.date, c.specialistId)))
    const old = grid.range()
    return old.from === from && old.to === to ? old : { from, to }
  })
  const scale = prefs.compact ? dense : roomy
  grid.set({ columns, range })
  grid.single = () => single
  grid.side = side || (() => {})
  grid.widen = id => strips.includes(id) && (widen(id), true)
  const ref = useRef()
  const [menu, setMenu] = useState(null)
  const pointer = useMemo(() => createPointer(grid), [grid])
  grid.menu = at => {
    const here = grid.cursor.here()
    if (!here) return
    const box = ref.current.querySelector('.cursor')?.getBoundingClientRect()
    setMenu({
      at: at || (box ? { x: box.left + 12, y: box.top + Math.min(box.height, 40) } : { x: 100, y: 100 }),
      ...grid.items(here),
    })
  }
  grid.chosen = grid.menu
  const keys = useMemo(() => keysFor({ cursor: grid.cursor, prefs: desk.prefs, act: grid.act }), [grid])

  useEffect(() => {
    const el = ref.current
    grid.place(el)
    const touches = ['touchmove', 'touchend']
    for (const name of touches) el.addEventListener(name, pointer[name], { passive: false })
    return () => {
      for (const name of touches) el.removeEventListener(name, pointer[name])
    }
  }, [pointer])
  const revealCursor = () => ref.current && reveal(ref.current, ref.current.querySelector('.cursor'))
  // The board opens at the working hours. When another date opens, it scrolls there again. Exception: if the user has
  // chosen an hour with the cursor and that hour is also open on the new date, that hour stays visible.
  const first = columns[0]?.date,
    opened = useRef({})
  const bare = useStore(desk.store, s => columns.every(x => isBare(columnIn(s, x.date, x.specialistId))))
  useLayoutEffect(() => {
    const el = ref.current,
      now = serverNow(),
      today = columns.find(x => dayIn(x.date, zone).has(now))?.date, // a week opens at its column of today
      day = dayIn(today || first, zone)
    const c = grid.cursor.store.get(),
      seen = columns.map(x => grid.look(x.id)),
      before = opened.current
    const chosen = c.id && (c.item || c.at !== before.at)
    if (before.date === first && chosen) return
    const at = chosen && !today && isOpen(seen, c.at) ? c.at : opensAt(seen, today ? day.minuteOf(now) : null)
    opened.current = { date: first, at: Math.floor(at / step) * step }
    const wide = columns.filter(x => !strips.includes(x.id)),
      shown = wide.find(x => x.date === today) || wide[0] || columns[0]
    grid.cursor.put(columns.some(x => x.id === c.id) ? c.id : shown.id, opened.current.at)
    el.scrollTop = Math.max(0, (at - range.from) * scale - el.clientHeight * 0.35)
    // On a small screen, the last columns of a week are beyond the edge.
    requestAnimationFrame(revealCursor)
    if (document.activeElement === document.body) el.focus({ preventScroll: true })
  }, [first, bare])
  // When the appointment in `reveal` (just booked, moved or found) is loaded, move the cursor to it.
  const wanted = useStore(desk.store, s =>
    s.reveal && columns.some(c => columnIn(s, c.date, c.specialistId).items.some(i => isOf(i, s.reveal)))
      ? s.reveal
      : '',
  )
  useLayoutEffect(() => {
    // Use a layout effect, so that the cursor has moved before the next key event.
    for (const c of wanted ? columns : []) {
      const item = grid.look(c.id).items.find(i => isOf(i, wanted))
      if (item) grid.cursor.put(c.id, item.from, item.id)
    }
    if (wanted) desk.patch({ reveal: '' })
  }, [wanted])
  useEffect(
    () =>
      grid.cursor.store.subscribe(() => {
        // The cursor's mark is rendered in the next microtask. Scroll to it after that.
        Promise.resolve().then(revealCursor)
      }),
    [grid],
  )

  return html`
    <div class="calendar">
      <div
        class=${'board' + (single ? ' single' : '') + (clock(720).length > 5 ? ' long' : '')}
        role="application"
        tabindex="0"
        ref=${ref}
        aria-label=${label}
        aria-describedby="board-help"
        aria-roledescription=${t('board.role')}
        style=${{ '--cols': columns.map(c => (strips.includes(c.id) ? 'var(--strip)' : 'minmax(var(--least), 1fr)')).join(' '), '--hour': 60 * scale + 'px', '--h': (range.to - range.from) * scale + 'px' }}
        onKeyDown=${keys}
        onPointerDown=${pointer.down}
        onPointerMove=${pointer.hover}
        onPointerLeave=${pointer.leave}
        onContextMenu=${pointer.context}
        onMouseDown=${e => {
          if (e.target.closest('[data-col]')) {
            e.preventDefault()
            ref.current.focus({ preventScroll: true })
          }
        }}
        onClick=${e => {
          const card = !e.detail && e.target.closest('[data-id]')
          if (card) grid.tapped(card.closest('[data-col]').dataset.col, null, card.dataset.id)
        }}
      >
        <div class="corner"></div>
        ${heads}
        <${Rail}
          range=${range}
          scale=${scale}
          today=${columns.find(c => dayIn(c.date, zone).has(serverNow()))?.date || ''}
        />
        ${columns.map(
          c => html`
            <${Column}
              key=${c.id}
              id=${c.id}
              desk=${desk}
              grid=${grid}
              date=${c.date}
              specialistId=${c.specialistId}
              range=${range}
              scale=${scale}
              strip=${strips.includes(c.id)}
              starts=${c.starts}
              names=${prefs.names}
            />
          `,
        )}
        <${Hover} grid=${grid} range=${range} scale=${scale} />
      </div>
      <p class="sr" id="board-help">${t('board.help')}</p>
      <${CursorLine} grid=${grid} />
      ${
        menu &&
        html`
          <${Menu} ...${menu} close=${() => setMenu(null)} />
        `
      }
    </div>
  `
}

// reveal scrolls only the board, until the mark is not covered by the column heads or the rail.
function reveal(board, mark) {
  if (!mark) return
  const b = board.getBoundingClientRect(),
    m = mark.getBoundingClientRect()
  const rail = board.querySelector('.rail').getBoundingClientRect()
  const top = Math.max(b.top, board.querySelector('.corner').getBoundingClientRect().bottom) + 12,
    bottom = b.bottom - 24,
    rtl = getComputedStyle(board).direction === 'rtl'
  const left = rtl ? b.left + 4 : rail.right + 4,
    right = rtl ? rail.left - 4 : b.right - 4
  const dy = m.top < top ? m.top - top : m.bottom > bottom ? Math.min(m.bottom - bottom, m.top - top) : 0
  const dx = m.left < left ? m.left - left : m.right > right ? m.right - right : 0
  if (dx || dy) board.scrollBy(dx, dy)
}
