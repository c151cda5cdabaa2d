// The form for weekly hours: the windows of each weekday as time inputs, and a bar that shows the day at a glance.
// `hours` has the format of the API: [{weekday, start, end}].
import { TimeInput } from '../lib/typed.js'
import { html } from '../lib/html.js'
import { boot } from '../lib/boot.js'
import { Icon } from '../lib/icons.js'
import { locale, t } from '../lib/i18n.js'
import { say } from '../lib/say.js'
import { minutesOf } from './day.js'

export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']
// weekdayName returns the name of a weekday in the page's language. 5 January 2026 is a Monday.
const long = new Intl.DateTimeFormat(locale, { weekday: 'long', timeZone: 'UTC' })
const weekdayName = day => long.format(Date.UTC(2026, 0, 5 + weekdays.indexOf(day)))

export const usualHours = weekdays.slice(0, 5).flatMap(weekday => [
  { weekday, start: '09:00', end: '12:00' },
  { weekday, start: '13:00', end: '17:00' },
])

export const inOrder = hours =>
  [...hours].sort((a, b) => weekdays.indexOf(a.weekday) - weekdays.indexOf(b.weekday) || (a.start < b.start ? -1 : 1))

// faults returns the errors of a list of windows, as {index: text key}.
export function faults(windows) {
  const found = {}
  windows.forEach((w, i) => {
    if (!w.start || !w.end) found[i] = 'hours.err.empty'
    else if (w.start >= w.end) found[i] = 'hours.err.order'
    else if (windows.some((o, j) => j !== i && o.start && o.end && o.start < w.end && w.start < o.end))
      found[i] = 'hours.err.overlap'
  })
  return found
}
export const faulty = hours => weekdays.some(day => Object.keys(faults(hours.filter(h => h.weekday === day))).length)

// A time input cannot show 24:00, so 00:00 as the end of a window means 24:00.
const shownEnd = end => (end === '24:00' ? '00:00' : end)
const meantEnd = text => (text === '00:00' ? '24:00' : text)

// Windows shows the windows of one day. The form for a date with other hours uses it too.
export function Windows({ id, name, windows, change }) {
  const bad = faults(windows)
  const edit = (i, part, value) => change(windows.map((w, j) => (j === i ? { ...w, [part]: value } : w)))
  const add = () => {
    const last = windows.at(-1)?.end
    const start = !last ? '09:00' : last < '13:00' ? '13:00' : last < '22:00' ? last : ''
    const end = !last ? '12:00' : last < '13:00' ? '17:00' : ''
    const place = windows.at(-1)?.place
    change([...windows, { start, end, ...(place && { place }) }])
    setTimeout(() => document.getElementById(`${id}-${windows.length}-start`)?.focus())
  }
  const remove = i => {
    change(windows.filter((_, j) => j !== i))
    setTimeout(() => document.getElementById(id + '-add')?.focus())
  }
  return html`
    <div class="windows" role="group" aria-label=${name}>
      ${windows.map(
        (w, i) => html`
          <div class=${'window' + (bad[i] ? ' bad' : '')} key=${i}>
            <${TimeInput}
              id=${`${id}-${i}-start`}
              aria-label=${t('hours.from', { day: name })}
              aria-invalid=${bad[i] ? 'true' : undefined}
              aria-describedby=${bad[i] ? `${id}-${i}-bad` : undefined}
              step="300"
              value=${w.start}
              onInput=${e => edit(i, 'start', e.currentTarget.value)}
            />
            <span aria-hidden="true">–</span>
            <${TimeInput}
              id=${`${id}-${i}-end`}
              aria-label=${t('hours.to', { day: name })}
              aria-invalid=${bad[i] ? 'true' : undefined}
              aria-describedby=${bad[i] ? `${id}-${i}-bad` : undefined}
              step="300"
              value=${shownEnd(w.end)}
              onInput=${e => edit(i, 'end', meantEnd(e.currentTarget.value))}
            />
            ${
              boot.places.length > 0 &&
              html`
                <select
                  class="at"
                  aria-label=${t('hours.place', { day: name, from: w.start })}
                  value=${w.place || ''}
                  onChange=${e => edit(i, 'place', e.currentTarget.value)}
                >
                  ${[['', t('hours.noplace')], ...boot.places.map(x => [x.id, x.name])].map(
                    ([id, label]) => html`
                      <option key=${id} value=${id} selected=${id === (w.place || '')}>${label}</option>
                    `,
                  )}
                </select>
              `
            }
            <button
              type="button"
              class="btn quiet square"
              aria-label=${t('hours.remove', { day: name, from: w.start, to: shownEnd(w.end) })}
              onClick=${() => remove(i)}
            >
              <${Icon} name="close" />
            </button>
            ${
              bad[i] &&
              html`
                <p class="error" id=${`${id}-${i}-bad`}>${t(bad[i])}</p>
              `
            }
          </div>
        `,
      )}
      ${
        !windows.length &&
        html`
          <span class="closed-word">${t('hours.closed')}</span>
        `
      }
      <button
        type="button"
        class="btn quiet add"
        id=${id + '-add'}
        aria-label=${t('hours.add.on', { day: name })}
        onClick=${add}
      >
        <${Icon} name="plus" />
        ${t('hours.add')}
      </button>
    </div>
  `
}

const HourBar = ({ windows }) => html`
  <span class="hourbar" aria-hidden="true">
    ${[6, 12, 18].map(
      h => html`
        <s key=${h} style=${{ insetInlineStart: (h / 24) * 100 + '%' }}></s>
      `,
    )}
    ${windows
      .filter(w => w.start < w.end)
      .map(
        (w, i) => html`
          <i
            key=${i}
            style=${{ insetInlineStart: minutesOf(w.start) / 14.4 + '%', inlineSize: (minutesOf(w.end) - minutesOf(w.start)) / 14.4 + '%' }}
          ></i>
        `,
      )}
  </span>
`

export function WeekHours({ hours, change, id = 'hours' }) {
  const of = day => hours.filter(h => h.weekday === day)
  const put = (day, windows) =>
    change(weekdays.flatMap(d => (d === day ? windows.map(w => ({ ...w, weekday: day })) : of(d))))
  const copy = () => {
    const monday = of('monday')
    change([
      ...weekdays.slice(0, 5).flatMap(weekday => monday.map(w => ({ ...w, weekday }))),
      ...hours.filter(h => weekdays.indexOf(h.weekday) > 4),
    ])
    say(t('hours.copied'))
  }
  return html`
    <div class="weekhours">
      ${weekdays.map(
        day => html`
          <div class="weekday" key=${day}>
            <h3>${weekdayName(day)}</h3>
            <${HourBar} windows=${of(day)} />
            <${Windows}
              id=${id + '-' + day}
              name=${weekdayName(day)}
              windows=${of(day)}
              change=${windows => put(day, windows)}
            />
            ${
              day === 'monday' &&
              html`
                <button type="button" class="textlink copy" onClick=${copy}>${t('hours.copy')}</button>
              `
            }
          </div>
        `,
      )}
    </div>
  `
}
