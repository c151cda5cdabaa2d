// A modal dialog on the browser's own <dialog>: focus is trapped, Escape closes, and focus goes back
// to where it came from. `close(reason)` is called for every way out.
import { html, useEffect, useRef } from './html.js'
import { Icon } from './icons.js'
import { t } from './i18n.js'

export function Dialog({ title, close, children, wide }) {
  const ref = useRef()
  const id = useRef('dialog-' + Math.random().toString(36).slice(2))
  useEffect(() => {
    const el = ref.current
    const before = document.activeElement
    if (!el.open) el.showModal()
    return () => {
      el.close()
      // The opener may have gone with what the dialog did.
      if (before?.isConnected) before.focus()
    }
  }, [])
  const cancel = e => { e.preventDefault(); close('escape') }
  // A press that starts and ends on the backdrop; not a selection of text that slips out.
  const outside = e => { if (e.target === ref.current) close('outside') }
  return html`<dialog ref=${ref} class=${'dialog' + (wide ? ' wide' : '')} aria-labelledby=${id.current}
      onCancel=${cancel} onMouseDown=${outside}>
    <div class="dialog-body">
      <header class="dialog-head">
        <h2 id=${id.current}>${title}</h2>
        <button type="button" class="btn quiet square" aria-label=${t('close')} onClick=${() => close('button')}><${Icon} name="close" /></button>
      </header>
      ${children}
    </div>
  </dialog>`
}
