// The accent colour in the settings: one of the tested hues, or the clinic's own colour if white text on it is readable.
import { html } from '../lib/html.js'
import { isColour, isReadable, onWhite, readable } from '../lib/accent.js'
import { Icon } from '../lib/icons.js'
import { locale, t } from '../lib/i18n.js'

const hues = ['kelp', 'ocean', 'plum', 'amber', 'rose', 'olive']
const first = '#3a4f9a'
const ratio = hex =>
  new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(
    Math.floor(onWhite(hex) * 10) / 10,
  )

const Hue = ({ hue, checked, set, children }) => html`
  <label class="hue" data-hue=${hue}>
    <input type="radio" name="accent" checked=${checked} onChange=${set} />
    <span class="face">
      <i aria-hidden="true"></i>
      ${children}
    </span>
  </label>
`

function Own({ value, set }) {
  const known = isColour(value),
    fine = known && isReadable(value)
  return html`
    <div class="own-colour">
      <input
        type="color"
        aria-label=${t('set.accent.pick')}
        value=${known ? value : first}
        onInput=${e => set(e.currentTarget.value)}
      />
      <input
        id="accent"
        aria-label=${t('set.accent.code')}
        aria-describedby="accent-says"
        aria-invalid=${fine ? undefined : 'true'}
        maxlength="7"
        spellcheck="false"
        dir="ltr"
        value=${value}
        onInput=${e => set(e.currentTarget.value.trim().toLowerCase())}
      />
      <p id="accent-says" class=${'state ' + (fine ? 'ok' : 'warn')} role="status">
        <${Icon} name=${fine ? 'check' : 'alert'} />
        <span>
          ${
            known
              ? t(fine ? 'set.accent.good' : 'set.accent.weak', { ratio: ratio(value) })
              : t('set.accent.form', { like: first })
          }
        </span>
      </p>
      ${
        known &&
        !fine &&
        html`
          <button type="button" class="btn" onClick=${() => set(readable(value))}>${t('set.accent.darker')}</button>
        `
      }
    </div>
  `
}

export function Accent({ value, set }) {
  const own = !hues.includes(value)
  return html`
    <fieldset class="choice">
      <legend>${t('set.accent')}</legend>
      <div class="hues">
        ${hues.map(
          hue => html`
            <${Hue} key=${hue} hue=${hue} checked=${value === hue} set=${() => set(hue)}>${t('hue.' + hue)}</${Hue}>
          `,
        )}
        <${Hue} hue="own" checked=${own} set=${() => set(first)}>${t('hue.own')}</${Hue}>
      </div>
      ${
        own &&
        html`
          <${Own} value=${value} set=${set} />
        `
      }
    </fieldset>
  `
}
