// A notice tells the reader what happened, what it means and what to do next. `text` is a text key or the result
// of rich(); children are its buttons. Kinds: info, ok, warn, danger.
import { html } from './html.js'
import { Icon } from './icons.js'
import { rich } from './i18n.js'

const icons = { info: 'info', ok: 'check', warn: 'clock', danger: 'alert', offline: 'offline' }
const bold = text => html`
  <strong>${text}</strong>
`

export const words = (key, params) => rich(key, params, bold)

export const Notice = ({ kind = 'info', icon, text, params, children, role, id, tabIndex, innerRef }) => html`
  <div class=${'notice ' + kind} role=${role} id=${id} tabindex=${tabIndex} ref=${innerRef}>
    <${Icon} name=${icon || icons[kind]} />
    <div class="notice-body">
      <p>${typeof text === 'string' ? words(text, params) : text}</p>
      ${
        children &&
        html`
          <div class="notice-do">${children}</div>
        `
      }
    </div>
  </div>
`
