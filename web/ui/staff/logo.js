// The clinic's logo in the settings: a PNG or SVG image of at most 100 KB. Pages show it as an image, so no script in
// an SVG image runs.
import { html, useState } from '../lib/html.js'
import { t } from '../lib/i18n.js'

const maxLogo = 100 * 1024

export function Logo({ value, set }) {
  const [refused, refuse] = useState(false)
  const read = async file => {
    if (!file) return
    const bytes = new Uint8Array(await file.arrayBuffer()),
      drawn = file.type === 'image/svg+xml'
    if (file.size > maxLogo || (!drawn && (bytes[0] !== 0x89 || bytes[1] !== 0x50))) return refuse(true)
    const reader = new FileReader()
    reader.onload = () => {
      refuse(false)
      set(`data:image/${drawn ? 'svg+xml' : 'png'};base64,` + String(reader.result).split(',')[1])
    }
    reader.readAsDataURL(file)
  }
  return html`
    <div class=${'field' + (refused ? ' bad' : '')}>
      <label for="logo">${t('set.logo')}</label>
      <p class="hint" id="logo-hint">${t('set.logo.hint')}</p>
      ${
        refused &&
        html`
          <p class="error" id="logo-error" role="alert">${t('set.logo.err')}</p>
        `
      }
      <div class="logo">
        ${
          value
            ? html`
                <img src=${value} alt=${t('set.logo.alt')} />
              `
            : html`
                <span class="nologo">${t('set.logo.none')}</span>
              `
        }
        <input
          id="logo"
          type="file"
          accept="image/png,image/svg+xml"
          aria-describedby=${'logo-hint' + (refused ? ' logo-error' : '')}
          aria-invalid=${refused ? 'true' : undefined}
          onChange=${e => read(e.currentTarget.files[0])}
        />
        ${
          value &&
          html`
            <button type="button" class="btn quiet" onClick=${() => set('')}>${t('set.logo.remove')}</button>
          `
        }
      </div>
    </div>
  `
}
