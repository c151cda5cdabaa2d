// The test email in the settings.
import { html, useState } from '../lib/html.js'
import { post } from '../lib/api.js'
import { t } from '../lib/i18n.js'
import { Notice } from '../lib/notice.js'
import { Trouble, useSend } from './office.js'

// MailTest sends a test email to the signed-in user and shows the result.
export function MailTest({ desk }) {
  const [result, setResult] = useState(null)
  const sending = useSend(desk)
  const run = async () => {
    setResult(null)
    const answer = await sending.send(() => post('/v1/settings/mail-test', {}, { tries: 1 }))
    if (answer) setResult(answer)
  }
  const kind = { sent: 'ok', failed: 'danger' }[result?.delivery] || 'warn'
  return html`
    <section class="plate setting">
      <h2>${t('set.mail')}</h2>
      <p class="muted">${t('set.mail.lead')}</p>
      <${Trouble} problem=${sending.problem} />
      <div role="status">
        ${
          result &&
          html`
            <${Notice}
              kind=${kind}
              icon=${kind === 'ok' ? undefined : 'alert'}
              text=${'set.mail.' + result.delivery}
              params=${{ to: result.to, why: result.detail || '' }}
            />
          `
        }
      </div>
      <div class="actions">
        <button type="button" class="btn" aria-disabled=${sending.busy ? 'true' : undefined} onClick=${run}>
          ${t(sending.busy ? 'set.mail.doing' : 'set.mail.do')}
        </button>
      </div>
    </section>
  `
}
