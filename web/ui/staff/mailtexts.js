// The clinic's own texts in emails to patients: one email in one language at a time, with the placeholders and a
// preview.
import { html, useEffect, useState } from '../lib/html.js'
import { post } from '../lib/api.js'
import { Field } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { Trouble, useSend } from './office.js'
import { firstLanguage, Placeholders, TextPick } from './placeholders.js'

const notices = [
  'confirmation',
  'reschedule',
  'cancellation',
  'reminder',
  'recall',
  'confirmation_request',
  'request_received',
  'request_declined',
  'waitlist_confirm',
  'waitlist_joined',
  'waitlist_offer',
  'waitlist_withdrawn',
]
const placeholders = ['what', 'when', 'day', 'who', 'where', 'clinic', 'phone']

export function MailTexts({ desk, texts, change, error }) {
  const [notice, setNotice] = useState(notices[0]),
    [language, setLanguage] = useState(firstLanguage)
  const [shown, setShown] = useState(null),
    sending = useSend(desk)
  const own = texts[notice]?.[language] || {}
  const edit = part => change({ ...texts, [notice]: { ...texts[notice], [language]: { ...own, ...part } } })
  const preview = async () => {
    const answer = await sending.send(() =>
      post('/v1/settings/mail-preview', { notice, language, subject: own.subject || '', text: own.text || '' }),
    )
    if (answer) setShown(answer)
  }
  useEffect(() => {
    setShown(null)
    preview()
  }, [notice, language])
  const at = field => error(`mailTexts.${notice}.${language}.${field}`) || sending.errors[field]
  const base = `mailTexts.${notice}.${language}.`
  return html`
    <${TextPick}
      id="mail"
      words="mails"
      notices=${notices}
      notice=${notice}
      setNotice=${setNotice}
      language=${language}
      setLanguage=${setLanguage}
    />
    <${Field}
      id=${base + 'subject'}
      lang=${language}
      label=${t('mails.subject')}
      optional
      error=${at('subject')}
      value=${own.subject || ''}
      input=${subject => edit({ subject })}
      placeholder=${shown?.own.subject}
      maxlength="200"
    />
    <${Field}
      id=${base + 'text'}
      lang=${language}
      label=${t('mails.text')}
      hint=${t('mails.text.hint')}
      optional
      rows="4"
      error=${at('text')}
      value=${own.text || ''}
      input=${text => edit({ text })}
      placeholder=${shown?.own.text}
      maxlength="2000"
    />
    <${Placeholders} names=${placeholders} meaning=${x => 'mails.is.' + x} />
    ${
      !Object.keys(sending.errors).length &&
      html`
        <${Trouble} problem=${sending.problem} />
      `
    }
    <p>
      <button type="button" class="btn" aria-disabled=${sending.busy ? 'true' : undefined} onClick=${preview}>
        ${t('mails.preview')}
      </button>
    </p>
    ${
      shown &&
      html`
        <figure class="mail" lang=${language} aria-label=${t('mails.preview')} role="status">
          <figcaption>
            <b><bdi>${shown.subject}</bdi></b>
          </figcaption>
          <p class="notes"><bdi>${shown.text}</bdi></p>
        </figure>
      `
    }
  `
}
// saidOf returns the texts to save. It leaves out the texts that the owner has cleared.
export const saidOf = texts =>
  Object.fromEntries(
    Object.entries(texts)
      .map(([notice, by]) => [
        notice,
        Object.fromEntries(Object.entries(by).filter(([, x]) => x.subject?.trim() || x.text?.trim())),
      ])
      .filter(([, by]) => Object.keys(by).length),
  )
