// The clinic's logo in the settings: a PNG image of at most 100 KB.
import { html } from '../lib/html.js'
import { t } from '../lib/i18n.js'

const maxLogo = 100 * 1024

export function Logo({ value, set, refuse }) {
  const read = async file => {
    if (!file) return
    const bytes = new Uint8Array(await file.arrayBuffer())
    if (file.size > maxLogo || bytes[0] !== 0x89 || bytes[1] !== 0x50) return refuse({ logo: t('set.logo.err') })
    const reader = new FileReader()
    reader.onload = () => {
      refuse({})
      set('data:image/png;base64,' + String(reader.result).split(',')[1])
    }
    reader.readAsDataURL(file)
  }
  return html`
    <div class="field">
      <label for="logo">${t('set.logo')}</label>
      <p class="hint" id="logo-hint">${t('set.logo.hint')}</p>
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
          accept="image/png"
          aria-describedby="logo-hint"
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
