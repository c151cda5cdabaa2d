// Intake shows the answers, the new-patient mark and the consent of an appointment or a request, as list rows.
import { html } from '../lib/html.js'
import { t } from '../lib/i18n.js'
import { dayAndTime } from '../lib/time.js'

const answer = value => (['yes', 'no'].includes(value) ? t('intake.' + value) : value)

export const Intake = ({ of }) =>
  of &&
  html`
    <ul class="told">
      ${(of.answers || []).map(
        x => html`
          <li key=${x.questionId}>
            <bdi class="muted">${x.question}</bdi>
            ${' '}
            <b><bdi class="notes">${answer(x.value)}</bdi></b>
          </li>
        `,
      )}
      ${
        of.newPatient &&
        html`
          <li>${t('intake.new')}</li>
        `
      }
      ${
        of.sms &&
        html`
          <li>${t('intake.sms')}</li>
        `
      }
      ${
        of.consentedAt &&
        html`
          <li class="muted">${t('intake.consented', { when: dayAndTime(of.consentedAt) })}</li>
        `
      }
    </ul>
  `
