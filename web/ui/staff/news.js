// The recent online bookings, moves and cancellations, newest first. Items since the list was last opened at this desk
// are marked. The desk can offer a time that became free to the waiting list.
import { html, useState } from '../lib/html.js'
import { serverNow } from '../lib/clock.js'
import { Dialog } from '../lib/dialog.js'
import { Icon } from '../lib/icons.js'
import { useStore } from '../lib/store.js'
import { t } from '../lib/i18n.js'
import { dateOf, dayAndTime } from '../lib/time.js'
import { go } from './daybar.js'
import { specialistName, typeName, who } from './words.js'

// An offer expires 10 minutes before the offered start. It must be open for at least 5 minutes.
const least = 16 * 6e4

function sentence({ change, at, appointment: a, from }) {
  const when = dayAndTime(at)
  if (change === 'cancelled') return t('news.cancelled', { when })
  if (change === 'rescheduled') return t('news.moved', { when, from: from ? dayAndTime(from.slotStartDate) : '' })
  return t('card.booked.how', { when, how: t('source.' + a.source) })
}

export function News({ desk, close }) {
  const s = useStore(desk.store)
  useStore(desk.prefs, p => p.names)
  // Items that were new when the list opened stay marked while it is open.
  const [seen] = useState(() => desk.prefs.get().seen)
  if (s.news[0] && s.news[0].at > desk.prefs.get().seen)
    Promise.resolve().then(() => desk.prefs.set({ seen: s.news[0].at }))
  const show = a => {
    if (a.status === 'cancelled') return desk.open('appointment', { id: a.id, back: { kind: 'news' } })
    close()
    desk.patch({ reveal: a.id })
    go('day', dateOf(Date.parse(a.slotStartDate)))
  }
  const offer = ({ appointment: a, from }) =>
    desk.open('gap', {
      typeId: a.appointmentTypeId,
      specialistId: from.specialistId,
      start: Date.parse(from.slotStartDate),
      end: Date.parse(from.slotEndDate),
      back: { kind: 'news' },
    })
  const line = (x, i) => {
    const a = x.appointment,
      fresh = x.at > seen
    return html`
      <li key=${x.id + x.change}>
        <button
          type="button"
          autofocus=${i === 0}
          class=${'news-line' + (fresh ? ' unread' : '')}
          onClick=${() => show(a)}
        >
          <span class="news-who">
            ${
              fresh &&
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
          <span class="muted">${sentence(x)}</span>
        </button>
        ${
          x.from &&
          desk.role !== 'specialist' &&
          Date.parse(x.from.slotStartDate) > serverNow() + least &&
          html`
            <button
              type="button"
              class="textlink news-offer"
              aria-label=${`${t('news.offer')}: ${dayAndTime(x.from.slotStartDate)}`}
              onClick=${() => offer(x)}
            >
              <${Icon} name="clock" />
              ${t('news.offer')}
            </button>
          `
        }
      </li>
    `
  }
  return html`
    <${Dialog} title=${t('news.title')} wide close=${close}>
      ${
        s.news.length
          ? html`
              <ul class="newslist">
                ${s.news.map(line)}
              </ul>
            `
          : html`
              <p class="muted">${t('news.none')}</p>
            `
      }
    </${Dialog}>
  `
}
