// The questions of an appointment type, for a booking by telephone. Choices are a select instead of radios, so that the
// user can answer by typing a letter. If an answer that is required online is missing, the form reminds the user once
// and then accepts the booking without it.
import { html } from '../lib/html.js'
import { Field } from '../lib/form.js'
import { lang, t } from '../lib/i18n.js'

const language = { 'en-XA': 'en', 'ar-XB': 'en' }[lang] || lang
const field = q => 'answers.' + q.id

export function Asks({ type, answers, set, errors }) {
  const questions = type?.questions || []
  if (!questions.length) return null
  return html`
    <fieldset class="patient">
      <legend>${t('asks.title')}</legend>
      ${questions.map(q => {
        const text = q.texts?.[language] || {},
          options =
            q.kind === 'yesno'
              ? [
                  ['yes', t('intake.yes')],
                  ['no', t('intake.no')],
                ]
              : q.options?.map((o, i) => [o, text.options?.[i] || o])
        const own = {
          id: field(q),
          key: q.id,
          label: html`
            <bdi>${text.label || q.label}</bdi>
          `,
          optional: !q.required,
          error: errors[field(q)],
        }
        const value = answers[q.id] || '',
          input = value => set({ ...answers, [q.id]: value })
        if (!options)
          return html`
            <${Field} ...${own} value=${value} input=${input} rows="2" maxlength="1000" />
          `
        return html`
          <${Field} ...${own}>
            <select
              id=${own.id}
              value=${value}
              aria-invalid=${own.error ? 'true' : undefined}
              aria-describedby=${own.error ? own.id + '-error' : undefined}
              onChange=${e => input(e.currentTarget.value)}
            >
              <option value=""></option>
              ${options.map(
                ([key, name]) => html`
                  <option key=${key} value=${key}>${name}</option>
                `,
              )}
            </select>
          </${Field}>
        `
      })}
    </fieldset>
  `
}

// said returns the answers to a type's questions that are not empty, for the request.
export const said = (type, answers) =>
  Object.fromEntries(
    (type?.questions || []).map(q => [q.id, (answers[q.id] || '').trim()]).filter(([, value]) => value),
  )
// missing returns the required questions without an answer, as errors by field.
export const missing = (type, answers) =>
  Object.fromEntries(
    (type?.questions || [])
      .filter(q => q.required && !(answers[q.id] || '').trim())
      .map(q => [field(q), t('asks.once')]),
  )
// answersOf returns the answers of an appointment by question. reanswered returns the changed answers, including
// those that were cleared.
export const answersOf = a => Object.fromEntries((a.intake?.answers || []).map(x => [x.questionId, x.value]))
export const reanswered = (type, was, now) =>
  Object.fromEntries(
    (type?.questions || [])
      .map(q => [q.id, (now[q.id] || '').trim()])
      .filter(([id, value]) => value !== (was[id] || '')),
  )
