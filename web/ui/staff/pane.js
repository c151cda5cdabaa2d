// A pane: a dialog next to the board on a wide screen, and a modal dialog on a narrow screen. While a pane is open, the
// user can still use the calendar: a press on a cell sets the time of the pane's form. Escape closes the pane, and the
// focus returns to the element that had it.
import { html, useLayoutEffect, useMemo, useRef, useState } from '../lib/html.js'
import { Dialog } from '../lib/dialog.js'
import { Icon } from '../lib/icons.js'
import { t } from '../lib/i18n.js'

const wide = matchMedia('(min-width: 70rem)')
const beside = () => wide.matches && Boolean(document.querySelector('.page-day, .page-list'))

// usePicking lets the board set the time of an open form. It calls pick with {start, specialistId, …}. dirty reports
// whether the form has input that another dialog must not discard.
export function usePicking(desk, pick, dirty = () => false) {
  const form = useRef(null)
  form.current = { pick, dirty }
  useLayoutEffect(() => {
    const mine = { pick: at => form.current.pick(at), dirty: () => form.current.dirty() }
    desk.picking(mine)
    return () => desk.picking(null, mine)
  }, [])
}

export function Pane(props) {
  const [next] = useState(beside) // fixed while open: a resize must not discard the form's input
  return next
    ? html`
        <${Beside} ...${props} />
      `
    : html`
        <${Dialog} ...${props} />
      `
}

function Beside({ title, lead, close, kind = '', children }) {
  const ref = useRef()
  const id = useMemo(() => 'pane-' + Math.random().toString(36).slice(2), [])
  const last = useRef(close)
  last.current = close
  useLayoutEffect(() => {
    const el = ref.current,
      before = document.activeElement,
      bar = document.querySelector('.toolbar')
    el.style.setProperty('--top', Math.max(0, bar.getBoundingClientRect().bottom) + 'px')
    el.show()
    el.querySelector('[autofocus]')?.focus()
    document.body.classList.add('paned')
    const key = e => {
      if (e.key !== 'Escape' || e.defaultPrevented || document.querySelector('dialog:modal')) return
      e.preventDefault()
      last.current('escape')
    }
    addEventListener('keydown', key)
    return () => {
      removeEventListener('keydown', key)
      document.body.classList.remove('paned')
      el.close()
      if (before?.isConnected) before.focus({ preventScroll: true })
    }
  }, [])
  return html`
    <dialog ref=${ref} class=${'dialog pane ' + kind} aria-labelledby=${id}>
      <div class="dialog-body">
        <header class="dialog-head">
          <div>
            <h2 id=${id}>${title}</h2>
            ${
              lead &&
              html`
                <p class="pane-lead">${lead}</p>
              `
            }
          </div>
          <button type="button" class="btn quiet square" aria-label=${t('close')} onClick=${() => close('button')}>
            <${Icon} name="close" />
          </button>
        </header>
        ${children}
      </div>
    </dialog>
  `
}
