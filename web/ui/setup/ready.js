// The last screen: the link for patients, also as a QR code, and a small board that shows the first booking.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { boot } from '../lib/boot.js'
import { createLive, ticketed } from '../lib/live.js'
import { get } from '../lib/api.js'
import { t } from '../lib/i18n.js'
import { Icon } from '../lib/icons.js'
import { Notice, words } from '../lib/notice.js'
import { path } from '../lib/qr.js'
import { say } from '../lib/say.js'
import { addDays, dateOf, dayAndTime } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { Copy } from '../staff/copy.js'
import { Heading } from './page.js'

// useBoard returns only the current holds and the latest bookings.
function useBoard() {
  const [holds, setHolds] = useState({}),
    [booked, setBooked] = useState([]),
    [link, setLink] = useState('')
  useEffect(() => {
    const known = new Set()
    const arrive = async id => {
      if (known.has(id)) return
      known.add(id)
      const { appointment } = await get('/v1/appointments/' + id)
      if (appointment.status !== 'confirmed') return
      setBooked(all => [appointment, ...all.filter(a => a.id !== id)].slice(0, 5))
      say(t('ready.arrived', { name: appointment.patient?.name || '' }))
    }
    // Show the bookings of the last hour, which may be older than this page.
    const from = dateOf(serverNow())
    get('/v1/appointments', { from, to: addDays(from, 62), status: 'confirmed', limit: 50 })
      .then(({ appointments }) => {
        const recent = appointments
          .filter(a => serverNow() - Date.parse(a.createdAt) < 36e5)
          .sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
          .slice(0, 5)
        for (const a of recent) known.add(a.id)
        setBooked(recent)
      })
      .catch(() => {})
    const live = createLive({
      url: ticketed('/v1/staff/stream'),
      tell: events => {
        setHolds(before => {
          let now = before
          for (const e of events) {
            if (e.type === 'init') now = {}
            if (e.type === 'hold') now = { ...now, [e.holdId]: e }
            if (e.type === 'release' || e.type === 'confirm') {
              const { [e.holdId]: gone, ...rest } = now
              now = rest
            }
          }
          return now
        })
        for (const e of events) if (e.type === 'appointment') arrive(e.id).catch(() => known.delete(e.id))
      },
      link: setLink,
      poll: () =>
        get('/v1/holds', {}, { tries: 1, headers: { 'Holdfast-Client': '' } }).then(({ holds }) =>
          setHolds(Object.fromEntries(holds.map(h => [h.holdId, h]))),
        ),
    })
    live.start()
    return () => live.stop()
  }, [])
  return { holds: Object.values(holds), booked, link }
}

function MiniBoard() {
  const { holds, booked, link } = useBoard()
  return html`
    <section class="plate mini" aria-label=${t('ready.board')}>
      <header>
        <h2>${t('ready.board')}</h2>
        <p class="live" data-link=${link}>
          <span class="dot" aria-hidden="true"></span>
          ${t('live.' + (link || 'connecting'))}
        </p>
      </header>
      ${
        !holds.length &&
        !booked.length &&
        html`
          <p class="nothing">${t('ready.waiting')}</p>
        `
      }
      <ul>
        ${holds.map(
          h => html`
            <li key=${h.holdId} class="choosing">
              <${Icon} name="clock" />
              <span>
                <b>${dayAndTime(h.slotStartDate)}</b>
                ${' '}
                <span class="muted">${t('ready.choosing')}</span>
              </span>
            </li>
          `,
        )}
        ${booked.map(
          a => html`
            <li key=${a.id} class="arrived">
              <${Icon} name="check" />
              <span>
                <b>${dayAndTime(a.slotStartDate)}</b>
                ${' '}
                <bdi>${a.patient?.name}</bdi>
              </span>
            </li>
          `,
        )}
      </ul>
    </section>
  `
}

export function Ready({ clinic, back }) {
  const { url } = boot.address,
    link = url + '/',
    loopback = /^(localhost|127\.|\[::1\])/.test(new URL(url).hostname)
  const code = useRef()
  code.current ||= path(link)
  const snippet = `<script src="${url}/embed.js" async></script>`
  return html`
    <${Heading}>${t('ready.title', { clinic: clinic.name })}</${Heading}>
    <p class="lead">${t('ready.lead')}</p>
    ${
      loopback &&
      html`
        <${Notice}
          kind="warn"
          icon="alert"
          text=${html`
            ${words('ready.loopback')}${' '}
            <code class="command">holdfast serve --listen 0.0.0.0:${location.port || 80}</code>
          `}
        />
      `
    }
    <div class="beside even">
      <section class="plate scan">
        ${
          !loopback &&
          html`
            <h2>${t('ready.scan')}</h2>
            <svg
              class="qr"
              viewBox=${`0 0 ${code.current.size} ${code.current.size}`}
              role="img"
              aria-label=${t('ready.qr', { link })}
            >
              <path d=${code.current.d} />
            </svg>
            <p class="muted">${t('ready.scan.hint')}</p>
          `
        }
        <${Copy} id="link" label=${t('ready.link')} value=${link} />
      </section>
      <${MiniBoard} />
    </div>
    <section class="plate">
      <h2>${t('ready.embed')}</h2>
      <p class="muted">${t('ready.embed.hint')}</p>
      <${Copy} id="snippet" label=${t('ready.snippet')} value=${snippet} code />
    </section>
    <section class="plate mail">
      <h2>${t('ready.mail')}</h2>
      ${
        boot.mail
          ? html`
              <p>${t('ready.mail.on')}</p>
            `
          : html`
              <${Notice}
                kind="warn"
                icon="mail"
                text=${html`
                  ${words('ready.mail.off')}${' '}
                  <code class="command">holdfast serve --smtp-url smtp://user:password@host:587</code>
                `}
              />
            `
      }
    </section>
    <section class="plate">
      <h2>${t('ready.backup')}</h2>
      <p>
        ${t('ready.backup.where')}${' '}
        <code class="command">holdfast backup</code>
      </p>
      <p class="muted">${t('ready.backup.hint')}</p>
    </section>
    <div class="actions">
      <a class="btn primary big" href="/staff">${t('ready.desk')}</a>
      <a class="btn big" href="/">${t('ready.open')}</a>
      <button type="button" class="textlink" onClick=${back}>${t('ready.back')}</button>
    </div>
  `
}
