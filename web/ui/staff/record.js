// The parts that the desk's forms for records share. A record is a specialist, an appointment type, a user, an API key,
// an override, an entry of the waiting list, or a group of types.
import { html, useState } from '../lib/html.js'
import { boot } from '../lib/boot.js'
import { newKey } from '../lib/api.js'
import { Dialog } from '../lib/dialog.js'
import { Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { lang, languages, locale, t } from '../lib/i18n.js'
import { Busy, Errors, listed, useSend } from './office.js'

// useDraft returns the values of a form, put(field)(value), which changes a value, and the request that saves them. e
// contains the errors by field.
export function useDraft(desk, start) {
  const [form, setForm] = useState(start),
    sending = useSend(desk)
  return { form, put: name => value => setForm(f => ({ ...f, [name]: value })), sending, e: sending.errors }
}

// RecordForm is the dialog around the fields. ids maps the server's field names to field ids that differ from them. If
// long is set, the buttons stay visible while the user scrolls.
export const RecordForm = ({ title, wide, long, sending, ids, submit, action, close, children }) => html`
  <${Dialog} wide=${wide} title=${title} close=${close}>
    <form
      class="office-form"
      novalidate
      onSubmit=${e => {
        e.preventDefault()
        submit()
      }}
    >
      <${Errors} errors=${listed(sending.errors, ids)} n=${sending.n} problem=${sending.problem} />
      ${children}
      <div class=${'actions' + (long ? ' savebar' : '')}>
        <${Busy} busy=${sending.busy}>${action || t('office.save')}</${Busy}>
        <button type="button" class="btn" onClick=${() => close()}>${t('office.cancel')}</button>
      </div>
    </form>
  </${Dialog}>
`

// Radios lets the user choose one of a few values. Each option is [value, label, hint].
export const Radios = ({ name, legend, value, input, options }) => html`
  <fieldset class="choice">
    <legend>${legend}</legend>
    ${options.map(
      ([key, label, hint]) => html`
        <label class="check" key=${key}>
          <input type="radio" name=${name} checked=${value === key} onChange=${() => input(key)} />
          <span>
            ${label}${
              hint &&
              html`
                <small>${hint}</small>
              `
            }
          </span>
        </label>
      `,
    )}
  </fieldset>
`

const names = new Intl.DisplayNames(lang === 'ar-XB' ? 'en' : locale, { type: 'language' })
const own = (boot.clinic.locale || 'en').split('-')[0]
// languagesOf returns the languages of a text's translations, named in the language of the page: all but the clinic's
// own. If the text has a version in that language too, such as from before the clinic's language changed, the booking
// page shows that version, so languagesOf includes it.
export const languagesOf = versions =>
  Object.keys(languages)
    .filter(tag => tag !== own || Object.hasOwn(versions || {}, tag))
    .map(tag => [tag, names.of(tag)])

// Translations shows one field for each language of languagesOf. id is the prefix of the fields' ids.
export const Translations = ({ id, label = 'page.in', values, input, error, ...rest }) =>
  languagesOf(values).map(
    ([tag, language]) => html`
      <${Field}
        key=${tag}
        id=${id + tag}
        label=${t(label, { language })}
        optional
        lang=${tag}
        error=${error?.(id + tag)}
        value=${values?.[tag] || ''}
        input=${value => input({ ...values, [tag]: value })}
        ...${rest}
      />
    `,
  )

// Order shows the buttons that move item i of n up (-1) or down (1). id is the prefix of the buttons' ids.
export const Order = ({ name, i, n, move, id }) =>
  [
    ['up', -1],
    ['down', 1],
  ].map(([way, by]) => {
    const may = i + by >= 0 && i + by < n
    return html`
      <button
        key=${way}
        type="button"
        class="btn quiet square"
        id=${id && `${id}-${way}`}
        aria-label=${t('type.' + way, { name })}
        aria-disabled=${may ? undefined : 'true'}
        onClick=${() => may && move(by)}
      >
        <${Icon} name=${way} />
      </button>
    `
  })

// freshId creates an id for an item that has no id from the server yet.
export const freshId = prefix =>
  prefix +
  newKey()
    .replace(/[^\w-]/g, '')
    .slice(0, 10)

export const Plus = ({ label, primary, ...rest }) => html`
  <button type="button" class=${'btn' + (primary ? ' primary' : '')} ...${rest}>
    <${Icon} name="plus" />
    ${t(label)}
  </button>
`
