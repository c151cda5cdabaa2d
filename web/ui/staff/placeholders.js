// The parts that the forms for emails and for text messages share: the choice of the text and its language, and the
// placeholders.
import { html } from '../lib/html.js'
import { boot } from '../lib/boot.js'
import { Field } from '../lib/form.js'
import { languages, t } from '../lib/i18n.js'
import { Select } from './office.js'

// firstLanguage is the clinic's language, in which most patients read its texts.
export const firstLanguage =
  Object.keys(languages).find(x => x === boot.clinic.locale?.split('-')[0].toLowerCase()) || 'en'

// TextPick lets the user choose a notice and a language. words is the prefix of the text keys for the names of the
// notices.
export const TextPick = ({ id, words, notices, notice, setNotice, language, setLanguage }) => html`
  <div class="duo">
    <${Field} id=${id + '-notice'} label=${t(words + '.which')}>
      <${Select}
        id=${id + '-notice'}
        value=${notice}
        input=${setNotice}
        options=${notices.map(x => [x, t(words + '.' + x)])}
      />
    </${Field}>
    <${Field} id=${id + '-language'} label=${t('mails.language')}>
      <${Select} id=${id + '-language'} value=${language} input=${setLanguage} options=${Object.entries(languages)} />
    </${Field}>
  </div>
`

// Placeholders explains the placeholders of a template. meaning returns the text key for the explanation of a
// placeholder.
export const Placeholders = ({ names, meaning }) => html`
  <details>
    <summary>${t('mails.placeholders')}</summary>
    <dl class="facts">
      ${names.map(
        x => html`
          <div key=${x}>
            <dt><code dir="ltr">{${x}}</code></dt>
            <dd>${t(meaning(x))}</dd>
          </div>
        `,
      )}
    </dl>
  </details>
`
