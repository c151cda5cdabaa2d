// A modal dialog, built on the browser's <dialog>: focus is trapped, Escape closes it, and focus returns to the element
// that had it. `close(reason)` is called however the dialog is closed. If a key press opens the dialog, the dialog is
// open before the next key event, so the element with `autofocus` receives the following keys. A veil is a dialog that
// hides the page behind it and that the person cannot close.
import { html, useLayoutEffect, useRef } from './html.js'
import { Icon } from './icons.js'
import { t } from './i18n.js'

export function Dialog({ title, close, children, wide, veil, kind = '' }) {
  const ref = useRef(),
    open = useRef(true)
  const id = useRef('dialog-' + Math.random().toString(36).slice(2))
  useLayoutEffect(() => {
    const el = ref.current
    const before = document.activeElement
    el.showModal()
    el.querySelector('[autofocus]')?.focus()
    return () => {
      open.current = false
      el.close()
      // The dialog's action may have removed the element that opened it.
      if (before?.isConnected) before.focus({ preventScroll: true })
    }
  }, [])
  const cancel = e => {
    e.preventDefault()
    if (!veil) close('escape')
  }
  // Some browsers close the dialog at a second Escape without a cancel event.
  const closed = () => {
    if (!open.current) return
    if (veil) ref.current.showModal()
    else close('escape')
  }
  // A press that starts on the backdrop closes the dialog. A text selection that only ends there does not.
  const outside = e => {
    if (e.target === ref.current && !veil) close('outside')
  }
  return html`
    <dialog
      ref=${ref}
      class=${['dialog', wide && 'wide', veil && 'veil', kind].filter(Boolean).join(' ')}
      aria-labelledby=${id.current}
      onCancel=${cancel}
      onMouseDown=${outside}
      onClose=${closed}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id=${id.current}>${title}</h2>
          ${
            !veil &&
            html`
              <button type="button" class="btn quiet square" aria-label=${t('close')} onClick=${() => close('button')}>
                <${Icon} name="close" />
              </button>
            `
          }
        </header>
        ${children}
      </div>
    </dialog>
  `
}
