import { html } from '../lib/html.js'
import { lang, languages, setLanguage, t } from '../lib/i18n.js'

export const Language = () => html`
  <nav class="languages" aria-label=${t('language')}>
    ${Object.entries(languages).map(
      ([tag, name]) => html`
        <button
          type="button"
          key=${tag}
          class="textlink"
          lang=${tag}
          aria-current=${tag === lang ? 'true' : undefined}
          onClick=${() => setLanguage(tag)}
        >
          ${name}
        </button>
      `,
    )}
  </nav>
`
