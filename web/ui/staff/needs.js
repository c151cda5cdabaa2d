// The needs of an appointment type: an appointment takes one resource of each group of rooms and devices, in addition
// to its specialist. The server takes the first free resource of a group, in the order of the list.
import { html } from '../lib/html.js'
import { t } from '../lib/i18n.js'
import { Check } from './office.js'
import { Plus } from './record.js'

export function Needs({ rooms, value, change, errors }) {
  if (!rooms.length) return null
  const put = (i, group) => change(value.map((old, j) => (j === i ? group : old)))
  const elsewhere = (i, id) => value.some((group, j) => j !== i && group.includes(id))
  return html`
    <fieldset class="choice" id="needs" tabindex="-1">
      <legend>${t('needs.title')}</legend>
      <p class="hint">${t('needs.hint')}</p>
      ${Object.entries(errors)
        .filter(([key]) => key.startsWith('needs'))
        .map(
          ([key, text]) => html`
            <p class="error" key=${key}>${text}</p>
          `,
        )}
      ${value.map(
        (group, i) => html`
          <fieldset key=${i}>
            <legend>${t('needs.one', { n: i + 1 })}</legend>
            ${rooms
              .filter(r => group.includes(r.id) || (r.active && !elsewhere(i, r.id)))
              .map(
                r => html`
                  <${Check}
                    key=${r.id}
                    checked=${group.includes(r.id)}
                    input=${on => put(i, on ? [...group, r.id] : group.filter(id => id !== r.id))}
                  >
                    <bdi>${r.name}</bdi>
                  </${Check}>
                `,
              )}
            <button
              type="button"
              class="btn quiet"
              aria-label=${t('needs.remove.of', { n: i + 1 })}
              onClick=${() => change(value.filter((_, j) => j !== i))}
            >
              ${t('needs.remove')}
            </button>
          </fieldset>
        `,
      )}
      ${
        value.length < 5 &&
        html`
          <p>
            <${Plus} label="needs.add" onClick=${() => change([...value, []])} />
          </p>
        `
      }
    </fieldset>
  `
}
