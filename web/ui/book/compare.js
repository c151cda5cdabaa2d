// The next days with times, next to the chosen day on a wide screen and below it on a narrow screen. Their times belong
// to the same group of radios as those of the chosen day. A day shows its first times. A button shows the others.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { useStore } from '../lib/store.js'
import { t } from '../lib/i18n.js'
import { write } from '../lib/time.js'
import { Parts, timesOf } from './times.js'

const wide = matchMedia('(min-width: 900px)')
const fit = () => (wide.matches ? 12 : 3)

export function Compare({ calendar, mine }) {
  const s = useStore(calendar.store)
  const [most, setMost] = useState(fit)
  useEffect(() => {
    const change = () => setMost(fit())
    wide.addEventListener('change', change)
    return () => wide.removeEventListener('change', change)
  }, [])
  useEffect(() => {
    calendar.ahead()
  }, [])
  return (
    s.next.length > 0 &&
    html`
      <div class="next" role="group" aria-label=${t('compare.title')}>
        <h2>${t('compare.title')}</h2>
        ${s.next.map(
          date => html`
            <${Day} key=${date} date=${date} times=${timesOf(s, mine, date)} s=${s} most=${most} calendar=${calendar} />
          `,
        )}
      </div>
    `
  )
}

function Day({ date, times, s, most, calendar }) {
  const [all, setAll] = useState(false)
  const own = useRef()
  // The button that showed the other times has disappeared, so the focus moves to the first of these times.
  useEffect(() => {
    if (all) own.current?.querySelector(`input[value="${rest[0].start}"]`)?.focus()
  }, [all])
  const first = times.slice(0, most),
    rest = times.slice(most)
  // The chosen time stays visible.
  const whole = all || rest.length < 2 || rest.some(x => x.start === s.chosen)
  return html`
    <section class=${'next-day' + (whole && rest.length > 1 ? ' whole' : '')} ref=${own}>
      <h3>
        <span class="next-weekday">${write('weekdayLong', date)},${' '}</span>
        <span>${write('dayMonth', date)}</span>
      </h3>
      <${Parts}
        heading="h4"
        times=${whole ? times : first}
        chosen=${s.chosen}
        group=${s.type.capacity > 1}
        calendar=${calendar}
      />
      ${
        !whole &&
        html`
          <button
            type="button"
            class="textlink"
            aria-label=${t('compare.more.sr', { n: rest.length, date: write('longDay', date) })}
            onClick=${() => setAll(true)}
          >
            ${t('compare.more', { n: rest.length })}
          </button>
        `
      }
    </section>
  `
}
