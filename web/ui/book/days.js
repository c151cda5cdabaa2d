// The day strip: seven days as radios, each with its number of free times. A day without times is closed or full, and
// stays selectable: the page then explains that there are none, which a disabled button cannot do.
import { html, useEffect, useRef } from '../lib/html.js'
import { useStore } from '../lib/store.js'
import { serverNow } from '../lib/clock.js'
import { t } from '../lib/i18n.js'
import { Icon } from '../lib/icons.js'
import { addDays, write } from '../lib/time.js'
import { freeOn } from './slots.js'

export function Days({ calendar }) {
  const s = useStore(calendar.store)
  const strip = useRef()
  const days = Array.from({ length: 7 }, (_, i) => addDays(s.from, i)).filter(d => d < s.until)
  const now = serverNow()
  useEffect(() => {
    const on = strip.current?.querySelector('input:checked')?.parentNode
    if (!on) return
    const box = strip.current.getBoundingClientRect(),
      r = on.getBoundingClientRect()
    if (r.left < box.left || r.right > box.right)
      strip.current.scrollLeft += r.left - box.left - (box.width - r.width) / 2
  }, [s.day, s.from])
  const last = days[days.length - 1] || s.from
  const months =
    write('month', s.from) === write('month', last)
      ? write('month', s.from)
      : `${write('monthOnly', s.from)} – ${write('month', last)}`
  return html`
    <fieldset class="days" aria-busy=${s.loading ? 'true' : undefined}>
      <legend class="sr">${t('day.title')}</legend>
      <div class="days-head">
        <h2>${months}</h2>
        <button
          type="button"
          class="btn quiet square"
          aria-label=${t('week.prev')}
          aria-disabled=${s.from <= s.today ? 'true' : undefined}
          onClick=${() => s.from > s.today && calendar.week(-1)}
        >
          <${Icon} name="back" flip />
        </button>
        <button
          type="button"
          class="btn quiet square"
          aria-label=${t('week.next')}
          aria-disabled=${addDays(s.from, 7) >= s.until ? 'true' : undefined}
          onClick=${() => addDays(s.from, 7) < s.until && calendar.week(1)}
        >
          <${Icon} name="next" flip />
        </button>
      </div>
      <div class="strip" ref=${strip}>
        ${days.map(date => {
          const known = s.slots.days[date]
          const n = known ? freeOn(s.slots, date, now).length : null
          const count = n === null ? '' : t('day.free', { n })
          return html`
            <label class=${'day' + (n === 0 ? ' empty' : '')} key=${date}>
              <input
                type="radio"
                name="day"
                value=${date}
                checked=${date === s.day}
                data-free=${n}
                aria-label=${[write('longDay', date), count].filter(Boolean).join(', ')}
                onChange=${() => calendar.show(date)}
              />
              <span class="face" aria-hidden="true">
                <span>${write('weekday', date)}</span>
                <b>${write('day', date)}</b>
                <span class="count">${n === 0 ? '–' : count || '\u00a0'}</span>
              </span>
            </label>
          `
        })}
      </div>
    </fieldset>
  `
}
