// The third screen: how the clinic sends email. An owner who skips it can set it up later.
import { html } from '../lib/html.js'
import { boot } from '../lib/boot.js'
import { t } from '../lib/i18n.js'
import { MailServer } from '../staff/mailserver.js'
import { Heading } from './page.js'

// alone replaces the functions of the desk that MailServer uses: call sends a request, and toast shows nothing.
const alone = { call: ask => ask(), toast: () => {} }

export function Mail({ done }) {
  const saved = () => {
    boot.mail = true
    done()
  }
  return html`
    <${Heading}>${t('setup.mail.title')}</${Heading}>
    <p class="lead">${t('setup.mail.lead')}</p>
    <${MailServer} desk=${alone} saved=${saved} />
    <div class="actions">
      <button type="button" class="btn" id="skip" onClick=${done}>${t('setup.mail.skip')}</button>
    </div>
  `
}
