// One section of the settings: a form that saves separately.
import { html, useEffect, useState } from '../lib/html.js'
import { ErrorSummary } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { say } from '../lib/say.js'
import { Busy, listed, Trouble, useSend } from './office.js'

// Section is one form. save gets the draft. ids maps the server's field names to ids on the page.
export function Section({ desk, title, lead, start, save, ids = {}, check, children }) {
  const [draft, setDraft] = useState(start)
  const sending = useSend(desk)
  useEffect(() => {
    setDraft(start)
  }, [JSON.stringify(start)])
  const set = name => value => setDraft(d => ({ ...d, [name]: value }))
  const submit = async e => {
    e.preventDefault()
    const wrong = check?.(draft) || {}
    if (Object.keys(wrong).length) return sending.refuse(wrong)
    if (await sending.send(() => save(draft))) {
      desk.toast('office.done')
      say(t('office.done'))
    }
  }
  const errors = listed(sending.errors, ids)
  const error = id => errors.find(e => e.id === id)?.message
  const changed = JSON.stringify(draft) !== JSON.stringify(start)
  return html`
    <form class="plate setting" onSubmit=${submit} novalidate>
      <h2>${title}</h2>
      ${
        lead &&
        html`
          <p class="muted">${lead}</p>
        `
      }
      <${ErrorSummary} errors=${errors} n=${sending.n} />
      ${
        !errors.length &&
        html`
          <${Trouble} problem=${sending.problem} />
        `
      }
      ${children({ draft, set, error, refuse: sending.refuse })}
      <div class="actions">
        <${Busy} busy=${sending.busy}>${t('office.save')}</${Busy}>
        ${
          changed &&
          html`
            <span class="muted">${t('office.unsaved')}</span>
          `
        }
      </div>
    </form>
  `
}
