// The clinic's own text messages, one at a time. While the owner types, the server fills in an example and measures its
// length, which includes the link and the values of the placeholders.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { post } from '../lib/api.js'
import { Field } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { Check } from './office.js'
import { firstLanguage, Placeholders, TextPick } from './placeholders.js'

const notices = [
  'confirmation',
  'reschedule',
  'cancellation',
  'reminder',
  'recall',
  'must_move',
  'waitlist_offer',
  'proposal',
]
const placeholders = ['when', 'day', 'time', 'clinic', 'phone']
// room returns how many characters fit into the segments of a message (3GPP TS 23.038).
const room = ({ encoding, segments }) => {
  const [one, many] = encoding === 'GSM-7' ? [160, 153] : [70, 67]
  return segments > 1 ? segments * many : one
}

export const smsDraftOf = s => ({
  countryCode: s?.countryCode || '',
  reminders: !s?.noReminders,
  hours: (s?.reminderHours?.length ? s.reminderHours : [48, 2]).join(', '),
  texts: s?.texts || {},
})
export const smsOf = d => ({
  countryCode: d.countryCode.trim(),
  noReminders: !d.reminders,
  reminderHours: d.hours
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map(Number),
  texts: d.texts,
})
export const checkSms = d =>
  d.reminders && !/^\s*\d+([\s,;]+\d+)*\s*$/.test(d.hours) ? { 'sms-hours': t('texts.hours.err') } : {}

export function SmsTexts({ desk, draft, set, error }) {
  const { texts } = draft
  const [notice, setNotice] = useState(notices[0]),
    [language, setLanguage] = useState(firstLanguage)
  const [shown, setShown] = useState(null),
    [wrong, setWrong] = useState('')
  const own = texts[notice]?.[language] || '',
    asked = useRef(0)
  const edit = text => set('texts')({ ...texts, [notice]: { ...texts[notice], [language]: text } })
  useEffect(() => {
    const mine = ++asked.current
    const timer = setTimeout(
      () =>
        desk
          .call(() => post('/v1/settings/sms-preview', { notice, language, text: own }, { tries: 3 }))
          .then(
            answer => {
              if (mine !== asked.current) return
              setShown(answer)
              setWrong('')
            },
            problem => {
              if (mine === asked.current) setWrong(problem.errors.find(e => e.field === 'text')?.message || '')
            },
          ),
      shown ? 150 : 0,
    )
    return () => clearTimeout(timer)
  }, [notice, language, own])
  const id = `sms.texts.${notice}.${language}.text`
  return html`
    <${Field}
      id="sms-country"
      label=${t('texts.country')}
      hint=${t('texts.country.hint')}
      optional
      error=${error('sms-country')}
      value=${draft.countryCode}
      input=${set('countryCode')}
      inputmode="numeric"
      maxlength="4"
      placeholder="49"
    />
    <${Check} id="sms-reminders" checked=${draft.reminders} input=${set('reminders')}>${t('texts.reminders')}</${Check}>
    ${
      draft.reminders &&
      html`
        <${Field}
          id="sms-hours"
          label=${t('texts.hours')}
          hint=${t('texts.hours.hint')}
          error=${error('sms-hours')}
          value=${draft.hours}
          input=${set('hours')}
          maxlength="20"
        />
      `
    }
    <${TextPick}
      id="sms"
      words="texts"
      notices=${notices}
      notice=${notice}
      setNotice=${setNotice}
      language=${language}
      setLanguage=${setLanguage}
    />
    <${Field}
      id=${id}
      lang=${language}
      label=${t('mails.text')}
      hint=${t('texts.text.hint')}
      optional
      rows="3"
      error=${error(id) || wrong}
      value=${own}
      input=${edit}
      placeholder=${shown?.builtin}
      maxlength="600"
    />
    <${Placeholders} names=${placeholders} meaning=${x => (x === 'time' ? 'texts' : 'mails') + '.is.' + x} />
    ${
      shown &&
      html`
        <figure class="mail sms" lang=${language} aria-label=${t('mails.preview')}>
          <p class="notes"><bdi>${shown.text}</bdi></p>
          <figcaption class=${shown.segments > 1 ? 'long' : ''} lang="">
            <b>${t('texts.segments', { n: shown.segments })}</b>
            <span>${t('texts.length', { n: shown.length, of: room(shown) })}</span>
            <span>${t(shown.encoding === 'GSM-7' ? 'texts.gsm' : 'texts.ucs')}</span>
          </figcaption>
        </figure>
        <p class="sr" role="status">${t('texts.segments', { n: shown.segments })}</p>
        ${
          shown.encoding !== 'GSM-7' &&
          html`
            <p class="hint">${t('texts.ucs.hint')}</p>
          `
        }
      `
    }
  `
}
