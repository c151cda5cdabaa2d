// On-demand consultations: who is online, who is waiting, and who is in a consultation with whom. When the presence
// stream sends an event, the page loads the state again. A specialist does not see requests that they have declined.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { get, newKey, post } from '../lib/api.js'
import { typeOf } from '../lib/boot.js'
import { serverNow } from '../lib/clock.js'
import { Dialog } from '../lib/dialog.js'
import { Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { createLive } from '../lib/live.js'
import { t } from '../lib/i18n.js'
import { say } from '../lib/say.js'
import { countdown } from '../lib/time.js'
import { createBeat } from './beat.js'
import { Busy, Office, Select, State, Trouble, useAsk, useNow, useSend, Nothing } from './office.js'

const load = async () => {
  const [s, o, x] = await Promise.all([
    get('/v1/specialists'),
    get('/v1/presence/online'),
    get('/v1/sessions?status=requested&status=active&status=pending_payment&limit=200'),
  ])
  return {
    specialists: s.specialists.filter(p => p.active && p.kind !== 'resource'),
    online: Object.fromEntries(o.specialists.map(p => [p.specialistId, p])),
    sessions: x.sessions,
  }
}
// Who shows the details that the patient gave with the request for a session.
const Who = ({ of: x }) => html`
  ${
    (x.appointmentTypeId || x.patient) &&
    html`
      <p class="line-facts">
        ${
          x.patient?.name &&
          html`
            <b><bdi>${x.patient.name}</bdi></b>
          `
        }
        ${
          x.patient?.phone &&
          html`
            <a class="nowrap" href=${'tel:' + x.patient.phone.replace(/[^\d+]/g, '')}><bdi>${x.patient.phone}</bdi></a>
          `
        }
        ${
          typeOf(x.appointmentTypeId) &&
          html`
            <span>${typeOf(x.appointmentTypeId).name}</span>
          `
        }
      </p>
    `
  }
  ${
    x.reason &&
    html`
      <p><bdi>${x.reason}</bdi></p>
    `
  }
`

const since = at => Math.max(0, (serverNow() - Date.parse(at)) / 1000)

function End({ desk, session, close, done }) {
  const [outcome, setOutcome] = useState('')
  const sending = useSend(desk)
  const submit = async e => {
    e.preventDefault()
    if (
      await sending.send(() => post(`/v1/sessions/${session.id}/end`, { outcome: outcome.trim() }, { key: newKey() }))
    ) {
      done()
      close()
    }
  }
  return html`
    <${Dialog} title=${t('sess.end')} close=${close}>
      <form class="office-form" onSubmit=${submit}>
        <${Field}
          id="outcome"
          label=${t('sess.outcome')}
          hint=${t('sess.outcome.hint')}
          optional
          value=${outcome}
          input=${setOutcome}
          maxlength="200"
          autofocus
        />
        <${Trouble} problem=${sending.problem} />
        <div class="actions">
          <${Busy} busy=${sending.busy}>${t('sess.end')}</${Busy}>
          <button type="button" class="btn" onClick=${() => close()}>${t('office.cancel')}</button>
        </div>
      </form>
    </${Dialog}>
  `
}

export function Page({ desk }) {
  const asked = useAsk(desk, load),
    sending = useSend(desk)
  const [link, setLink] = useState(''),
    [ending, setEnding] = useState(null),
    [choice, setChoice] = useState({})
  const waiting = useRef(0)
  const latest = useRef()
  latest.current = asked
  useNow(1000)
  useEffect(() => {
    let timer = 0
    const soon = () => {
      timer ||= setTimeout(() => {
        timer = 0
        latest.current.again()
      }, 120)
    }
    const live = createLive({
      url: '/v1/presence/stream',
      tell: events => {
        if (events.some(e => ['connected', 'presence', 'session'].includes(e.type))) soon()
      },
      link: setLink,
      poll: () => latest.current.ask(),
    })
    live.start()
    // The stream does not send single heartbeats, so load the age of the last heartbeats every 15 s.
    const ages = setInterval(() => {
      if (!document.hidden) latest.current.again()
    }, 15000)
    return () => {
      live.stop()
      clearInterval(ages)
      clearTimeout(timer)
    }
  }, [])
  const d = asked.data
  const requests = d?.sessions.filter(x => x.status === 'requested' && !x.declined?.includes(desk.own)) || [],
    running = d?.sessions.filter(x => x.status !== 'requested') || []
  useEffect(() => {
    if (requests.length > waiting.current) say(t('sess.new', { n: requests.length }), 'assertive')
    waiting.current = requests.length
  }, [requests.length])
  const mine = desk.own && d?.online[desk.own]
  useEffect(() => {
    if (!desk.own || !d) return
    desk.beat ||= createBeat(desk.own, () => {
      desk.toast('sess.back')
      latest.current.again()
    })
    if (mine?.online) desk.beat.start()
    else desk.beat.check()
  }, [Boolean(mine?.online), Boolean(d)])
  const name = id => d?.specialists.find(p => p.id === id)?.name || id
  const run = async (change, word, params) => {
    if ((await sending.send(change)) && word) desk.toast(word, params)
    asked.again()
  }
  const accept = (x, specialistId) =>
    run(async () => {
      try {
        return await post(`/v1/sessions/${x.id}/accept`, { specialistId }, { key: newKey() })
      } catch (problem) {
        if (problem.status !== 409) throw problem
        const { session } = await get('/v1/sessions/' + x.id)
        if (session.status === 'requested') throw problem
        desk.toast(session.specialistId ? 'sess.first' : 'sess.gone', { name: name(session.specialistId) })
      }
    })
  const decline = x => run(() => post(`/v1/sessions/${x.id}/decline`, {}, { key: newKey() }), 'sess.declined')
  const free =
    d?.specialists.filter(
      p => d.online[p.id]?.online && !d.online[p.id].deactivated && d.online[p.id].load < d.online[p.id].maxSessions,
    ) || []
  const pick = (x, list) => (choice[x.id] && list.some(p => p.id === choice[x.id]) ? choice[x.id] : list[0]?.id)
  const turn = (id, on) =>
    run(async () => {
      await post(`/v1/specialists/${id}/${on ? 'online' : 'offline'}`, {}, { tries: 1 })
      if (id === desk.own && !on) desk.beat?.stop()
    })
  return html`
    <${Office}
      desk=${desk}
      name="sessions"
      lead=${t('sess.lead')}
      ask=${asked}
      tools=${html`
        <p class="live" data-link=${link}>
          <span class="dot" aria-hidden="true"></span>
          ${t('live.' + (link || 'connecting'))}
        </p>
      `}
    >
      ${
        d &&
        html`
          <${Trouble}
            problem=${sending.problem}
            text=${['at_capacity', 'not_online'].includes(sending.problem?.reason) && 'sess.unable'}
          />
          ${
            desk.own &&
            html`
              <section class="plate own">
                <header>
                  <div>
                    <h2>${t(mine?.online ? 'sess.you.on' : 'sess.you.off')}</h2>
                    <p class="muted">${t(mine?.online ? 'sess.you.on.hint' : 'sess.you.off.hint')}</p>
                  </div>
                  <button
                    type="button"
                    role="switch"
                    class="switch"
                    aria-checked=${mine?.online ? 'true' : 'false'}
                    aria-label=${t('sess.switch')}
                    onClick=${() => turn(desk.own, !mine?.online)}
                  >
                    <i aria-hidden="true"></i>
                  </button>
                </header>
              </section>
            `
          }
          <div class="beside even">
            <div class="pile">
              <section class="plate">
                <header>
                  <h2>${t('sess.waiting')}</h2>
                  <span class="badge">${requests.length}</span>
                </header>
                ${
                  requests.length
                    ? html`
                        <ul class="lines inner">
                          ${requests.map(
                            x => html`
                              <li class="line" key=${x.id}>
                                <div class="line-main">
                                  <p class="line-title">
                                    <b>${t('sess.wait', { clock: countdown(since(x.requestedAt)) })}</b>
                                  </p>
                                  <p class="muted">
                                    ${t('sess.lapses', { clock: countdown((Date.parse(x.expiresAt) - serverNow()) / 1000) })}
                                  </p>
                                  <${Who} of=${x} />
                                </div>
                                <div class="line-do">
                                  ${
                                    desk.own
                                      ? html`
                                          <button
                                            type="button"
                                            class="btn primary"
                                            onClick=${() => accept(x, desk.own)}
                                          >
                                            ${t('sess.accept')}
                                          </button>
                                        `
                                      : free.length
                                        ? html`
                                            <label class="sr" for=${'to-' + x.id}>${t('sess.to')}</label>
                                            <${Select}
                                              id=${'to-' + x.id}
                                              value=${pick(x, free)}
                                              input=${id => setChoice({ ...choice, [x.id]: id })}
                                              options=${free.map(p => [p.id, p.name])}
                                            />
                                            <button
                                              type="button"
                                              class="btn primary"
                                              onClick=${() => accept(x, pick(x, free))}
                                            >
                                              ${t('sess.give')}
                                            </button>
                                          `
                                        : html`
                                            <span class="muted">${t('sess.nobody')}</span>
                                          `
                                  }
                                  <button type="button" class="btn" onClick=${() => decline(x)}>
                                    ${t('sess.decline')}
                                  </button>
                                </div>
                              </li>
                            `,
                          )}
                        </ul>
                      `
                    : html`
                        <${Nothing} icon="call">${t('sess.none')}</${Nothing}>
                      `
                }
              </section>
              <section class="plate">
                <header>
                  <h2>${t('sess.running')}</h2>
                  <span class="badge">${running.length}</span>
                </header>
                ${
                  running.length
                    ? html`
                        <ul class="lines inner">
                          ${running.map(x => {
                            const own = desk.reaches(x.specialistId),
                              others = free.filter(p => p.id !== x.specialistId),
                              pending = x.status === 'pending_payment'
                            return html`
                              <li class="line" key=${x.id}>
                                <div class="line-main">
                                  <p class="line-title">
                                    <b><bdi>${name(x.specialistId)}</bdi></b>
                                    ${' '}
                                    <span class="muted">${countdown(since(x.acceptedAt || x.requestedAt))}</span>
                                  </p>
                                  <p class="line-facts">
                                    <${State} kind=${pending ? 'warn' : 'info'} icon=${pending ? 'clock' : 'play'}>
                                      ${t('sess.' + x.status)}
                                    </${State}>
                                  </p>
                                  <${Who} of=${x} />
                                </div>
                                ${
                                  own &&
                                  html`
                                    <div class="line-do">
                                      <button
                                        type="button"
                                        class="btn"
                                        onClick=${() => run(() => post(`/v1/sessions/${x.id}/payment`, { pending: !pending }, { key: newKey() }))}
                                      >
                                        ${t(pending ? 'sess.paid' : 'sess.payment')}
                                      </button>
                                      <button type="button" class="btn" onClick=${() => setEnding(x)}>
                                        ${t('sess.end')}
                                      </button>
                                      ${
                                        others.length > 0 &&
                                        html`
                                          <span class="pairing">
                                            <label class="sr" for=${'re-' + x.id}>${t('sess.reroute.to')}</label>
                                            <${Select}
                                              id=${'re-' + x.id}
                                              value=${pick(x, others)}
                                              input=${id => setChoice({ ...choice, [x.id]: id })}
                                              options=${others.map(p => [p.id, p.name])}
                                            />
                                            <button
                                              type="button"
                                              class="btn"
                                              onClick=${() => {
                                                const to = pick(x, others)
                                                run(
                                                  () =>
                                                    post(
                                                      `/v1/sessions/${x.id}/reroute`,
                                                      { specialistId: to },
                                                      { key: newKey() },
                                                    ),
                                                  'sess.rerouted',
                                                  { name: name(to) },
                                                )
                                              }}
                                            >
                                              ${t('sess.reroute')}
                                            </button>
                                          </span>
                                        `
                                      }
                                    </div>
                                  `
                                }
                              </li>
                            `
                          })}
                        </ul>
                      `
                    : html`
                        <${Nothing} icon="call">${t('sess.none.running')}</${Nothing}>
                      `
                }
              </section>
            </div>
            <section class="plate">
              <h2>${t('sess.people')}</h2>
              <ul class="lines inner">
                ${d.specialists.map(p => {
                  const here = d.online[p.id]
                  return html`
                    <li class="line" key=${p.id}>
                      <div class="line-main">
                        <p class="line-title">
                          <b><bdi>${p.name}</bdi></b>
                        </p>
                        <p class="line-facts">
                          <${State} kind=${here?.online ? 'ok' : ''} icon=${here?.online ? 'check' : 'stop'}>
                            ${t(here?.deactivated ? 'sess.locked' : here?.online ? 'sess.on' : 'sess.off')}
                          </${State}>
                          ${
                            here?.online &&
                            html`
                              <span>${t('sess.load', { n: here.load, most: here.maxSessions })}</span>
                              ${
                                here.lastHeartbeatAt &&
                                html`
                                  <span class="muted">
                                    ${t('sess.beat', { n: Math.round(since(here.lastHeartbeatAt)) })}
                                  </span>
                                `
                              }
                            `
                          }
                        </p>
                        ${
                          here?.online &&
                          html`
                            <span class="loadbar" aria-hidden="true">
                              ${Array.from(
                                { length: Math.min(10, here.maxSessions) },
                                (_, i) => html`
                                  <i key=${i} class=${i < here.load ? 'on' : ''}></i>
                                `,
                              )}
                            </span>
                          `
                        }
                      </div>
                      <div class="line-do">
                        ${
                          desk.reaches(p.id) &&
                          html`
                            <a
                              class="btn quiet"
                              href=${'#online/' + encodeURIComponent(p.id)}
                              aria-label=${t('sess.when.of', { name: p.name })}
                            >
                              <${Icon} name="clock" />
                              ${t('sess.when')}
                            </a>
                          `
                        }${
                          !desk.own &&
                          html`
                            <button
                              type="button"
                              class="btn"
                              aria-label=${t(here?.online ? 'sess.turn.off' : 'sess.turn.on') + ': ' + p.name}
                              onClick=${() => turn(p.id, !here?.online)}
                            >
                              ${t(here?.online ? 'sess.turn.off' : 'sess.turn.on')}
                            </button>
                          `
                        }
                      </div>
                    </li>
                  `
                })}
              </ul>
            </section>
          </div>
        `
      }
      ${
        ending &&
        html`
          <${End}
            desk=${desk}
            session=${ending}
            close=${() => setEnding(null)}
            done=${() => {
              asked.again()
              desk.toast('sess.ended')
            }}
          />
        `
      }
    </${Office}>
  `
}
