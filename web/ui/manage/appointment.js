// One appointment, opened by its link /manage#<token>. Browsers send the fragment to no server, so the token is in no
// log. The page sends the token to the API in a header. Opening the link changes nothing.
import { html, render, useEffect, useLayoutEffect, useState } from '../lib/html.js'
import { boot, embedded, nameOf, sheet, typeOf, withLang } from '../lib/boot.js'
import { need, t } from '../lib/i18n.js'
import { get, post } from '../lib/api.js'
import { serverNow } from '../lib/clock.js'
import { recall } from '../lib/store.js'
import { Renewed, renewed } from '../lib/renew.js'
import { useHeading } from '../lib/router.js'
import { Icon } from '../lib/icons.js'
import { Notice, words as rich } from '../lib/notice.js'
import { say } from '../lib/say.js'
import { range, write } from '../lib/time.js'
import { ProblemNotice } from '../book/problem.js'
import { Name, PhoneLink, Shell } from '../book/shell.js'
import { Cancel } from './cancel.js'
import { CopyLink } from './copylink.js'
import { Leaf, Ticket, Zone } from './ticket.js'

// The page loads the code for requests, for the waiting list, for the parts below the appointment and for arrivals when
// it needs it.
const requests = async () => (await Promise.all([import('../book/request.js'), need('request')]))[0]
const after = async () => (await Promise.all([import('../book/after.js'), need('after'), sheet('some.css')]))[0]
const waitlist = async () => (await Promise.all([import('../book/waiting.js'), need('waiting')]))[0]
const arrivals = async () => (await Promise.all([import('../manage/arrive.js'), need('arrive')]))[0]

