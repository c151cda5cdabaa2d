// The fields for a password, which the user can make visible, and for a one-time code.
import { html, useState } from '../lib/html.js'
import { Field } from '../lib/form.js'
import { t } from '../lib/i18n.js'

export function Secret({ id, label, hint, optional, error, value, input, ...rest }) {
  const [seen, setSeen] = useState(false)
  return html`
    <${Field} id=${id} label=${label} hint=${hint} optional=${optional} error=${error}>
      <span class="with">
        <input
          id=${id}
          name=${id}
          type=${seen ? 'text' : 'password'}
          aria-invalid=${error ? 'true' : undefined}
          aria-describedby=${[hint && id + '-hint', error && id + '-error'].filter(Boolean).join(' ') || undefined}
          value=${value}
          onInput=${e => input(e.currentTarget.value)}
          ...${rest}
        />
        <button type="button" class="btn" aria-pressed=${seen ? 'true' : 'false'} onClick=${() => setSeen(!seen)}>
          ${t(seen ? 'sign.hide' : 'sign.show')}
        </button>
      </span>
    </${Field}>
  `
}

export const Code = ({ label = t('sign.code'), ...rest }) => html`
  <${Field}
    label=${label}
    hint=${t('sign.code.hint')}
    inputmode="numeric"
    autocomplete="one-time-code"
    maxlength="7"
    ...${rest}
  />
`
