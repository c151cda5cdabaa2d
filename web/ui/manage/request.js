// A booking that must first be confirmed: the page that the patient sees after booking, and the page that the link in
// the email opens. Opening the link confirms nothing, because mail programs open links too.
import { html, render, useRef, useState } from '../lib/html.js'
import { typeOf, withLang } from '../lib/boot.js'
import { get, newKey, post } from '../lib/api.js'
import { serverNow } from '../lib/clock.js'
import { t } from '../lib/i18n.js'
import { Notice, words as rich } from '../lib/notice.js'
import { useHeading } from '../lib/router.js'
import { say } from '../lib/say.js'
import { dayAndTime } from '../lib/time.js'
import { ProblemNotice } from '../book/problem.js'
import { PhoneLink, Shell } from '../book/shell.js'
import { Ticket } from './ticket.js'

const Again = ({ r }) => html`
  <a class="btn" href=${withLang('/', { type: r.appointmentTypeId })}>${t('manage.again')}</a>
`

// Request is the page that the link opens. Each of its API requests uses options. done(appointment) leaves the page.
export function Request({ r, options, done, change }) {
  const [busy, setBusy] = useState(''),
    [problem, setProblem] = useState(null)
  const heading = useHeading('request'),
    keys = useRef({ confirm: newKey(), decline: newKey() })
  const proposed = Boolean(r.wantedStartDate),
    lapsed = r.status === 'open' && Date.parse(r.expiresAt) <= serverNow()
  const act = async what => {
    if (busy) return
    setBusy(what)
    setProblem(null)
    try {
      const answer = await post(
        '/v1/requests/managed/' + what,
        what === 'confirm' ? { slotStartDate: r.slotStartDate } : {},
        { ...options, key: keys.current[what] },
      )
      if (answer.appointment) {
        done(answer.appointment)
        say(t('booked.title'))
      } else change(answer.request)
    } catch (p) {
      const { request } = [409, 410, 412].includes(p.status)
        ? await get('/v1/requests/managed', null, options).catch(() => ({}))
        : {}
      if (request) {
        change(request)
        keys.current = { confirm: newKey(), decline: newKey() }
      }
      setProblem(p)
    }
    setBusy('')
  }
  if (r.status === 'declined' || lapsed) {
    return html`
      <h1 tabindex="-1" ref=${heading}>${t(proposed ? 'request.proposed.title' : 'request.title')}</h1>
      <${Notice}
        kind="warn"
        role="alert"
        text=${(proposed ? 'request.proposed.' : 'request.') + (lapsed ? 'lapsed' : 'declined')}
        params=${{
          phone: html`
            <${PhoneLink} />
          `,
        }}
      >
        <${Again} r=${r} />
      </${Notice}>
    `
  }
  return html`
    <h1 tabindex="-1" ref=${heading}>
      ${t(proposed ? 'request.proposed.title' : r.approval ? 'asked.title.desk' : 'request.title')}
    </h1>
    ${
      problem &&
      !r.obstacle &&
      html`
        <${ProblemNotice} problem=${problem} type=${typeOf(r.appointmentTypeId)} />
      `
    }
    ${
      r.obstacle
        ? html`
            <${Notice}
              kind="warn"
              role="alert"
              text="request.gone"
              params=${{
                phone: html`
                  <${PhoneLink} />
                `,
              }}
            />
          `
        : html`
            <p class="lead">
              ${rich(proposed ? 'request.proposed.lead' : r.approval ? 'request.waits' : 'request.lead', {
                until: dayAndTime(r.expiresAt),
                wanted: dayAndTime(r.wantedStartDate || r.slotStartDate),
              })}
            </p>
          `
    }
    <${Ticket} a=${r} />
    ${
      proposed &&
      !r.obstacle &&
      html`
        <p class="hint">${t('request.proposed.hint')}</p>
      `
    }
    <div class="actions">
      ${
        (proposed || !r.approval) &&
        !r.obstacle &&
        html`
          <button
            type="button"
            class="btn primary big"
            aria-disabled=${busy ? 'true' : undefined}
            onClick=${() => act('confirm')}
          >
            ${t(proposed ? 'request.proposed.do' : 'request.do')}${busy === 'confirm' && '…'}
          </button>
        `
      }
      <button type="button" class="textlink" onClick=${() => act('decline')}>
        ${t(proposed ? 'request.proposed.decline' : 'request.decline')}
      </button>
    </div>
  `
}

function Asked({ asked, to }) {
  const heading = useHeading('asked')
  return html`
    <${Shell} step="booked">
      <h1 tabindex="-1" ref=${heading}>${t(asked.byMail ? 'asked.title' : 'asked.title.desk')}</h1>
      <${Notice}
        kind="info"
        role="status"
        text=${asked.byMail ? 'asked.mail' : 'asked.desk'}
        params=${{
          to,
          until: dayAndTime(asked.expiresAt),
          phone: html`
            <${PhoneLink} />
          `,
        }}
      />
      <${Ticket} a=${asked} />
    </${Shell}>
  `
}

// showAsked replaces the booking page if the booking must be confirmed first.
export function showAsked(root, { asked, to }) {
  render(
    html`
      <${Asked} key="asked" asked=${asked} to=${to} />
    `,
    root,
  )
  say(t(asked.byMail ? 'asked.title' : 'asked.title.desk'))
}
