// The recent online bookings, newest first. Bookings since the list was last opened at this desk are marked. There is
// no sound and no blinking.
import { html, useState } from '../lib/html.js'
import { Dialog } from '../lib/dialog.js'
import { useStore } from '../lib/store.js'
import { t } from '../lib/i18n.js'
import { dateOf, dayAndTime } from '../lib/time.js'
import { go } from './daybar.js'
import { specialistName, typeName, who } from './words.js'

export function News({ desk, close }) {
  const s = useStore(desk.store)
  useStore(desk.prefs, p => p.names)
  // Bookings that were new when the list was opened stay marked while it is open.
  const [seen] = useState(() => desk.prefs.get().seen)
  if (s.news[0] && s.news[0].createdAt > desk.prefs.get().seen)
    Promise.resolve().then(() => desk.prefs.set({ seen: s.news[0].createdAt }))
  const show = a => {
    if (a.status === 'cancelled') return desk.open('appointment', { id: a.id, back: { kind: 'news' } })
    close()
    desk.patch({ reveal: a.id })
    go('day', dateOf(Date.parse(a.slotStartDate)))
  }
  return html`
    <${Dialog} title=${t('news.title')} wide close=${close}>
      ${
        s.news.length
          ? html`
              <ul class="newslist">
                ${s.news.map(
                  (a, i) => html`
                    <li key=${a.id}>
                      <button
                        type="button"
                        autofocus=${i === 0}
                        class=${a.createdAt > seen ? 'unread' : ''}
                        onClick=${() => show(a)}
                      >
                        <span class="news-who">
                          ${
                            a.createdAt > seen &&
                            html`
                              <span class="dot" aria-hidden="true"></span>
                              <span class="sr">${t('news.new')}${' '}</span>
                            `
                          }
                          <b><bdi>${who(desk, a)}</bdi></b>
                          ${' '}${typeName(s, a.appointmentTypeId)},${' '}
                          <bdi>${specialistName(s, a.specialistId)}</bdi>
                          ${
                            a.status === 'cancelled' &&
                            html`
                              ,${' '}
                              <em>${t('card.cancelled')}</em>
                            `
                          }
                        </span>
                        <span><b>${dayAndTime(a.slotStartDate)}</b></span>
                        <span class="muted">
                          ${t('card.booked.how', { when: dayAndTime(a.createdAt), how: t('source.' + a.source) })}
                        </span>
                      </button>
                    </li>
                  `,
                )}
              </ul>
            `
          : html`
              <p class="muted">${t('news.none')}</p>
            `
      }
    </${Dialog}>
  `
}
