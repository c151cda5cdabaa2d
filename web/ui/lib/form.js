// Form parts that follow the GOV.UK patterns: one label, an optional hint, and the error above the field. A summary
// at the top repeats the errors, with links to the fields.
import { html, useEffect, useRef, useState } from './html.js'
import { locale, t } from './i18n.js'

// useError returns the error that a field shows, and a ref for the field's element. A change of the field hides the
// error until the form is submitted again or has another error.
function useError(error) {
  const [hidden, hide] = useState(false),
    field = useRef()
  useEffect(() => hide(false), [error])
  useEffect(() => {
    const el = field.current,
      form = el.closest('form'),
      show = () => hide(false)
    el.addEventListener('input', () => setTimeout(() => hide(true))) // later, because a new layout would stop the change event of a select
    form?.addEventListener('submit', show, true)
    return () => form?.removeEventListener('submit', show, true)
  }, [])
  return [hidden ? undefined : error, field]
}

// Field wraps one control. `children` replaces the default control.
export function Field({
  id,
  label,
  hint,
  error: given,
  optional,
  value,
  input,
  type = 'text',
  rows,
  as,
  children,
  ...rest
}) {
  const [error, field] = useError(given)
  const about = [hint && id + '-hint', error && id + '-error'].filter(Boolean).join(' ') || undefined
  const shared = {
    id,
    name: id,
    value,
    'aria-describedby': about,
    'aria-invalid': error ? 'true' : undefined,
    onInput: e => input(e.currentTarget.value),
    ...rest,
  }
  return html`
    <div class=${'field' + (error ? ' bad' : '')} ref=${field}>
      <label for=${id}>
        ${label}${
          optional &&
          html`
            ${' '}
            <span class="optional">(${t('field.optional')})</span>
          `
        }
      </label>
      ${
        hint &&
        html`
          <p class="hint" id=${id + '-hint'}>${hint}</p>
        `
      }
      ${
        error &&
        html`
          <p class="error" id=${id + '-error'}>
            <span class="sr">${t('error.prefix')}${' '}</span>
            ${error}
          </p>
        `
      }
      ${
        children ||
        (rows
          ? html`
              <textarea rows=${rows} ...${shared} />
            `
          : as
            ? html`
                <${as} ...${shared} />
              `
            : html`
                <input type=${type} ...${shared} />
              `)
      }
    </div>
  `
}

// The order of day, month and year in the reader's locale.
const order = new Intl.DateTimeFormat(locale, { year: 'numeric', month: '2-digit', day: '2-digit' })
  .formatToParts(new Date(0))
  .map(p => p.type)
  .filter(p => ['day', 'month', 'year'].includes(p))

// DateField has three text boxes, because typing a birth date is faster than finding it in a calendar. value is {day,
// month, year} as typed.
export function DateField({ id, label, hint, error: given, optional, value = {}, input }) {
  const [error, field] = useError(given)
  const about = [hint && id + '-hint', error && id + '-error'].filter(Boolean).join(' ') || undefined
  return html`
    <fieldset class=${'field date' + (error ? ' bad' : '')} aria-describedby=${about} ref=${field}>
      <legend>
        ${label}${
          optional &&
          html`
            ${' '}
            <span class="optional">(${t('field.optional')})</span>
          `
        }
      </legend>
      ${
        hint &&
        html`
          <p class="hint" id=${id + '-hint'}>${hint}</p>
        `
      }
      ${
        error &&
        html`
          <p class="error" id=${id + '-error'}>
            <span class="sr">${t('error.prefix')}${' '}</span>
            ${error}
          </p>
        `
      }
      <div class="date-parts">
        ${order.map(
          (part, i) => html`
            <div key=${part} class=${'date-' + part}>
              <label for=${i ? id + '-' + part : id}>${t('field.' + part)}</label>
              <input
                id=${i ? id + '-' + part : id}
                inputmode="numeric"
                maxlength=${part === 'year' ? 4 : 2}
                autocomplete=${'bday-' + part}
                aria-invalid=${error ? 'true' : undefined}
                value=${value[part] || ''}
                onInput=${e => input({ ...value, [part]: e.currentTarget.value })}
              />
            </div>
          `,
        )}
      </div>
    </fieldset>
  `
}
// dateFrom returns the local date as "1980-03-31", '' if all boxes are empty, and null if the date is not a living
// person's birth date.
export function dateFrom({ day = '', month = '', year = '' } = {}) {
  if (!day && !month && !year) return ''
  const [d, m, y] = [+day, +month, +year]
  const date = new Date(Date.UTC(y, m - 1, d))
  const real = y >= 1900 && date.getUTCFullYear() === y && date.getUTCMonth() === m - 1 && date.getUTCDate() === d
  return real && date <= new Date() ? date.toISOString().slice(0, 10) : null
}

// ErrorSummary takes the focus when it appears. errors: [{id, message, link}] in the order of the fields. link
// replaces the message in the summary. n counts the attempts: after another failed attempt, the focus moves to the
// summary again.
export function ErrorSummary({ errors, n }) {
  const ref = useRef()
  useEffect(() => {
    if (errors.length) ref.current?.focus()
  }, [n])
  if (!errors.length) return null
  const jump = (e, id) => {
    e.preventDefault()
    document.getElementById(id)?.focus()
  }
  return html`
    <div class="summary" role="alert" tabindex="-1" ref=${ref} aria-labelledby="summary-title">
      <h2 id="summary-title">${t('error.title')}</h2>
      <ul>
        ${errors.map(
          e => html`
            <li key=${e.id}><a href=${'#' + e.id} onClick=${ev => jump(ev, e.id)}>${e.link || e.message}</a></li>
          `,
        )}
      </ul>
    </div>
  `
}

export const looksLikeEmail = text => /^[^\s@]+@[^\s@]+\.[^\s@]{2,}$/.test(text.trim())
export const looksLikePhone = text => (text.match(/\d/g) || []).length >= 5 && /^[\d\s()+./x#-]+$/i.test(text.trim())
