// The clinic's places in the settings.
import { html } from '../lib/html.js'
import { Field } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { Icon } from '../lib/icons.js'
import { freshId, Plus, Translations } from './record.js'

// Places are the clinic's buildings. The hours define who works in which place.
export function Places({ list, change, error }) {
  const edit = (i, part) => change(list.map((x, j) => (j === i ? { ...x, ...part } : x)))
  return html`
    ${list.map(
      (x, i) => html`
        <fieldset class="hook" key=${x.id}>
          <legend>${x.name || t('set.place.n', { n: i + 1 })}</legend>
          <div class="duo">
            <${Field}
              id=${`places[${i}].name`}
              label=${t('set.place.name')}
              error=${error(`places[${i}].name`)}
              value=${x.name}
              input=${name => edit(i, { name })}
              maxlength="100"
            />
            <${Field}
              id=${`places[${i}].address`}
              label=${t('set.address')}
              optional
              error=${error(`places[${i}].address`)}
              value=${x.address || ''}
              input=${address => edit(i, { address })}
              maxlength="500"
            />
          </div>
          <div class="duo">
            <${Translations}
              id=${`places[${i}].names.`}
              values=${x.names}
              input=${names => edit(i, { names })}
              maxlength="100"
            />
          </div>
          <button
            type="button"
            class="btn quiet"
            aria-label=${t('set.place.remove', { name: x.name })}
            onClick=${() => change(list.filter((_, j) => j !== i))}
          >
            <${Icon} name="trash" />
            ${t('set.hook.remove')}
          </button>
        </fieldset>
      `,
    )}
    <p>
      <${Plus}
        label="set.place.add"
        onClick=${() => change([...list, { id: freshId('p-'), name: '', names: {}, address: '' }])}
      />
    </p>
  `
}
