// Inputs for dates and times of day. They show and read one format, the page's own, regardless of the browser's
// language. They also read short forms: 9, 930, 9:30, tomorrow, fri, 26 nov. The value is "2026-11-23" or "09:30", as
// in the browser's own inputs. If the text is not a date or a time, the value is empty.
import { html, useRef, useState } from './html.js'
import { Icon } from './icons.js'
import { t } from './i18n.js'
import { readDate, readTime, two } from './readdate.js'
import { addDays, shortDate } from './time.js'

// Typed shows the value in the page's format, or the text as the person has typed it. handler receives {currentTarget:
// {value}}, as from an input of the browser.
function Typed({ value = '', read, show, step, handler, ...rest }) {
  const [text, setText] = useState(/** @type {string | null} */ (null)),
    [left, setLeft] = useState(false)
  const own = text !== null && (read(text) === value || (!read(text) && !value))
  const tell = next => handler?.({ currentTarget: { value: next }, target: { value: next } })
  const bad = own && left && Boolean(text.trim()) && !value
  return html`
    <input
      ...${rest}
      type="text"
      autocomplete="off"
      spellcheck=${false}
      value=${own ? text : value && show(value)}
      aria-invalid=${rest['aria-invalid'] || (bad ? 'true' : undefined)}
      onInput=${e => {
        setText(e.currentTarget.value)
        setLeft(false)
        tell(read(e.currentTarget.value))
      }}
      onFocus=${e => {
        const field = e.currentTarget
        field.select()
        // After the focus event, WebKit moves the caret to the start. select() would also move the focus back.
        queueMicrotask(() => document.activeElement === field && field.select())
      }}
      onBlur=${() => {
        setLeft(true)
        if (value) setText(null)
      }}
      onKeyDown=${e => {
        const by = { ArrowUp: 1, ArrowDown: -1 }[e.key]
        if (!by || !value || e.altKey || e.ctrlKey || e.metaKey) return
        e.preventDefault()
        setText(null)
        tell(step(value, by))
      }}
    />
  `
}
const stepTime = (value, by) => {
  const at = (+value.slice(0, 2) * 60 + +value.slice(3) + by * 5 + 1440) % 1440
  return `${two(Math.floor(at / 60))}:${two(at % 60)}`
}

export const TimeInput = ({ onInput, type, step, min, max, ...rest }) => html`
  <${Typed} ...${rest} handler=${onInput} read=${readTime} show=${x => x} step=${stepTime} />
`
// PickDate is a button that opens the browser's calendar. It calls pick with the chosen date. rest are attributes of
// the button.
export function PickDate({ value, min, max, pick, ...rest }) {
  const picker = useRef()
  const open = () => (picker.current.showPicker ? picker.current.showPicker() : picker.current.focus())
  return html`
    <button type="button" aria-label=${t('day.pick')} ...${rest} onClick=${open}><${Icon} name="calendar" /></button>
    <input
      type="date"
      ref=${picker}
      value=${value}
      min=${min}
      max=${max}
      tabindex="-1"
      aria-hidden="true"
      onInput=${e => {
        e.stopPropagation()
        if (e.currentTarget.value) pick(e.currentTarget.value)
      }}
    />
  `
}

// DateInput reads a typed date and has a button that opens the browser's calendar.
export function DateInput({ onInput, type, step, min, max, ...rest }) {
  const tell = value => onInput({ currentTarget: { value }, target: { value } })
  return html`
    <span class="typed-date">
      <${Typed} ...${rest} handler=${onInput} read=${x => readDate(x)} show=${shortDate} step=${addDays} />
      ${
        !rest.disabled &&
        html`
          <${PickDate} value=${rest.value} min=${min} max=${max} pick=${tell} tabindex="-1" />
        `
      }
    </span>
  `
}
