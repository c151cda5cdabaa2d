// The times of one day, as one group of radio buttons. Two rules are based on measurements. A radio is never natively
// disabled, because the focus is lost if the focused time becomes held. A radio never claims a time, because arrow
// keys check radios; the button below the times claims the time.
import { html, useEffect, useRef } from '../lib/html.js'
import { useStore } from '../lib/store.js'
import { serverNow } from '../lib/clock.js'
import { t } from '../lib/i18n.js'
import { say } from '../lib/say.js'
import { Icon } from '../lib/icons.js'
import { dateOf, foreignZone, partOfDay, soon, time, write } from '../lib/time.js'
import { Notice, words } from '../lib/notice.js'
import { isShown } from './calendar.js'
import { viewDay } from './slots.js'
import { PhoneLink } from './shell.js'

const parts = ['morning', 'afternoon', 'evening']
const open = x => x.status === 'free' || x.status === 'mine'

export function label(x, group) {
  const at = time(x.start)
  if (x.status === 'mine') return t('slot.mine.sr', { time: at })
  if (x.status !== 'free') return t(`slot.${x.status}.sr`, { time: at })
  if (x.looking) return t('slot.looking.sr', { time: at })
  return group ? t('slot.seats.sr', { time: at, n: x.left }) : at
}

function Chip({ x, checked, group, calendar }) {
  const free = open(x)
  const word =
    x.status === 'mine' ? t('slot.mine') : !free ? t('slot.' + x.status) : group ? t('slot.seats', { n: x.left }) : ''
  const look = () => {
    if (free) calendar.look(x.start)
  }
  const leave = () => {
    const { chosen } = calendar.store.get()
    if (chosen !== x.start) calendar.look(chosen)
  }
  return html`
    <label
      class=${['chip', x.status, x.looking && 'looking', x.tint && 'tint'].filter(Boolean).join(' ')}
      data-start=${x.start}
      data-status=${x.status}
      onMouseEnter=${look}
      onMouseLeave=${leave}
    >
      <input
        type="radio"
        name="time"
        value=${x.start}
        checked=${checked}
        aria-disabled=${free ? undefined : 'true'}
        aria-label=${label(x, group)}
        onClick=${e => {
          if (!free) e.preventDefault()
        }}
        onChange=${() => free && calendar.choose(x.start)}
        onFocus=${look}
        onBlur=${leave}
      />
      <span class="face" aria-hidden="true">
        <b>${time(x.start)}</b>
        ${
          word &&
          html`
            <span>${word}</span>
          `
        }
        <${Icon} name="check" />
      </span>
    </label>
  `
}

// timesOf returns the times of a shown day. mine is the start of the patient's own hold.
export const timesOf = (s, mine, date = s.day) =>
  viewDay(s.slots, date, serverNow()).map(x => (x.start === mine ? { ...x, status: 'mine' } : x))
// chosenOf returns the chosen time, if its day is shown.
export const chosenOf = (s, mine) => {
  const date = s.chosen && dateOf(s.chosen)
  return date && isShown(s, date) ? timesOf(s, mine, date).find(x => x.start === s.chosen) : undefined
}

// Parts shows the times of one day, grouped by part of the day. heading is the tag of the headings.
export const Parts = ({ times, chosen, group, calendar, heading = 'h3' }) =>
  parts.map(part => {
    const inside = times.filter(x => partOfDay(x.start) === part)
    return (
      inside.length > 0 &&
      html`
        <section key=${part}>
          <${heading}>${t('part.' + part)}</${heading}>
          <div class="grid">
            ${inside.map(
              x => html`
                <${Chip} key=${x.start} x=${x} checked=${x.start === chosen} group=${group} calendar=${calendar} />
              `,
            )}
          </div>
        </section>
      `
    )
  })

export function Times({ calendar, mine, wait }) {
  const s = useStore(calendar.store)
  const times = s.day ? timesOf(s, mine) : []
  const group = s.type.capacity > 1
  const chosen = chosenOf(s, mine)
  // The page never announces the holds of other clients. It announces only a change to the time that the patient has
  // chosen.
  const was = useRef()
  useEffect(() => {
    if (was.current?.start === chosen?.start && chosen && was.current.status !== chosen.status) {
      if (!open(chosen)) say(label(chosen, group))
      else if (was.current.status === 'held') say(t('times.back', { time: time(chosen.start) }))
    }
    was.current = chosen
  }, [chosen?.start, chosen?.status])

  const ask =
    wait &&
    html`
      <button type="button" class="btn" onClick=${wait}>${t('wait.ask')}</button>
    `
  const none = s.first === null && !times.length
  if (none && !s.loading) {
    return html`
      <div class="times">
        <${Notice} text="none.all" params=${{ n: s.type.horizonDays || 60 }}>
          <p>
            ${words('none.all.body', {
              phone: html`
                <${PhoneLink} />
              `,
            })}
          </p>
          ${ask}
        </${Notice}>
      </div>
    `
  }
  const zone = s.day && times.length ? foreignZone(times[0].start) : ''
  const first =
    s.first &&
    html`
      <button type="button" class="btn" onClick=${calendar.showFirst}>
        ${t('day.first', { when: soon(s.first.start, s.day || s.today) })}
      </button>
    `
  return html`
    <fieldset class=${'times' + (s.loading ? ' loading' : '')} aria-busy=${s.loading ? 'true' : undefined}>
      <legend><h2>${s.day ? write('longDay', s.day) : t('times.loading')}</h2></legend>
      ${
        zone &&
        html`
          <p class="muted zone">
            <${Icon} name="clock" />
            ${t('times.zone', { zone })}
          </p>
        `
      }
      ${
        s.day &&
        !times.length &&
        s.slots.days[s.day] &&
        html`
          <${Notice} icon="calendar" text="none.day" params=${{ date: write('shortLong', s.day) }}>
            ${first}${ask}
          </${Notice}>
        `
      }
      ${
        !times.length &&
        s.loading &&
        html`
          <div class="grid ghost" aria-hidden="true">
            ${Array.from(
              { length: 9 },
              () => html`
                <span></span>
              `,
            )}
          </div>
        `
      }
      <${Parts} times=${times} chosen=${s.chosen} group=${group} calendar=${calendar} />
    </fieldset>
  `
}
