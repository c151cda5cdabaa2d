// The booking page with the unsaved settings, in a frame that accepts no input. lib/boot.js asks this page for these
// settings. On a narrow screen, a button opens the preview.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { withLang } from '../lib/boot.js'
import { isColour, isReadable } from '../lib/accent.js'
import { Icon } from '../lib/icons.js'
import { t } from '../lib/i18n.js'

const roomy = matchMedia('(min-width: 88rem)')
const fields = ['accent', 'logo', 'requiredFields', 'privacyUrl', 'imprintUrl', 'consent']

export function PagePreview({ form, clinic, settings }) {
  const [open, setOpen] = useState(roomy.matches),
    frame = useRef()
  const unsaved = Object.assign({}, settings, ...form.changed().map(x => x.part?.(x.draft)))
  const about = form.draft('clinic', { ...clinic, ...clinic.contact })
  const accent = isColour(unsaved.accent) && !isReadable(unsaved.accent) ? settings.accent : unsaved.accent
  const shown = {
    clinic: Object.fromEntries(['name', 'phone', 'email', 'address', 'website'].map(k => [k, about[k]])),
    settings: Object.fromEntries(Object.entries({ ...unsaved, accent }).filter(([k]) => fields.includes(k))),
    places: unsaved.places || [],
  }
  const { name, ...contact } = shown.clinic,
    now = JSON.stringify(shown),
    drawn = useRef(now)
  const fill = useRef()
  fill.current = boot => {
    Object.assign(boot.clinic, { name, ...contact, contact })
    Object.assign(boot.settings, shown.settings)
    boot.places = shown.places
  }
  useEffect(() => {
    const page = /** @type {any} */ (window)
    page.preview = boot => fill.current(boot)
    return () => delete page.preview
  }, [])
  useEffect(() => {
    if (drawn.current === now) return
    const timer = setTimeout(() => {
      drawn.current = now
      frame.current?.contentWindow.location.reload()
    }, 400)
    return () => clearTimeout(timer)
  }, [now])
  return html`
    <aside class=${'page-preview' + (open ? ' open' : '')} aria-label=${t('set.preview')}>
      <button type="button" class="btn" aria-expanded=${open ? 'true' : 'false'} onClick=${() => setOpen(!open)}>
        <${Icon} name="eye" />
        ${t('set.preview')}
      </button>
      ${
        open &&
        html`
          <div class="page-frame">
            <iframe
              ref=${frame}
              title=${t('set.preview')}
              tabindex="-1"
              inert
              src=${withLang('/', { preview: '1', frame: 'preview' })}
            ></iframe>
          </div>
          <p class="muted">${t('set.preview.hint')}</p>
        `
      }
    </aside>
  `
}