// "managed" is the server's name for the appointment that a token opens. The fragment may have an id before the
// token, as <id>~<token>.
export const linkOf = hash => {
  const text = decodeURIComponent(hash.replace(/^#/, '')),
    at = text.indexOf('~')
  return text ? { id: at > 0 ? text.slice(0, at) : 'managed', token: text.slice(at + 1) } : null
}
// atDoor: the patient has scanned the QR code at the clinic's door, which contains no link to an appointment.
const atDoor = location.pathname === '/arrived'
const auth = link => ({ headers: { 'Holdfast-Manage': link.token } })
const path = (link, rest = '') => `/v1/appointments/${encodeURIComponent(link.id)}${rest}`
// tooLate reports that the patient cannot change the appointment: it is too late, or others of its visit are booked.
const tooLate = problem => /^(cut|part)_/.test(problem.reason)
const dead = boot.mail ? 'manage.dead' : 'manage.dead.nomail'
const isDead = problem => [400, 401, 403, 404, 410].includes(problem.status) && !tooLate(problem)
const about = a => ({
  date: write('longDay', a.slotStartDate),
  range: range(a.slotStartDate, a.slotEndDate),
  who: nameOf(a.specialistId),
})

// The mail server accepts an email some seconds after a booking or a change, so useSent asks for its state again.
function useSent(a, link, fresh, known) {
  const [sent, setSent] = useState(known)
  useEffect(() => {
    if (known || !fresh) return setSent(known)
    let timer,
      waits = [2, 5, 20]
    const ask = async () => {
      const {
        emailSent: done,
        appointment: { patient },
      } = await get(path(link), null, auth(link))
      if (done) setSent(patient.email)
      else if (patient.email) later()
    }
    const later = () => {
      if (waits.length) timer = setTimeout(() => ask().catch(() => {}), waits.shift() * 1000)
    }
    later()
    return () => clearTimeout(timer)
  }, [a.slotStartDate, link.token, fresh])
  return sent
}

function Overview({
  arrive,
  next,
  proposed,
  list,
  visit,
  series,
  below,
  a,
  type,
  link,
  url,
  booked,
  moved,
  late,
  over,
  go,
  mailed,
}) {
  const heading = useHeading('overview')
  const sent = useSent(a, link, (booked || moved) && a.status !== 'cancelled', mailed)
  const cancelled = a.status === 'cancelled'
  const address = boot.places.find(x => x.id === a.place)?.address || boot.clinic.contact.address
  const fresh = booked && !cancelled,
    ended = Date.parse(a.slotEndDate) <= serverNow()
  const title = fresh ? 'booked.title' : cancelled ? 'manage.status.cancelled' : 'manage.title'
  const ics = path(link, '/ics?token=' + encodeURIComponent(link.token))
  return html`
    ${
      !fresh &&
      html`
        <h1 tabindex="-1" ref=${heading}>${t(title)}</h1>
      `
    }
    ${
      moved &&
      !cancelled &&
      html`
        <${Notice} kind="ok" role="status" text=${moved} />
      `
    }
    ${
      cancelled &&
      html`
        <${Notice} kind="ok" role="status" text="manage.cancelled">
          <a class="btn" href=${withLang('/', { type: a.appointmentTypeId })}>${t('manage.again')}</a>
        </${Notice}>
      `
    }
    ${!cancelled && [arrive, proposed]}
    <${Ticket} a=${a}>
      ${
        fresh &&
        html`
          <div class="ticket-title">
            <span class="stamp" aria-hidden="true"><${Icon} name="check" /></span>
            <h1 tabindex="-1" ref=${heading}>${t(title)}</h1>
          </div>
          <div class="ticket-date">
            <${Leaf} at=${a.slotStartDate} />
            <p class="ticket-said">
              ${rich('booked.when', {
                ...about(a),
                range: html`
                  <span class="nowrap">${about(a).range}</span>
                `,
                who: html`
                  <${Name} of=${about(a).who} />
                `,
              })}
              <${Zone} a=${a} />
            </p>
          </div>
        `
      }
    </${Ticket}>
    ${
      !cancelled &&
      html`
        ${
          visit &&
          html`
            <${below.People} visit=${visit} />
          `
        }
        ${
          series &&
          html`
            <${below.Series} list=${series} />
          `
        }
        ${
          !ended &&
          html`
            <div class="row">
              <a class="btn primary" href=${ics} download="appointment.ics">
                <${Icon} name="calendar" />
                ${t('manage.ics')}
              </a>
              ${
                address &&
                !type?.remote &&
                !a.videoLink &&
                html`
                  <a
                    class="btn"
                    href=${'https://www.openstreetmap.org/search?query=' + encodeURIComponent(address)}
                    target="_blank"
                    rel="noopener noreferrer"
                  >
                    <${Icon} name="pin" />
                    ${t('manage.directions')}
                  </a>
                `
              }
              ${
                !over &&
                below &&
                html`
                  <${below.Calendars} a=${a} address=${address} />
                `
              }
            </div>
          `
        }
        ${
          embedded
            ? html`
                <p>
                  <a class="btn" href=${url} target="_blank" rel="noopener">
                    <${Icon} name="change" />
                    ${t('booked.open')}
                  </a>
                </p>
              `
            : over
              ? html`
                  <${Notice}
                    text=${ended ? 'manage.past' : 'manage.late'}
                    params=${{
                      phone: html`
                        <${PhoneLink} />
                      `,
                    }}
                  >
                    <a class="btn" href=${withLang('/', { type: a.appointmentTypeId, specialist: a.specialistId })}>
                      ${t('manage.again')}
                    </a>
                  </${Notice}>
                `
              : html`
                  ${
                    (late || type?.approval) &&
                    html`
                      <${Notice}
                        text="manage.late"
                        params=${{
                          phone: html`
                            <${PhoneLink} />
                          `,
                        }}
                      />
                    `
                  }
                  ${
                    !late &&
                    html`
                      <div class="row">
                        ${
                          type &&
                          !type.approval &&
                          html`
                            <button type="button" class="btn" onClick=${() => go('change')}>
                              <${Icon} name="change" />
                              ${t('manage.change')}
                            </button>
                          `
                        }
                        <button type="button" class="btn danger" onClick=${() => go('cancel')}>
                          <${Icon} name="close" />
                          ${t('manage.cancel')}
                        </button>
                      </div>
                      ${
                        list &&
                        type &&
                        !a.visitId &&
                        html`
                          <${list.Sooner} a=${a} path=${path(link, '/waitlist')} options=${auth(link)} />
                        `
                      }
                    `
                  }
                `
        }
        ${
          sent &&
          html`
            <p class="muted sent" role="status">${t('booked.sent', { to: sent })}</p>
          `
        }
        ${
          !over &&
          html`
            <${CopyLink} url=${url} changes=${!late} />
          `
        }
      `
    }
    ${next}
  `
}

export function Manage({ link: first, appointment, url: given }) {
  const [link, setLink] = useState(first)
  const [a, setA] = useState(appointment || null)
  const [url, setUrl] = useState(given || withLang('/manage') + location.hash)
  const [view, setView] = useState(history.state?.view || 'overview')
  const [moved, setMoved] = useState('')
  const [mailed, setMailed] = useState('')
  const [proposal, setProposal] = useState(null)
  const [visit, setVisit] = useState(null)
  const [series, setSeries] = useState(null)
  const [below, setBelow] = useState(null)
  const [problem, setProblem] = useState(null)
  const [asked, setAsked] = useState(null),
    [waiting, setWaiting] = useState(null),
    [list, setList] = useState(null),
    [arrival, setArrival] = useState(null)
  const [sign, setSign] = useState(''),
    [news, setNews] = useState(!appointment && renewed)
  const booked = a && !moved && (waiting || recall('booked')?.id === a.id)

  const load = async () => {
    setProblem(null)
    try {
      const {
        appointment,
        emailSent,
        names,
        proposal,
        visit,
        visitPeople: n,
        series,
      } = await get(path(link), null, auth(link))
      if (n || proposal || series) setBelow(await after())
      setSeries(series)
      setProposal(proposal || null)
      setVisit(n ? { list: visit, n } : null)
      boot.names = names
      setMailed(emailSent ? appointment.patient.email : '')
      setA(appointment)
    } catch (p) {
      // Until a request is confirmed, its link opens the request.
      if (p.status === 401) {
        const { request } = await get('/v1/requests/managed', null, auth(link)).catch(() => ({}))
        if (request) return setAsked({ ...(await requests()), r: request })
        const entry = await get('/v1/waitlist/managed', null, auth(link)).catch(() => null)
        if (entry) {
          setList(await waitlist())
          return setWaiting(entry)
        }
      }
      setProblem(p)
    }
  }
  useEffect(() => {
    if (link && (!a || visit)) load()
  }, [link])
  useEffect(() => {
    if (a) after().then(setBelow, () => {})
  }, [Boolean(a)])
  useEffect(() => {
    if (boot.arrivalMinutes || atDoor) arrivals().then(setArrival, () => {})
  }, [])
  useEffect(() => {
    if (boot.waitlist) waitlist().then(setList, () => {})
  }, [])
  // This effect runs before the page is shown, so that a patient who goes back at once is heard.
  useLayoutEffect(() => {
    // If the patient goes back to a history entry of the booking page, reload the page to show it.
    const back = e =>
      ['what', 'when', 'details'].includes(e.state?.step) ? location.reload() : setView(e.state?.view || 'overview')
    const hash = () => {
      const now = linkOf(location.hash)
      if (now?.token !== link?.token) location.reload()
    }
    addEventListener('popstate', back)
    addEventListener('hashchange', hash)
    return () => {
      removeEventListener('popstate', back)
      removeEventListener('hashchange', hash)
    }
  }, [link])

  const go = to => {
    setProblem(null)
    setNews(false)
    if (!below) after().then(setBelow, () => {})
    history.pushState({ view: to }, '')
    setView(to)
  }
  const home = () => {
    history.replaceState({ view: 'overview' }, '', embedded ? location.href : url)
    setView('overview')
  }
  const fail = p => {
    setProblem(p)
    if (p.code === 'version_mismatch' || p.reason === 'cancelled')
      get(path(link), null, auth(link)).then(
        x => setA(x.appointment),
        () => {},
      )
  }
  const change = async next => {
    if (next) setA(next)
    else await load() // the visit of a link whose own appointment is cancelled
    setProposal(null)
    // If the patient accepts an offer and already had an appointment, the offer has moved that appointment.
    setMoved(a || waiting.waiting.appointmentId ? 'manage.changed' : '')
    setMailed('')
    setSign('')
    if (next?.manageUrl) {
      // The old link no longer works, so remove it from the address bar.
      const hash = new URL(next.manageUrl, location.href).hash
      setLink(linkOf(hash))
      setUrl(withLang('/manage') + hash)
      if (!embedded) history.replaceState({ view: 'overview' }, '', withLang('/manage') + hash)
    }
    setView('overview')
  }

  if (asked && !a)
    return html`
      <${Shell} step="link">
        <${asked.Request} r=${asked.r} options=${auth(link)} done=${setA} change=${r => setAsked({ ...asked, r })} />
      </${Shell}>
    `
  if (waiting && !a)
    return html`
      <${Shell} step="link"><${list.Waiting} first=${waiting} options=${auth(link)} done=${change} /></${Shell}>
    `
  if (atDoor && !link)
    return html`
      <${Shell} step="link">
        ${
          arrival &&
          html`
            <${arrival.Door} />
          `
        }
      </${Shell}>
    `
  const lost = !link || (problem && isDead(problem) && !a)
  if (lost || !a) {
    return html`
      <${Shell} step="link">
        <h1 tabindex="-1">${t('manage.title')}</h1>
        ${
          lost
            ? html`
                <${Notice}
                  kind="danger"
                  role="alert"
                  text=${dead}
                  params=${{
                    phone: html`
                      <${PhoneLink} />
                    `,
                  }}
                >
                  <a class="btn" href=${withLang('/')}>${t('manage.again')}</a>
                </${Notice}>
              `
            : problem
              ? html`
                  <${ProblemNotice} problem=${problem} />
                  <p><button type="button" class="btn" onClick=${load}>${t('manage.retry')}</button></p>
                `
              : html`
                  <p class="lead" role="status">${t('manage.loading')}…</p>
                `
        }
      </${Shell}>
    `
  }
  const shown = visit ? below.joined(a, visit) : a
  const startsIn = Date.parse(shown.slotStartDate) - serverNow()
  const over = startsIn < 0
  // If the specialist is away, the clinic's cut-off does not apply.
  const cutOff = proposal ? 0 : boot.settings.changeCutoffHours || 0,
    late = startsIn < cutOff * 36e5 || /in_progress|completed|no_show/.test(shown.attendance)
  const open = shown.status === 'confirmed' && !late && !over,
    known = visit ? below.whole(visit) : typeOf(a.appointmentTypeId)
  const send = (what, body, key) =>
    (visit ? below.change : post)(path(link, (visit ? '/visit' : '') + what), body, { ...auth(link), key })
  return html`
    <${Shell} step=${view} link=${view === 'change' ? sign : ''}>
      ${
        news &&
        html`
          <${Renewed} />
        `
      }
      ${
        problem &&
        html`
          <div class="gap">
            <${ProblemNotice}
              problem=${problem}
              type=${known}
              text=${tooLate(problem) ? 'manage.late' : isDead(problem) && dead}
            />
          </div>
        `
      }
      ${
        view === 'cancel' && open
          ? html`
              <${Cancel}
                a=${shown}
                visit=${visit}
                below=${below}
                send=${send}
                back=${() => history.back()}
                fail=${fail}
                done=${async next => {
                  if (visit) await load().then(() => setMoved('after.visit.gone'))
                  else setA(next)
                  setProblem(null)
                  home()
                }}
              />
            `
          : view === 'change' && open && known && below
            ? html`
                <${below.Change}
                  a=${shown}
                  type=${known}
                  token=${link.token}
                  Places=${!a.visitId && !known.remote && below.Places}
                  back=${() => history.back()}
                  fail=${fail}
                  done=${change}
                  sign=${setSign}
                  send=${(body, key) => send('/reschedule', body, key)}
                />
              `
            : html`
                <${Overview}
                  arrive=${
                    arrival &&
                    !embedded &&
                    html`
                      <${arrival.Arrive}
                        a=${a}
                        visit=${visit}
                        path=${path(link, '/arrive')}
                        options=${auth(link)}
                        read=${async () => {
                          const { appointment: now } = await get(path(link), null, auth(link))
                          // an answer that is older than this page's own change must not replace it
                          setA(was => (now.version > was.version ? now : was))
                        }}
                        done=${setA}
                        fail=${fail}
                      />
                    `
                  }
                  next=${
                    below &&
                    !embedded &&
                    html`
                      <${below.Recall}
                        a=${a}
                        started=${over}
                        path=${path(link, '/recall')}
                        options=${auth(link)}
                        done=${setA}
                        fail=${fail}
                      />
                    `
                  }
                  proposed=${
                    proposal &&
                    below &&
                    html`
                      <${below.Proposed}
                        send=${(what, key) => post(path(link, '/proposal/' + what), {}, { ...auth(link), key })}
                        proposal=${proposal}
                        set=${setProposal}
                        done=${change}
                        fail=${fail}
                      />
                    `
                  }
                  list=${list}
                  visit=${visit}
                  series=${series}
                  below=${below}
                  a=${shown}
                  type=${known}
                  link=${link}
                  url=${url}
                  booked=${booked}
                  moved=${moved}
                  late=${late}
                  over=${over}
                  go=${go}
                  mailed=${mailed}
                />
              `
      }
    </${Shell}>
  `
}

// showBooked shows this view on the booking page, so that a confirmed booking does not wait for a page load.
export function showBooked(root, { appointment, url }) {
  const hash = url && new URL(url, location.href).hash
  render(
    html`
      <${Manage} key="booked" link=${linkOf(hash || '')} appointment=${appointment} url=${url} />
    `,
    root,
  )
  say(t('booked.title'))
}
