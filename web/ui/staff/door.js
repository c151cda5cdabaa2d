// The QR code for the clinic's door. It opens the page that tells patients how to report that they have arrived.
import { html, useMemo } from '../lib/html.js'
import { t } from '../lib/i18n.js'
import { path } from '../lib/qr.js'
import { Copy } from './copy.js'

export function Door({ link }) {
  const { size, d } = useMemo(() => path(link), [link])
  return html`
    <section class="scan door" aria-labelledby="door-title">
      <h3 id="door-title">${t('set.door')}</h3>
      <p class="hint">${t('set.door.lead')}</p>
      <svg class="qr" viewBox=${`0 0 ${size} ${size}`} role="img" aria-label=${t('set.door.qr', { link })}>
        <path d=${d} />
      </svg>
      <${Copy} id="door" label=${t('set.door.link')} value=${link} />
    </section>
  `
}
