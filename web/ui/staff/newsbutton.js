// The number of online bookings since the list was last opened at this desk.
import { html } from '../lib/html.js'
import { Icon } from '../lib/icons.js'
import { useStore } from '../lib/store.js'
import { t } from '../lib/i18n.js'

const unread = (news, seen) => news.filter(a => a.createdAt > seen)

export function NewsButton({ desk }) {
  const news = useStore(desk.store, s => s.news),
    seen = useStore(desk.prefs, p => p.seen)
  const n = unread(news, seen).length
  const label = n ? t('news.unread', { n }) : t('news.title')
  return html`
    <button
      type="button"
      class="btn quiet square news"
      aria-label=${label}
      title=${label + ' (!)'}
      onClick=${() => desk.open('news')}
    >
      <${Icon} name="inbox" />
      ${
        n > 0 &&
        html`
          <span class="count" aria-hidden="true">${n > 49 ? '49+' : n}</span>
        `
      }
    </button>
  `
}
