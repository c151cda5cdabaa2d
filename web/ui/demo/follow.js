// The desk follows the phones. If a phone selects a time, or two phones compete for one, the desk shows the day of that
// time and marks it in a column where it is free or being booked. The frames have the same origin, so this page can
// read them. The pages in the frames need no code for this.
import { boot } from '../lib/boot.js'
import { dateOf, zone } from '../lib/time.js'
import { clock, dayIn } from '../staff/day.js'

const frame = n => document.querySelectorAll('.demo-stage iframe')[n]
const phones = () => [frame(0), frame(2)].map(f => f?.contentDocument).filter(Boolean)

// seenDay returns the day that a phone shows.
export const seenDay = () =>
  phones()
    .map(d => d.querySelector('.day input:checked')?.value)
    .find(Boolean)

let turn = 0
// follow makes the desk show a time. Without a specialist, it uses the first column in which the time is being
// booked, or else is free.
/** @param {{start: number, specialistId?: string}} to */
export async function follow({ start, specialistId }) {
  const desk = frame(1)?.contentWindow,
    mine = ++turn,
    date = dateOf(start, zone)
  if (!desk) return
  const there = desk.location.hash.slice(1) || 'day/' + dateOf(Date.now(), zone)
  if (decodeURIComponent(there) !== 'day/' + date) desk.location.hash = 'day/' + date
  for (let n = 0; n < 50 && mine === turn; n++) {
    if (mark(desk.document, start, date, specialistId)) return
    await new Promise(done => setTimeout(done, 100))
  }
}

// mark draws a frame around the time for 8 s and scrolls to it. It finds the position from the hour lines of the
// board.
function mark(page, start, date, specialistId) {
  const board = page.querySelector('.busywrap:not(.loading) .board'),
    minute = dayIn(date, zone).minuteOf(start)
  const lines = [...(board?.querySelectorAll('.rail span') || [])],
    line = lines.findIndex(x => x.textContent === clock(minute - (minute % 60)))
  if (
    line < 0 ||
    lines.length < 2 ||
    decodeURIComponent(page.location.hash.slice(1) || 'day/' + date) !== 'day/' + date
  )
    return false
  const y = i => parseFloat(lines[i].style.insetBlockStart),
    hour = y(1) - y(0)
  const top = y(line) + ((minute % 60) / 60) * hour,
    height = hour / 2
  const inWay = (col, kind) =>
    [...col.querySelectorAll(kind)].some(
      x =>
        parseFloat(x.style.insetBlockStart) < top + height - 3 &&
        parseFloat(x.style.insetBlockStart) + parseFloat(x.style.blockSize) > top + 3,
    )
  const columns = [...board.querySelectorAll('[data-col]')].filter(c =>
    specialistId
      ? c.dataset.col === specialistId
      : boot.appointmentTypes.some(
          x => x.capacity === 1 && x.specialists.some(p => (p.specialistId || p.id || p) === c.dataset.col),
        ),
  )
  const column = specialistId
    ? columns[0]
    : columns.find(c => inWay(c, '.ghosted')) || columns.find(c => !inWay(c, '.appt, .closed')) || columns[0]
  if (!column) return false
  page.querySelectorAll('.touched').forEach(x => x.remove())
  const box = Object.assign(page.createElement('span'), { className: 'touched', ariaHidden: 'true' })
  box.style.insetBlockStart = top + 'px'
  box.style.blockSize = height + 'px'
  column.append(box)
  board.scrollTop = Math.max(0, top - board.clientHeight * 0.4) // only the board: scrollIntoView would scroll this page too
  setTimeout(() => box.remove(), 8000)
  return true
}

// followPhones checks every 300 ms which time is selected on each phone. It returns a function that stops this.
export function followPhones() {
  const shown = new Map()
  const timer = setInterval(() => {
    if (document.hidden) return
    phones().forEach((d, n) => {
      const start = d.querySelector('.chip input:checked')?.closest('.chip').dataset.start
      if (start && start !== shown.get(n)) follow({ start: Date.parse(start) })
      shown.set(n, start)
    })
  }, 300)
  return () => clearInterval(timer)
}
