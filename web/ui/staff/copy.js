// Copy shows a text in full, and one press copies it. Without a clipboard API, as on a plain-HTTP local network, the
// press only selects the text.
import { html, useRef, useState } from '../lib/html.js'
import { t } from '../lib/i18n.js'
import { say } from '../lib/say.js'

export function Copy({ id, label, value, code }) {
  const ref = useRef(),
    [done, setDone] = useState('')
  const copy = async () => {
    ref.current.focus()
    ref.current.select()
    let word = 'copy.selected'
    try {
      await navigator.clipboard.writeText(value)
      word = 'copy.done'
    } catch {
      /* the text is selected, so that the user can copy it */
    }
    setDone(word)
    say(t(word))
    setTimeout(() => setDone(''), 4000)
  }
  return html`
    <div class="copybox">
      <label for=${id}>${label}</label>
      <span class="with">
        <input
          id=${id}
          class=${code ? 'code' : ''}
          ref=${ref}
          readonly
          dir="ltr"
          value=${value}
          onFocus=${e => e.currentTarget.select()}
        />
        <button type="button" class="btn" onClick=${copy}>${t(done || 'copy.do')}</button>
      </span>
    </div>
  `
}
