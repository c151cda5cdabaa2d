// The sections of a page that one button saves together. Each section has its own input. The button saves only the
// sections that have changed.
import { html, useRef, useState } from '../lib/html.js'
import { ErrorSummary } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { say } from '../lib/say.js'
import { Busy, listed, Trouble, useSend } from './office.js'

// useForm stores the input of the sections by the sections' names. It calls save with the changed sections. Each has
// its name, its draft and its function part, which converts the draft to the server's fields.
export function useForm(desk, save) {
  const [drafts, setDrafts] = useState({}),
    sections = useRef(/** @type {Record<string, any>} */ ({})).current,
    sending = useSend(desk)
  const changed = () =>
    Object.entries(sections)
      .map(([name, x]) => ({ ...x, name, draft: drafts[name] || x.start }))
      .filter(x => JSON.stringify(x.draft) !== JSON.stringify(x.start))
  const submit = async e => {
    e.preventDefault()
    const list = changed(),
      wrong = Object.assign({}, ...list.map(x => x.check?.(x.draft)))
    if (Object.keys(wrong).length) return sending.refuse(wrong)
    if (!(await sending.send(() => save(list)))) return
    // Keep input that the user typed while the request was running.
    const saved = x => list.some(s => s.draft === x)
    setDrafts(all => Object.fromEntries(Object.entries(all).filter(([, draft]) => !saved(draft))))
    desk.toast('office.done')
    say(t('office.done'))
  }
  const ids = Object.assign({}, ...Object.values(sections).map(x => x.ids))
  return {
    sections,
    changed,
    submit,
    busy: sending.busy,
    problem: sending.problem,
    n: sending.n,
    errors: listed(sending.errors, ids),
    draft: (name, start) => drafts[name] || start,
    change: (name, change) =>
      setDrafts(all => ({ ...all, [name]: { ...(all[name] || sections[name].start), ...change } })),
    reset: () => {
      sending.clear()
      setDrafts({})
    },
  }
}

export const Form = ({ form, children }) => html`
  <form class="settings" onSubmit=${form.submit} novalidate>
    <${ErrorSummary} errors=${form.errors} n=${form.n} />
    ${children}
    <${SaveBar} form=${form} />
  </form>
`

function SaveBar({ form }) {
  const list = form.changed()
  return html`
    <div class="savebar actions">
      <${Busy} busy=${form.busy}>${t('office.save')}</${Busy}>
      ${
        list.length > 0 &&
        html`
          <button type="button" class="btn" onClick=${form.reset}>${t('office.undo')}</button>
        `
      }
      <span class="muted" role="status">
        ${list.length > 0 && `${t('office.unsaved')}: ${list.map(x => x.title).join(', ')}`}
      </span>
      ${
        !form.errors.length &&
        html`
          <${Trouble} problem=${form.problem} />
        `
      }
    </div>
  `
}

// Section is one part of the form. ids maps the server's field names to ids on the page.
export function Section({ form, name, title, lead, start, part, ids = {}, check, children }) {
  form.sections[name] = { title, start, part, ids, check }
  const set = field => value => form.change(name, { [field]: value })
  const error = id => form.errors.find(e => e.id === id)?.message
  return html`
    <section class="plate setting">
      <h2>${title}</h2>
      ${
        lead &&
        html`
          <p class="muted">${lead}</p>
        `
      }
      ${children({ draft: form.draft(name, start), set, error })}
    </section>
  `
}
