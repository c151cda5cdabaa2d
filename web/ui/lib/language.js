// Language lets the reader choose the language of the page.
import { html } from './html.js'
import { lang, languages, setLanguage, t } from './i18n.js'

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
