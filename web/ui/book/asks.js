// The questions on the booking form beyond name and contact: the questions of a type, whether the patient is new,
// whether they agree to text messages, and the clinic's consent. The page fetches this file only if the clinic asks any
// of these.
import { html } from '../lib/html.js'
import { boot } from '../lib/boot.js'
import { get, wait } from '../lib/api.js'
import { Field } from '../lib/form.js'
import { lang, t } from '../lib/i18n.js'

const language = { 'en-XA': 'en', 'ar-XB': 'en' }[lang] || lang
const { consent, privacyUrl } = boot.settings

// Group shows the possible answers to a question as radios; the patient chooses one. The error summary links to the
// first radio, so that radio has the group's id.
function Group({ id, label, required, error, options, value, input }) {
  return html`
    <fieldset class=${'field ask' + (error ? ' bad' : '')} aria-describedby=${error ? id + '-error' : undefined}>
      <legend>
        <bdi>${label}</bdi>
        ${
          !required &&
          html`
            ${' '}
            <span class="optional">(${t('field.optional')})</span>
          `
        }
      </legend>
      ${
        error &&
        html`
          <p class="error" id=${id + '-error'}>
            <span class="sr">${t('error.prefix')}${' '}</span>
            ${error}
          </p>
        `
      }
      ${options.map(
        ([key, name], i) => html`
          <label class="option" key=${key}>
            <input
              type="radio"
              id=${i ? undefined : id}
              name=${id}
              value=${key}
              checked=${key === value}
              onChange=${() => input(key)}
            />
            <span class="face"><bdi>${name}</bdi></span>
          </label>
        `,
      )}
    </fieldset>
  `
}
const Tick = ({ id, error, checked, input, children }) => html`
  <div class=${'field ask' + (error ? ' bad' : '')}>
    ${
      error &&
      html`
        <p class="error" id=${id + '-error'}>
          <span class="sr">${t('error.prefix')}${' '}</span>
          ${error}
        </p>
      `
    }
    <label class="option tick">
      <input
        type="checkbox"
        id=${id}
        checked=${Boolean(checked)}
        aria-describedby=${error ? id + '-error' : undefined}
        aria-invalid=${error ? 'true' : undefined}
        onChange=${e => input(e.currentTarget.checked)}
      />
      <span class="face"><span>${children}</span></span>
    </label>
  </div>
`

function Fields({ type, questions, form, put, err }) {
  const answer = id => value => put('answers')({ ...form.answers, [id]: value })
  return html`
    ${
      boot.sms &&
      html`
        <${Tick} id="sms" checked=${form.sms} input=${put('sms')}>${t('ask.sms')}</${Tick}>
      `
    }
    ${
      type.newPatientsOnly &&
      html`
        <${Tick} id="newPatient" error=${err('newPatient')} checked=${form.newPatient} input=${put('newPatient')}>
          ${t('ask.new')}
        </${Tick}>
      `
    }
    ${questions.map(q => {
      const id = 'answers.' + q.id,
        own = { id, error: err(id), value: form.answers?.[q.id] || '', input: answer(q.id), key: q.id }
      const text = q.texts?.[language] || {},
        label = text.label || q.label
      if (q.kind === 'yesno')
        return html`
          <${Group}
            ...${own}
            label=${label}
            required=${q.required}
            options=${[
              ['yes', t('ask.yes')],
              ['no', t('ask.no')],
            ]}
          />
        `
      if (q.kind === 'choice')
        return html`
          <${Group}
            ...${own}
            label=${label}
            required=${q.required}
            options=${q.options.map((o, i) => [o, text.options?.[i] || o])}
          />
        `
      return html`
        <${Field}
          ...${own}
          label=${html`
            <bdi>${label}</bdi>
          `}
          optional=${!q.required}
          rows="2"
          maxlength="1000"
        />
      `
    })}
    ${
      consent &&
      html`
        <${Tick} id="consent" error=${err('consent')} checked=${form.consent} input=${put('consent')}>
          <span class="lines" dir="auto">${consent.texts?.[language] || consent.text}</span>
        </${Tick}>
        ${
          privacyUrl &&
          html`
            <p class="hint lone"><a href=${privacyUrl} target="_blank" rel="noopener">${t('foot.privacy')}</a></p>
          `
        }
      `
    }
    ${
      type.cancelText &&
      html`
        <p class="hint lone lines"><bdi>${type.cancelText}</bdi></p>
      `
    }
    ${
      type.approval &&
      html`
        <p class="hint lone">${t('approval.lead')}</p>
      `
    }
  `
}

// load returns the parts for the form of a type: Fields, and check(form). check returns the errors in the order of
// the fields, and the body to send.
export async function load(type) {
  let questions = []
  while (type.asks) {
    try {
      questions = (await get('/v1/appointment-types/' + encodeURIComponent(type.id))).appointmentType.questions || []
      break
    } catch {
      await wait(1500)
    }
  }
  return {
    verb: type.approval && 'approval',
    Fields: props => html`
      <${Fields} type=${type} questions=${questions} ...${props} />
    `,
    check(form) {
      const errors = [],
        answers = {}
      if (type.newPatientsOnly && !form.newPatient) errors.push({ id: 'newPatient', message: t('ask.new.err') })
      for (const q of questions) {
        const value = (form.answers?.[q.id] || '').trim()
        if (value) answers[q.id] = value
        else if (q.required)
          errors.push({
            id: 'answers.' + q.id,
            message: t('ask.err', { question: q.texts?.[language]?.label || q.label }),
          })
      }
      if (consent && !form.consent) errors.push({ id: 'consent', message: t('ask.consent.err') })
      return {
        errors,
        said: {
          ...(type.newPatientsOnly && { newPatient: true }),
          ...(form.sms && { sms: true }),
          ...(consent && { consent: true }),
          ...(Object.keys(answers).length && { answers }),
        },
      }
    },
    // complaint converts the server's error about one of these fields to a form error.
    complaint: field =>
      /^(answers\.|consent$|newPatient$)/.test(field) && {
        id: field,
        message: t(field === 'consent' ? 'ask.consent.err' : field === 'newPatient' ? 'ask.new.err' : 'ask.err', {
          question: questions.find(q => 'answers.' + q.id === field)?.label || '',
        }),
      },
  }
}
