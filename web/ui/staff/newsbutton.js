// The button with the number of online bookings, moves and cancellations since the list was last opened at this desk.
// If the user has switched the sound on, a new item plays it.
import { html, useEffect, useRef } from '../lib/html.js'
import { beep } from '../lib/beep.js'
import { Icon } from '../lib/icons.js'
import { useStore } from '../lib/store.js'
import { t } from '../lib/i18n.js'
import { empty } from './store.js'

const unread = (news, seen) => news.filter(x => x.at > seen)

export function NewsButton({ desk }) {
  const news = useStore(desk.store, s => s.news),
    seen = useStore(desk.prefs, p => p.seen)
  const n = unread(news, seen).length
  const known = useRef(null)
  useEffect(() => {
    if (news === empty.news) return // not loaded yet
    // The first list after the console has opened plays no sound.
    if (known.current && news.some(x => !known.current.has(x.id)) && desk.prefs.get().sound) beep()
    known.current = new Set(news.map(x => x.id))
  }, [news])
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
