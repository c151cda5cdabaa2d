// Pointers on the board. A press on a card drags it; a finger must press for 300 ms, so that scrolling still works. A
// press on free time books it. A drag over free time selects a span. No code here changes an appointment: a drop
// opens the same dialog as the key M, which asks first.
import { dir } from '../lib/i18n.js'
import { createStore } from '../lib/store.js'
import { step } from './layout.js'

const slop = 5,
  press = 300,
  swipe = 60

// grid: {element(), scale(), range(), cursor, drop, look(id), lift(card) → bool, target(card, id, at) → {why}|{},
//        dropped(card, id, at), tapped(id, at, item, sign), chosen(point), menu(point), side(by), single()}
export function createPointer(grid) {
  let g = null
  const column = x => {
    for (const el of grid.element().querySelectorAll('[data-col]')) {
      const box = el.getBoundingClientRect()
      if (x >= box.left && x < box.right) return { id: el.dataset.col, box }
    }
  }
  const minuteAt = (y, box) => grid.range().from + (y - box.top) / grid.scale()
  const snap = (m, by = step) => Math.round(m / by) * by
  const cellAt = m => Math.floor(m / step) * step

  // --- dragging a card
  function lift() {
    const card = g.card
    // The card cannot be dragged. grid.lift has shown the reason, if the user needs one. Do not try again during this
    // press.
    if (!grid.lift(card.dataset.id)) {
      g.mode = 'stays'
      return
    }
    const box = card.getBoundingClientRect()
    g.mode = 'drag'
    g.grip = g.y - box.top
    // The dragged label is small, so that the place below it stays visible. It is next to the mouse, or above the
    // finger.
    g.ghost = document.createElement('div')
    g.ghost.className = 'lifted ' + card.className.match(/\bt\d\b/)
    g.ghost.textContent = card.querySelector('b').textContent
    Object.assign(g.ghost.style, { left: g.x + 14 + 'px', top: g.y + (g.type === 'touch' ? -64 : 14) + 'px' })
    document.body.append(g.ghost)
    card.classList.add('left')
    document.documentElement.classList.add('dragging')
    if (g.type === 'touch') navigator.vibrate?.(10)
    g.scroll = setInterval(roll, 16)
  }
  function carry() {
    g.ghost.style.transform = `translate(${g.nx - g.x}px, ${g.ny - g.y}px)`
    const under = column(g.nx)
    if (!under) return grid.drop.set(() => null)
    const at = snap(minuteAt(g.ny - g.grip, under.box))
    const was = grid.drop.get()
    if (was?.id !== under.id || was.at !== at)
      grid.drop.set(() => ({ id: under.id, at, ...grid.target(g.card.dataset.id, under.id, at) }))
  }
  // If the pointer is near an edge while it drags a card, scroll the board.
  function roll() {
    const el = grid.element(),
      box = el.getBoundingClientRect(),
      edge = 48
    const by = (p, from, to) => (p < from + edge ? -8 : p > to - edge ? 8 : 0)
    const dx = by(g.nx, box.left, box.right),
      dy = by(g.ny, box.top + 48, box.bottom)
    if (dx || dy) {
      el.scrollBy(dx, dy)
      carry()
    }
  }
  function land() {
    clearInterval(g.scroll)
    g.ghost.remove()
    g.card.classList.remove('left')
    document.documentElement.classList.remove('dragging')
    grid.drop.set(() => null)
  }

  function end() {
    if (!g) return
    clearTimeout(g.timer)
    if (g.mode === 'drag') land()
    removeEventListener('pointermove', move)
    removeEventListener('pointerup', up)
    removeEventListener('pointercancel', end)
    removeEventListener('keydown', key, true)
    g = null
  }
  const key = e => {
    if (e.key !== 'Escape' || !g.mode) return
    e.preventDefault()
    e.stopPropagation()
    end()
  }
  function move(e) {
    if (e.pointerId !== g.id) return
    g.nx = e.clientX
    g.ny = e.clientY
    const dx = g.nx - g.x,
      dy = g.ny - g.y
    if (g.mode === 'drag') return carry()
    if (g.mode === 'stays') return
    if (g.type === 'touch') {
      if (Math.hypot(dx, dy) > 10) clearTimeout(g.timer)
      return
    }
    if (Math.hypot(dx, dy) < slop) return
    if (g.card) return lift()
    if (g.mode === 'range' || Math.abs(dy) > slop) {
      g.mode = 'range'
      const from = cellAt(minuteAt(Math.min(g.y, g.ny), g.box)),
        to = cellAt(minuteAt(Math.max(g.y, g.ny), g.box)) + step
      grid.cursor.put(g.col, from, '', Math.max(step, to - from))
    }
  }
  function up(e) {
    if (e.pointerId !== g.id) return
    const { mode, card, col, box, type, sign } = g,
      drop = grid.drop.get()
    const dx = e.clientX - g.x,
      dy = e.clientY - g.y,
      point = { x: e.clientX, y: e.clientY }
    const id = card?.dataset.id,
      at = minuteAt(g.y, box)
    end()
    if (mode === 'drag') return drop && grid.dropped(id, drop.id, drop.at)
    if (mode === 'range') return grid.chosen(point)
    if (type === 'touch' && Math.abs(dx) > swipe && Math.abs(dx) > 2 * Math.abs(dy))
      return grid.single() && grid.side(dx < 0 === (dir === 'ltr') ? 1 : -1)
    if (Math.hypot(dx, dy) <= 10) grid.tapped(col, at, id, sign)
  }

  return {
    down(e) {
      const col = e.target.closest('[data-col]')
      if (!col || !e.isPrimary || e.button || g) return
      const card = e.target.closest('[data-id]')
      g = {
        timer: 0,
        id: e.pointerId,
        type: e.pointerType,
        sign: e.target.closest('[data-attend]')?.dataset.attend,
        x: e.clientX,
        y: e.clientY,
        nx: e.clientX,
        ny: e.clientY,
        card,
        col: col.dataset.col,
        box: col.getBoundingClientRect(),
        mode: '',
      }
      if (g.type !== 'mouse') e.preventDefault()
      if (g.type === 'touch' && card) g.timer = setTimeout(lift, press)
      addEventListener('pointermove', move)
      addEventListener('pointerup', up)
      addEventListener('pointercancel', end)
      addEventListener('keydown', key, true)
    },
    // A finger that drags a card must not scroll the page.
    touchmove(e) {
      if (g?.mode === 'drag') e.preventDefault()
    },
    // Prevent the click that follows a tap. It would hit the dialog that the tap has opened.
    touchend(e) {
      if (e.cancelable && e.target.closest('[data-col]')) e.preventDefault()
    },
    context(e) {
      const col = e.target.closest('[data-col]')
      if (!col) return
      e.preventDefault()
      if (g?.mode === 'drag') return
      const item = e.target.closest('[data-id]')?.dataset.id
      end()
      if (e.clientY || e.clientX)
        grid.cursor.put(col.dataset.col, minuteAt(e.clientY, col.getBoundingClientRect()), item || '')
      grid.menu({ x: e.clientX, y: e.clientY })
    },
    // Highlight the free 15-minute step under the mouse, to show that it can be booked.
    hover(e) {
      const col = e.pointerType === 'mouse' && !g && !e.target.closest('[data-id]') && e.target.closest('[data-col]')
      const at = col && cellAt(minuteAt(e.clientY, col.getBoundingClientRect()))
      const was = grid.hover.get()
      if (was?.id !== col?.dataset?.col || was?.at !== at)
        grid.hover.set(() => (col ? { id: col.dataset.col, at } : null))
    },
    leave: () => grid.hover.set(() => null),
  }
}
export const createMarks = () => ({ drop: createStore(null), hover: createStore(null) })
