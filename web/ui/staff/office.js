// The building blocks of the owner's pages: the frame of a page, loading, saving, and a confirmation before changes
// that cannot be undone.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { Dialog } from '../lib/dialog.js'
import { ErrorSummary } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { t } from '../lib/i18n.js'
import { named } from '../lib/mistake.js'
import { Trouble } from '../lib/trouble.js'
import { Toolbar } from './shell.js'

export { Trouble }

export function Office({ desk, name, lead, tools, form, ask, index, aside, children }) {
  return html`
    <${Toolbar} desk=${desk} name=${name} title=${t('nav.' + name)}>
      ${
        tools &&
        html`
          <div class="office-tools">${tools}</div>
        `
      }
    </${Toolbar}>
    <div class=${'office' + (index ? ' indexed' : '')}>
      ${index}
      <div class=${'office-in' + (form ? ' form' : '')}>
        ${
          lead &&
          html`
            <p class="lead">${lead}</p>
          `
        }
        ${
          ask?.problem &&
          html`
            <${Trouble} problem=${ask.problem}>
              <button type="button" class="btn" onClick=${ask.again}>${t('office.again')}</button>
            </${Trouble}>
          `
        }
        ${
          ask && !ask.earlier
            ? !ask.problem &&
              html`
                <p class="muted" role="status">${t('office.loading')}</p>
              `
            : children
        }
      </div>
      ${aside}
    </div>
  `
}

// useAsk loads the data when the page opens and whenever key changes. A late answer to an older request never replaces
// a newer one. data is null until the data of the current key has arrived. earlier is the data that arrived last, of any
// key, for the parts of a page that are the same for every key.
export function useAsk(desk, question, key = '') {
  const [state, setState] = useState({ data: null, problem: null, of: '' })
  const n = useRef(0),
    asked = useRef({ question, key })
  asked.current = { question, key }
  // ask rejects if loading fails. again shows the problem and does not reject.
  const ask = () => {
    const mine = ++n.current,
      { question, key: of } = asked.current
    return desk.call(question).then(
      data => {
        if (mine === n.current) setState({ data, problem: null, of })
        return data
      },
      problem => {
        if (mine === n.current) setState(s => ({ ...s, problem }))
        throw problem
      },
    )
  }
  const again = () => ask().catch(() => {})
  useEffect(() => {
    again()
    return () => {
      n.current++
    }
  }, [key])
  return {
    problem: state.problem,
    data: state.of === key ? state.data : null,
    earlier: state.data,
    ask,
    again,
    set: data => setState({ data, problem: null, of: key }),
  }
}

// useSend sends one change at a time. errors contains the server's validation errors by field.
export function useSend(desk) {
  const [state, setState] = useState({ busy: false, problem: null, errors: {}, n: 0 })
  const send = async change => {
    if (state.busy) return false
    setState(s => ({ ...s, busy: true, problem: null, errors: {} }))
    try {
      const answer = await desk.call(change)
      setState(s => ({ ...s, busy: false }))
      return answer ?? true
    } catch (problem) {
      const errors = Object.fromEntries(problem.errors.map(e => [e.field, e.message]))
      setState(s => ({ busy: false, problem, errors, n: s.n + 1 }))
      return false
    }
  }
  const refuse = errors => setState(s => ({ busy: false, problem: null, errors, n: s.n + 1 }))
  const clear = () => setState(s => ({ ...s, problem: null, errors: {} }))
  return { ...state, send, refuse, clear }
}
// listed returns the errors for ErrorSummary, with the ids of the fields on this page. It includes errors that belong
// to no field here.
export const listed = (errors, ids = {}) => {
  const all = Object.entries(errors).map(([field, message]) => ({ id: ids[field] || field, message }))
  return all.map(x => ({
    ...x,
    link: named(
      x.id,
      x.message,
      all.some(y => y.id !== x.id && y.message === x.message),
    ),
  }))
}

// Errors lists the errors of a form's fields. If there are none, it shows the problem.
export const Errors = ({ errors, n, problem }) => html`
  <${ErrorSummary} errors=${errors} n=${n} />
  ${
    !errors.length &&
    html`
      <${Trouble} problem=${problem} />
    `
  }
`

// Nothing is shown instead of an empty list: an icon, a sentence and, if possible, the button that adds the first item.
export const Nothing = ({ icon, children, label, add }) => html`
  <div class="nothing">
    <span class="nothing-icon"><${Icon} name=${icon} /></span>
    <p>${children}</p>
    ${
      add &&
      html`
        <button type="button" class="btn" onClick=${add}>${t(label)}</button>
      `
    }
  </div>
`

export const Busy = ({ busy, children }) => html`
  <button type="submit" class="btn primary" aria-disabled=${busy ? 'true' : undefined}>
    ${busy ? t('office.saving') : children}
  </button>
`

// Select is the control of a Field.
export function Select({ id, value, input, options, describedby }) {
  return html`
    <select id=${id} value=${value} aria-describedby=${describedby} onChange=${e => input(e.currentTarget.value)}>
      ${options.map(
        ([key, label]) => html`
          <option key=${key} value=${key} selected=${key === value}>${label}</option>
        `,
      )}
    </select>
  `
}
// SpecialistPick lets the user choose the specialist that a page shows.
export const SpecialistPick = ({ person, people, input }) => html`
  <label class="pick">
    <span class="sr">${t('office.specialist')}</span>
    <${Select} value=${person.id} input=${input} options=${people.map(x => [x.id, x.name])} />
  </label>
`
export const Check = ({ checked, input, children, id, hint, disabled }) => html`
  <label class="check">
    <input
      type="checkbox"
      id=${id}
      checked=${checked}
      disabled=${disabled}
      onChange=${e => input(e.currentTarget.checked)}
    />
    <span>
      ${children}${
        hint &&
        html`
          <small>${hint}</small>
        `
      }
    </span>
  </label>
`

// Confirm asks for confirmation before an action that cannot be undone.
export function Confirm({ title, text, action, danger = true, close, run, desk, children }) {
  const sending = useSend(desk)
  const submit = async e => {
    e.preventDefault()
    if (await sending.send(run)) close()
  }
  return html`
    <${Dialog} title=${title} close=${close}>
      <form class="office-form" onSubmit=${submit}>
        <p>${text}</p>
        ${children}
        <${Trouble} problem=${sending.problem} />
        <div class="actions">
          <button
            type="submit"
            class=${'btn ' + (danger ? 'solid' : 'primary')}
            aria-disabled=${sending.busy ? 'true' : undefined}
          >
            ${action}
          </button>
          <button type="button" class="btn" autofocus onClick=${() => close()}>${t('office.keep')}</button>
        </div>
      </form>
    </${Dialog}>
  `
}

// State shows a word with its icon. The colour only repeats the meaning of the word.
export const State = ({ kind = '', icon, children }) => html`
  <span class=${'state ' + kind}>
    ${
      icon &&
      html`
        <${Icon} name=${icon} />
      `
    }${children}
  </span>
`
// useNow returns the current time in milliseconds, and updates it while the page is visible.
export function useNow(ms = 1000) {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now())
    }, ms)
    return () => clearInterval(timer)
  }, [ms])
  return now
}

// reloadNext makes the next page of the console load the clinic again: its name, time zone and places. Otherwise, the
// calendar would still have the old time zone.
export const reloadNext = () => addEventListener('hashchange', () => location.reload(), { once: true })
