// CopyLink shows the link of an appointment, to select or copy, and, if it still changes the appointment, the advice to
// save it.
import { html, useRef, useState } from '../lib/html.js'
import { t } from '../lib/i18n.js'
import { Icon } from '../lib/icons.js'
import { say } from '../lib/say.js'

export function CopyLink({ url, changes }) {
  const [done, setDone] = useState(false)
  const box = useRef()
  const full = new URL(url, location.href).href
  const copy = async () => {
    // A plain-HTTP address has no clipboard API. Then select the text, so that the person can copy it.
    try {
      await navigator.clipboard.writeText(full)
      setDone(true)
      say(t('manage.copied'))
    } catch {
      box.current?.focus()
      box.current?.select()
    }
  }
  return html`
    ${
      changes &&
      html`
        <p class="muted">${t('booked.keep')}</p>
      `
    }
    <div class="copy field">
      <label for="link">${t('manage.link')}</label>
      <p class="hint" id="link-hint">${t('manage.link.hint')}</p>
      <div class="copy-row">
        <input
          id="link"
          ref=${box}
          readonly
          dir="ltr"
          value=${full}
          aria-describedby="link-hint"
          onFocus=${e => e.currentTarget.select()}
        />
        <button type="button" class="btn" onClick=${copy}>
          <${Icon} name=${done ? 'check' : 'link'} />
          ${t(done ? 'manage.copied' : 'manage.copy')}
        </button>
      </div>
    </div>
  `
}
