// The desk follows the phones: the time that is touched on one of them, or raced for, is shown on the desk, on its day and in a column
// where it is free or being booked. The frames are of this very origin, so one looks into the other; neither knows that it is watched.
import { boot } from '../lib/boot.js'
import { dateOf, zone } from '../lib/time.js'
import { clock, dayIn } from '../staff/day.js'

const frame = n => document.querySelectorAll('.demo-stage iframe')[n]
const phones = () => [frame(0), frame(2)].map(f => f?.contentDocument).filter(Boolean)

// seenDay is the day that a phone is open on.
export const seenDay = () => phones().map(d => d.querySelector('.day input:checked')?.value).find(Boolean)

let turn = 0
// follow has the desk show a time. Without a specialist it is the first column in which it is being booked, or else free.
/** @param {{start: number, specialistId?: string}} to */
export async function follow({ start, specialistId }) {
  const desk = frame(1)?.contentWindow, mine = ++turn, date = dateOf(start, zone)
  if (!desk) return
  const there = desk.location.hash.slice(1) || 'day/' + dateOf(Date.now(), zone)
  if (decodeURIComponent(there) !== 'day/' + date) desk.location.hash = 'day/' + date
  for (let n = 0; n < 50 && mine === turn; n++) {
    if (mark(desk.document, start, date, specialistId)) return
    await new Promise(done => setTimeout(done, 100))
  }
}

// mark puts a frame around the time for a while, and brings it into sight. The hour lines of the board say where the time is.
function mark(page, start, date, specialistId) {
  const board = page.querySelector('.busywrap:not(.loading) .board'), minute = dayIn(date, zone).minuteOf(start)
  const lines = [...board?.querySelectorAll('.rail span') || []], line = lines.findIndex(x => x.textContent === clock(minute - minute % 60))
  if (line < 0 || lines.length < 2 || decodeURIComponent(page.location.hash.slice(1) || 'day/' + date) !== 'day/' + date) return false
  const y = i => parseFloat(lines[i].style.insetBlockStart), hour = y(1) - y(0)
  const top = y(line) + minute % 60 / 60 * hour, height = hour / 2
  const inWay = (col, kind) => [...col.querySelectorAll(kind)].some(x => parseFloat(x.style.insetBlockStart) < top + height - 3 && parseFloat(x.style.insetBlockStart) + parseFloat(x.style.blockSize) > top + 3)
  const columns = [...board.querySelectorAll('[data-col]')].filter(c => specialistId ? c.dataset.col === specialistId : boot.appointmentTypes.some(x => x.capacity === 1 && x.specialists.some(p => (p.specialistId || p.id || p) === c.dataset.col)))
  const column = specialistId ? columns[0] : columns.find(c => inWay(c, '.ghosted')) || columns.find(c => !inWay(c, '.appt, .closed')) || columns[0]
  if (!column) return false
  page.querySelectorAll('.touched').forEach(x => x.remove())
  const box = Object.assign(page.createElement('span'), { className: 'touched', ariaHidden: 'true' })
  box.style.insetBlockStart = top + 'px'
  box.style.blockSize = height + 'px'
  column.append(box)
  board.scrollTop = Math.max(0, top - board.clientHeight * .4) // the board alone: scrollIntoView would move this page too
  setTimeout(() => box.remove(), 8000)
  return true
}

// followPhones looks what is touched, as long as the page is there.
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
