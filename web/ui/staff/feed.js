// The calendar feed with a specialist's appointments, for the calendar app on the specialist's phone. The page shows
// the feed's address once. `level` is the tag of the heading.
import { html, useState } from '../lib/html.js'
import { del, get, post } from '../lib/api.js'
import { t } from '../lib/i18n.js'
import { write, zone } from '../lib/time.js'
import { Copy } from './copy.js'
import { Check, State, Trouble, useAsk, useSend } from './office.js'

export function Feed({ desk, specialistId, level = 'h2' }) {
  const path = `/v1/specialists/${encodeURIComponent(specialistId)}/calendar-feed`
  const asked = useAsk(desk, () => get(path)),
    sending = useSend(desk)
  const [made, setMade] = useState(null),
    [names, setNames] = useState(false)
  const feed = made || asked.data?.calendarFeed
  const make = async () => {
    const answer = await sending.send(() => post(path, { names }))
    if (answer) setMade(answer.calendarFeed)
  }
  const end = async () => {
    if (await sending.send(() => del(path))) {
      setMade({ on: false })
      desk.toast('feed.ended')
    }
  }
  if (!feed) return null
  return html`
    <section class="plate setting feed" aria-labelledby="feed">
      <${level} id="feed">${t('feed.title')}</${level}>
      <p class="muted">${t('feed.lead')}</p>
      <${Trouble} problem=${sending.problem} />
      <p>
        ${
          feed.on
            ? html`
                <${State} kind="ok" icon="check">
                  ${t(feed.names ? 'feed.on.names' : 'feed.on', { when: write('shortDay', feed.madeAt, zone) })}
                </${State}>
              `
            : html`
                <${State} icon="stop">${t('feed.off')}</${State}>
              `
        }
      </p>
      ${
        feed.url &&
        html`
          <${Copy} id="feed-url" label=${t('feed.url')} value=${feed.url} code />
          <p class="hint">${t('feed.once')}</p>
          <p><a class="btn" href=${feed.webcal}>${t('feed.open')}</a></p>
        `
      }
      <${Check} checked=${names} input=${setNames} hint=${t('feed.names.hint')}>${t('feed.names')}</${Check}>
      <div class="actions">
        <button type="button" class="btn" aria-disabled=${sending.busy ? 'true' : undefined} onClick=${make}>
          ${t(feed.on ? 'feed.again' : 'feed.make')}
        </button>
        ${
          feed.on &&
          html`
            <button type="button" class="btn quiet" onClick=${end}>${t('feed.end')}</button>
          `
        }
      </div>
    </section>
  `
}
