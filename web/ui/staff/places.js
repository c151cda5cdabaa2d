// The clinic's places in the settings.
import { html } from '../lib/html.js'
import { newKey } from '../lib/api.js'
import { Field } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { Icon } from '../lib/icons.js'
import { others } from './typepage.js'

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
            ${others.map(
              ([tag, name]) => html`
                <${Field}
                  key=${tag}
                  id=${`places[${i}].names.${tag}`}
                  lang=${tag}
                  label=${t('page.in', { language: name })}
                  optional
                  value=${x.names?.[tag] || ''}
                  input=${value => edit(i, { names: { ...x.names, [tag]: value } })}
                  maxlength="100"
                />
              `,
            )}
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
      <button
        type="button"
        class="btn"
        onClick=${() =>
          change([
            ...list,
            {
              id:
                'p-' +
                newKey()
                  .replace(/[^\w-]/g, '')
                  .slice(0, 10),
              name: '',
              names: {},
              address: '',
            },
          ])}
      >
        <${Icon} name="plus" />
        ${t('set.place.add')}
      </button>
    </p>
  `
}
