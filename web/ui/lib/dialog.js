// A modal dialog on the browser's own <dialog>: focus is trapped, Escape closes, and focus goes back
// to where it came from. `close(reason)` is called for every way out. It opens before the next key
// arrives, so that typing can start it; `autofocus` on an element inside says where typing goes on.
// A veil cannot be closed by the person and hides what is behind it.
import { html, useLayoutEffect, useRef } from './html.js'
import { Icon } from './icons.js'
import { t } from './i18n.js'

export function Dialog({ title, close, children, wide, veil, kind = '' }) {
  const ref = useRef(), open = useRef(true)
  const id = useRef('dialog-' + Math.random().toString(36).slice(2))
  useLayoutEffect(() => {
    const el = ref.current
    const before = document.activeElement
    el.showModal()
    el.querySelector('[autofocus]')?.focus()
    return () => {
      open.current = false
      el.close()
      // The opener may have gone with what the dialog did.
      if (before?.isConnected) before.focus({ preventScroll: true })
    }
  }, [])
  const cancel = e => { e.preventDefault(); if (!veil) close('escape') }
  // Some browsers let a second Escape pass without asking.
  const closed = () => {
    if (!open.current) return
    if (veil) ref.current.showModal(); else close('escape')
  }
  // A press that starts and ends on the backdrop; not a selection of text that slips out.
  const outside = e => { if (e.target === ref.current && !veil) close('outside') }
  return html`<dialog ref=${ref} class=${['dialog', wide && 'wide', veil && 'veil', kind].filter(Boolean).join(' ')} aria-labelledby=${id.current}
      onCancel=${cancel} onMouseDown=${outside} onClose=${closed}>
    <div class="dialog-body">
      <header class="dialog-head">
        <h2 id=${id.current}>${title}</h2>
        ${!veil && html`<button type="button" class="btn quiet square" aria-label=${t('close')} onClick=${() => close('button')}><${Icon} name="close" /></button>`}
      </header>
      ${children}
    </div>
  </dialog>`
}
