// What became of the notices about one appointment: to the patient, to programs, to the practice
// system. <Deliveries desk id /> asks for them by itself; version asks again.
import { html } from '../lib/html.js'
import { Icon } from '../lib/icons.js'
import { t } from '../lib/i18n.js'
import { write, zone } from '../lib/time.js'
import { State, useAsk } from './office.js'

const signs = { queued: ['clock', ''], delivered: ['check', 'ok'], failed: ['alert', 'danger'], needs_review: ['help', 'warn'] }
const word = (key, otherwise) => { const text = t(key); return text === key ? otherwise : text }

export function Deliveries({ desk, id, version = '' }) {
  const { data } = useAsk(desk, () => desk.deliveries(id), id + version)
  if (!data?.length) return null
  return html`<section class="deliveries"><h3>${t('deliver.title')}</h3><ul>${data.map(d => {
    const [icon, kind] = signs[d.state] || signs.queued
    return html`<li key=${d.operationId}><span>${word('deliver.' + d.channel, d.channel)}: ${word('deliver.notice.' + d.notice, d.notice)}</span>
      <${State} kind=${kind} icon=${html`<${Icon} name=${icon} />`}>${word('deliver.' + d.state, d.state)}</${State}>
      <span class="muted">${write('shortDay', d.updatedAt, zone)}, ${write('time', d.updatedAt, zone)}</span></li>`
  })}</ul></section>`
}
