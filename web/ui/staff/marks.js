// The marks on top of a column: the cursor, the target of a drag, and the line of the current time. Each mark has its
// own subscription, so moving the cursor redraws one small box and no cards.
import { html, useEffect, useState } from '../lib/html.js'
import { Icon } from '../lib/icons.js'
import { useStore } from '../lib/store.js'
import { zone } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { clock, dayIn } from './day.js'
import { place } from './card.js'
import { step } from './layout.js'

function CursorMark({ grid, id, ...scale }) {
  const c = useStore(grid.cursor.store, c => (c.id === id ? c : null))
  // If a card has moved, the cursor moves with it.
  useStore(grid.desk.store, () => c && grid.look(id))
  const here = c && grid.cursor.here()
  if (!here || here.id !== id) return null
  const { stop } = here,
    { item } = stop
  return html`
    <div
      class=${'cursor' + (item ? ' on' : '')}
      style=${place({ from: stop.at, to: c.span ? stop.at + c.span : item ? item.to : Math.max(stop.end, stop.at + 10), lane: item?.lane, lanes: item?.lanes }, scale)}
    >
      ${
        !item &&
        html`
          <span>
            ${clock(stop.at)}${
              c.span > step &&
              html`
                ${' '}– ${clock(stop.at + c.span)}
              `
            }
          </span>
        `
      }
    </div>
  `
}

function DropMark({ grid, id, ...scale }) {
  const d = useStore(grid.drop, d => (d?.id === id ? d : null))
  if (!d) return null
  return html`
    <div class=${'drop' + (d.why ? ' bad' : '')} style=${place({ from: d.at, to: d.at + d.length }, scale)}>
      <p>
        <${Icon} name=${d.why ? 'stop' : 'check'} />
        <b>${clock(d.at)}</b>
        ${' '}${d.why || d.who}
      </p>
    </div>
  `
}

// nowOn returns the current minute if the date is today, otherwise null.
const nowOn = date => {
  if (!date) return null
  const day = dayIn(date, zone),
    now = serverNow()
  return day.has(now) ? day.minuteOf(now) : null
}
export function useNow(date) {
  const [now, set] = useState(() => nowOn(date))
  useEffect(() => {
    const tick = () => {
      if (!document.hidden) set(nowOn(date))
    }
    tick()
    const timer = setInterval(tick, 15000)
    document.addEventListener('visibilitychange', tick)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', tick)
    }
  }, [date])
  return now
}
function NowLine({ date, range, scale }) {
  const now = useNow(date)
  return (
    now !== null &&
    now >= range.from &&
    now <= range.to &&
    html`
      <i class="now" style=${{ insetBlockStart: (now - range.from) * scale + 'px' }}></i>
    `
  )
}

export const Marks = props => html`
  <${NowLine} ...${props} />
  <${DropMark} ...${props} />
  <${CursorMark} ...${props} />
`
