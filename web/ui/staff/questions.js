// The form for the questions that patients answer when they book a type online.
import { html } from '../lib/html.js'
import { Field } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { Check, Select } from './office.js'
import { languagesOf, Order, Plus } from './record.js'

const lines = text =>
  text
    .split('\n')
    .map(x => x.trim())
    .filter(Boolean)
// draftOf adds the options as text, one per line. The form shows that text exactly as the user types it.
export const draftOf = (list = []) =>
  list.map(q => ({
    ...q,
    lines: (q.options || []).join('\n'),
    texts: q.texts || {},
    said: Object.fromEntries(Object.entries(q.texts || {}).map(([tag, x]) => [tag, (x.options || []).join('\n')])),
  }))
/** @param {any[]} list */
export const questionsOf = list =>
  list.map(({ id, kind, label, lines: typed, required, texts, said }) => ({
    ...(id && { id }),
    kind,
    label,
    required: Boolean(required),
    ...(kind === 'choice' && { options: lines(typed || '') }),
    texts: Object.fromEntries(
      Object.entries(texts || {})
        .map(([tag, x]) => [
          tag,
          {
            label: x.label || '',
            ...(kind === 'choice' && lines(said?.[tag] || '').length && { options: lines(said[tag]) }),
          },
        ])
        .filter(([, x]) => typeof x === 'object' && (x.label || x.options)),
    ),
  }))

// mistakesIn returns the errors that the server would find in the clinic's own language, by field.
export function mistakesIn(questions) {
  const wrong = {}
  questions.forEach(({ label, options }, i) => {
    if (!label.trim()) wrong[`questions[${i}].label`] = t('question.label.err')
    if (options && (options.length < 2 || options.length > 30 || new Set(options).size < options.length))
      wrong[`questions[${i}].options`] = t('question.options.err')
  })
  return wrong
}

export function Questions({ list, change, errors }) {
  const edit = (i, part) => change(list.map((q, j) => (j === i ? { ...q, ...part } : q)))
  const swap = (i, by) => change(list.map((q, j) => (j === i ? list[i + by] : j === i + by ? list[i] : q)))
  const error = (i, name) =>
    Object.entries(errors).find(
      ([field]) => field === `questions[${i}].${name}` || field.startsWith(`questions[${i}].${name}[`),
    )?.[1]
  return html`
    <details open=${Object.keys(errors).some(x => x.startsWith('questions')) || undefined}>
      <summary>${t('question.title')}</summary>
      <div class="pile">
        <p class="hint">${t('question.lead')}</p>
        ${list.map((q, i) => {
          const id = name => `questions[${i}].${name}`
          return html`
            <fieldset class="hook" key=${i}>
              <legend>${t('question.n', { n: i + 1 })}</legend>
              <div class="duo">
                <${Field}
                  id=${id('label')}
                  label=${t('question.label')}
                  error=${error(i, 'label')}
                  value=${q.label}
                  input=${label => edit(i, { label })}
                  maxlength="300"
                />
                <${Field} id=${id('kind')} label=${t('question.kind')} error=${error(i, 'kind')}>
                  <${Select}
                    id=${id('kind')}
                    value=${q.kind}
                    input=${kind => edit(i, { kind })}
                    options=${['text', 'choice', 'yesno'].map(k => [k, t('question.kind.' + k)])}
                  />
                </${Field}>
              </div>
              ${
                q.kind === 'choice' &&
                html`
                  <${Field}
                    id=${id('options')}
                    label=${t('question.options')}
                    rows="3"
                    error=${error(i, 'options')}
                    value=${q.lines || ''}
                    input=${typed => edit(i, { lines: typed })}
                  />
                `
              }
              <${Check} checked=${Boolean(q.required)} input=${required => edit(i, { required })}>
                ${t('question.required')}
              </${Check}>
              <div class="duo">
                ${languagesOf(q.texts).map(
                  ([tag, name]) => html`
                    <div key=${tag} lang=${tag}>
                      <${Field}
                        id=${id('texts.' + tag + '.label')}
                        label=${t('page.in', { language: name })}
                        optional
                        value=${q.texts?.[tag]?.label || ''}
                        input=${label => edit(i, { texts: { ...q.texts, [tag]: { ...q.texts?.[tag], label } } })}
                        maxlength="300"
                      />
                      ${
                        q.kind === 'choice' &&
                        html`
                          <${Field}
                            id=${id('texts.' + tag + '.options')}
                            label=${t('question.options')}
                            optional
                            rows="3"
                            error=${error(i, 'texts.' + tag + '.options')}
                            value=${q.said?.[tag] || ''}
                            input=${typed => edit(i, { said: { ...q.said, [tag]: typed }, texts: { ...q.texts, [tag]: q.texts?.[tag] || {} } })}
                          />
                        `
                      }
                    </div>
                  `,
                )}
              </div>
              <div class="prio-do">
                <${Order} name=${t('question.n', { n: i + 1 })} i=${i} n=${list.length} move=${by => swap(i, by)} />
                <button
                  type="button"
                  class="btn quiet"
                  aria-label=${t('question.remove', { n: i + 1 })}
                  onClick=${() => change(list.filter((_, j) => j !== i))}
                >
                  ${t('set.hook.remove')}
                </button>
              </div>
            </fieldset>
          `
        })}
        <p>
          <${Plus}
            label="question.add"
            onClick=${() => change([...list, { kind: 'text', label: '', texts: {}, said: {} }])}
          />
        </p>
      </div>
    </details>
  `
}
