// The page for a specialist who is away. One form finds new times for all patients. One button moves them, asks them or
// lists them for a call. The server holds the proposed times until the patients have answered. Afterwards, the page
// shows the patients' answers, and prints the list of patients to call.
//
//   #away/new/<specialist>/<date>   the form
//   #away/<id>                      the answers
//   #away                           all absences that are not over
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { del, get, newKey, post } from '../lib/api.js'
import { boot } from '../lib/boot.js'
import { serverNow } from '../lib/clock.js'
import { Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { DateInput, TimeInput } from '../lib/typed.js'
import { t } from '../lib/i18n.js'
import { Notice } from '../lib/notice.js'
import { useStore } from '../lib/store.js'
import { addDays, dateOf, dayAndTime, time, zone } from '../lib/time.js'
import { dayIn } from './day.js'
import { useChange } from './move.js'
import { Check, Office, Select, State, Trouble, useAsk, useSend, Nothing } from './office.js'
import { offer } from './undo.js'
import { placeName } from './where.js'
import { slotOf, startOf } from './when.js'
import { saySpan, specialistName, typeName, who } from './words.js'

const go = (...parts) => {
  location.hash = ['away', ...parts].map(encodeURIComponent).join('/')
}

export function Page({ desk, rest }) {
  if (rest[0] === 'new')
    return html`
      <${Form} key=${rest.join('/')} desk=${desk} specialistId=${rest[1]} date=${rest[2]} />
    `
  return rest[0]
    ? html`
        <${Answers} key=${rest[0]} desk=${desk} id=${rest[0]} />
      `
    : html`
        <${List} desk=${desk} />
      `
}

function List({ desk }) {
  const s = useStore(desk.store),
    ask = useAsk(desk, () => get('/v1/absences'))
  const all = ask.data?.absences || []
  return html`
    <${Office}
      desk=${desk}
      name="away"
      lead=${t('away.lead')}
      ask=${ask}
      tools=${html`
        <button type="button" class="btn primary" onClick=${() => go('new')}>${t('away.new')}</button>
      `}
    >
      ${
        all.length
          ? html`
              <ul class="lines">
                ${all.map(
                  x => html`
                    <li class="line" key=${x.id}>
                      <div class="line-main">
                        <a class="line-title" href=${'#away/' + x.id}>
                          <b><bdi>${specialistName(s, x.specialistId)}</bdi></b>
                        </a>
                        <span class="line-facts">
                          ${saySpan(Date.parse(x.start), Date.parse(x.end))}${
                            x.reason &&
                            html`
                              <bdi>${x.reason}</bdi>
                            `
                          }
                        </span>
                      </div>
                      <${Counts} x=${x} />
                    </li>
                  `,
                )}
              </ul>
            `
          : html`
              <${Nothing} icon="away">${t('away.none')}</${Nothing}>
            `
      }
    </${Office}>
  `
}

const Counts = ({ x }) => html`
  <p class="line-facts" role="status">
    <span>${t('away.answered', { n: x.answered, of: x.appointments.length })}</span>
    ${
      x.toCall > 0 &&
      html`
        <${State} kind="warn" icon="phone">${t('away.tocall', { n: x.toCall })}</${State}>
      `
    }
  </p>
`

// beginsAt returns the start of an absence on a date: the current time for today, or 00:00 on a later day.
const beginsAt = date => {
  const now = serverNow()
  return date > dateOf(now) ? { date, time: '00:00' } : slotOf(Math.floor(now / 3e5) * 3e5)
}
const timeKey = x => x.specialistId + ' ' + x.slotStartDate
// meets reports whether two chosen times of the same specialist overlap.
const meets = (a, b) =>
  a.specialistId === b.specialistId && a.slotStartDate < b.slotEndDate && b.slotStartDate < a.slotEndDate

function Form({ desk, specialistId = '', date }) {
  const s = useStore(desk.store),
    people = s.specialists.filter(x => x.active && x.kind !== 'resource')
  const today = dateOf(serverNow()),
    day = date >= today ? date : today
  const [draft, setDraft] = useState(() => ({
    specialistId: specialistId || people[0]?.id || '',
    reason: t('away.sick'),
    from: beginsAt(day),
    until: { date: day, time: '23:59' },
    same: false,
  }))
  const [plan, setPlan] = useState(null),
    [failed, setFailed] = useState(null),
    [rows, setRows] = useState({}),
    asked = useRef(0)
  const set = change => setDraft(d => ({ ...d, ...change }))
  const start = startOf(draft.from),
    end = draft.until.time === '23:59' ? dayIn(draft.until.date || today, zone).end : startOf(draft.until)
  const wrong = !start || !end || end <= start
  const away = wrong
    ? null
    : {
        specialistId: draft.specialistId,
        start: new Date(start).toISOString(),
        end: new Date(end).toISOString(),
      }
  const wish = away ? JSON.stringify({ ...away, sameSpecialist: draft.same }) : ''
  useEffect(() => {
    const mine = ++asked.current
    setPlan(null)
    if (!wish) return
    const timer = setTimeout(
      () =>
        desk
          .call(() => post('/v1/absences/plan', JSON.parse(wish), { tries: 3 }))
          .then(
            x => {
              if (mine !== asked.current) return
              setPlan(x)
              setFailed(null)
              setRows(
                Object.fromEntries(
                  x.appointments.map(r => [
                    r.appointment.id,
                    {
                      by: r.by === 'ask' && !channelOf(r.appointment) ? 'call' : r.by,
                      at: r.times[0] ? timeKey(r.times[0]) : '',
                    },
                  ]),
                ),
              )
            },
            p => {
              if (mine === asked.current) setFailed(p)
            },
          ),
      150,
    )
    return () => clearTimeout(timer)
  }, [wish])
  const list = (plan?.appointments || []).map(r => {
    const chosen = rows[r.appointment.id] || { by: '', at: '' }
    return { ...r, ...chosen, id: r.appointment.id, time: r.times.find(x => timeKey(x) === chosen.at) }
  })
  const clash = r => r.by && r.time && list.find(x => x !== r && x.by && x.time && meets(x.time, r.time))
  const put = (r, change) => setRows(all => ({ ...all, [r.id]: { by: r.by, at: r.at, ...change } }))
  const n = by => list.filter(r => r.by === by).length
  const change = useChange(async (body, key) => {
    const made = await desk.call(() => post('/v1/absences', body, { key }))
    const bad = made.results.filter(x => x.error)
    offer(
      desk,
      bad.length ? 'away.done.some' : 'away.done',
      { who: specialistName(s, draft.specialistId), n: bad.length },
      () =>
        desk
          .call(() => del('/v1/absences/' + made.id, undefined, { key: newKey() }))
          .then(({ kept }) => {
            if (location.hash.startsWith('#away/' + made.id)) go()
            if (kept.length) throw Object.assign(new Error(), { code: 'slot_taken' })
          }),
    )
    go(made.id)
  })
  const submit = e => {
    e.preventDefault()
    if (!away || !plan) return
    const choices = list
      .filter(r => r.by)
      .map(r => ({
        appointmentId: r.id,
        version: r.appointment.version,
        by: r.by,
        ...(r.time && { specialistId: r.time.specialistId, slotStartDate: r.time.slotStartDate }),
      }))
    change.go({ ...away, reason: draft.reason.trim(), choices })
  }
  const when = (key, part) => e => set({ [key]: { ...draft[key], [part]: e.currentTarget.value } })
  const parts = [
    n('move') && t('away.do.move', { n: n('move') }),
    n('ask') && t('away.do.ask', { n: n('ask') }),
    n('call') && t('away.do.call', { n: n('call') }),
  ].filter(Boolean)
  return html`
    <${Office} desk=${desk} name="away" lead=${t('away.form.lead')}>
      <form class="stack" onSubmit=${submit} novalidate>
        <div class="away-form">
          <${Field} id="away-who" label=${t('away.who')}>
            <${Select}
              id="away-who"
              value=${draft.specialistId}
              input=${specialistId => set({ specialistId })}
              options=${people.map(x => [x.id, x.name])}
            />
          </${Field}>
          <${Field}
            id="away-reason"
            label=${t('block.reason')}
            value=${draft.reason}
            input=${reason => set({ reason })}
            maxlength="500"
            autofocus
          />
          <fieldset class="away-when">
            <legend>${t('block.from')}</legend>
            <${DateInput} aria-label=${t('away.from.day')} value=${draft.from.date} onInput=${when('from', 'date')} />
            <${TimeInput} aria-label=${t('away.from.time')} value=${draft.from.time} onInput=${when('from', 'time')} />
          </fieldset>
          <fieldset class="away-when">
            <legend>${t('block.to')}</legend>
            <${DateInput}
              id="away-until"
              aria-label=${t('away.until.day')}
              value=${draft.until.date}
              onInput=${when('until', 'date')}
            />
            <${TimeInput}
              aria-label=${t('away.until.time')}
              value=${draft.until.time}
              onInput=${when('until', 'time')}
            />
          </fieldset>
        </div>
        <${Check} id="away-same" checked=${draft.same} input=${same => set({ same })}>${t('away.same')}</${Check}>
        ${
          wrong &&
          html`
            <p class="error" role="alert">${t('block.wrong')}</p>
          `
        }
        <${Trouble} problem=${failed} />
        <p class="muted" role="status">
          ${plan ? (list.length ? t('way.n', { n: list.length }) : t('way.none')) : wrong || failed ? '' : t('office.loading')}
        </p>
        ${
          list.length > 0 &&
          html`
            <div class="away-scroll" tabindex="0" role="region" aria-label=${t('way.title')}>
              <table class="grid-table away-rows">
                <thead>
                  <tr>
                    <th scope="col">${t('away.col.was')}</th>
                    <th scope="col">${t('away.col.who')}</th>
                    <th scope="col">${t('away.col.time')}</th>
                    <th scope="col">${t('away.col.by')}</th>
                  </tr>
                </thead>
                <tbody>
                  ${list.map(
                    r => html`
                      <${Row} key=${r.id} desk=${desk} s=${s} r=${r} clash=${clash(r)} put=${x => put(r, x)} />
                    `,
                  )}
                </tbody>
              </table>
            </div>
          `
        }
        <${Trouble} problem=${change.problem} />
        <div class="actions away-last">
          <button type="submit" class="btn primary" aria-disabled=${!plan || change.busy ? 'true' : undefined}>
            ${change.busy ? t('office.saving') : parts.length ? parts.join(' · ') : t('away.do.block')}
          </button>
          <a class="btn" href=${'#day/' + day}>${t('cancel')}</a>
        </div>
        ${
          !boot.mail &&
          !boot.sms &&
          html`
            <${Notice} text="away.nomail" />
          `
        }
      </form>
    </${Office}>
  `
}

// said returns the text for a new time. It names the day, the specialist and the place only if they differ from those
// of the appointment.
const said = (s, r, x) =>
  [
    dateOf(x.slotStartDate) === dateOf(r.appointment.slotStartDate)
      ? time(x.slotStartDate)
      : dayAndTime(x.slotStartDate),
    x.specialistId !== r.appointment.specialistId && specialistName(s, x.specialistId),
    x.place !== r.appointment.place && placeName(x.place),
  ]
    .filter(Boolean)
    .join(', ')

// channelOf returns the channel by which a message reaches a patient, or '' if there is none.
const channelOf = a => (boot.mail && a.patient.email ? 'email' : boot.sms && a.intake?.sms ? 'sms' : '')

const Phone = ({ desk, a }) =>
  a.patient.phone &&
  desk.prefs.get().names &&
  html`
    <a href=${'tel:' + a.patient.phone.replace(/[^\d+]/g, '')}>${a.patient.phone}</a>
  `

function Patient({ desk, s, a }) {
  return html`
    <b><bdi>${who(desk, a)}</bdi></b>
    <small>
      <bdi>${typeName(s, a.appointmentTypeId)}</bdi>
      ${' '}
      <${Phone} desk=${desk} a=${a} />
    </small>
  `
}

function Row({ desk, s, r, clash, put }) {
  const a = r.appointment,
    name = who(desk, a),
    channel = channelOf(a),
    options = [
      r.time && ['move', t('away.by.move')],
      channel && ['ask', t('away.by.ask.' + channel)],
      ['call', t('away.by.call')],
      ['', t('away.by.leave')],
    ].filter(Boolean)
  const choose = at => put({ at, ...(!at && r.by === 'move' && { by: 'call' }) })
  return html`
    <tr>
      <th scope="row">${dayAndTime(a.slotStartDate)}</th>
      <td><${Patient} desk=${desk} s=${s} a=${a} /></td>
      <td>
        <select
          aria-label=${t('away.time.of', { who: name })}
          aria-invalid=${clash ? 'true' : undefined}
          value=${r.at}
          onChange=${e => choose(e.currentTarget.value)}
        >
          ${r.times.map(
            x => html`
              <option key=${timeKey(x)} value=${timeKey(x)} selected=${timeKey(x) === r.at}>${said(s, r, x)}</option>
            `,
          )}
          <option value="" selected=${!r.at}>${t('away.time.none')}</option>
        </select>
        ${
          clash &&
          html`
            <small class="error" role="alert">${t('away.clash', { who: who(desk, clash.appointment) })}</small>
          `
        }
      </td>
      <td>
        <select
          aria-label=${t('away.by.of', { who: name })}
          value=${r.by}
          onChange=${e => put({ by: e.currentTarget.value })}
        >
          ${options.map(
            ([key, label]) => html`
              <option key=${key} value=${key} selected=${key === r.by}>${label}</option>
            `,
          )}
        </select>
      </td>
    </tr>
  `
}

const kinds = {
  moved: ['ok', 'check'],
  accepted: ['ok', 'check'],
  rebooked: ['ok', 'check'],
  cancelled: ['', 'close'],
  asked: ['info', 'clock'],
  declined: ['warn', 'phone'],
  expired: ['warn', 'phone'],
  call: ['warn', 'phone'],
}
const toCall = x => ['declined', 'expired', 'call'].includes(x.state)

function Answers({ desk, id }) {
  const s = useStore(desk.store),
    ask = useAsk(desk, () => get('/v1/absences/' + encodeURIComponent(id)).then(x => x.absence)),
    sending = useSend(desk)
  // Refresh the page regularly, because patients answer while it is open.
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) ask.again()
    }, 10000)
    return () => clearInterval(timer)
  }, [])
  const dialog = Boolean(s.dialog)
  useEffect(() => {
    if (!dialog && ask.data) ask.again()
  }, [dialog])
  const x = ask.data
  const open = async a => {
    const date = dateOf(a.slotStartDate)
    await desk.load({ from: date, to: addDays(date, 1), specialistId: a.specialistId })
    desk.open('appointment', { id: a.id })
  }
  const accept = async a => {
    await sending.send(() => post(`/v1/appointments/${a.id}/proposal/accept`, {}, { key: newKey() }))
    ask.again()
  }
  return html`
    <${Office}
      desk=${desk}
      name="away"
      ask=${ask}
      tools=${html`
        <button type="button" class="btn" onClick=${() => print()}>
          <${Icon} name="print" />
          ${t('away.print')}
        </button>
      `}
    >
      ${
        x &&
        html`
          <div class="away-sheet">
            <h2><bdi>${specialistName(s, x.specialistId)}</bdi></h2>
            <p>
              ${saySpan(Date.parse(x.start), Date.parse(x.end))}${
                x.reason &&
                html`
                  ${' · '}
                  <bdi>${x.reason}</bdi>
                `
              }
            </p>
            <${Counts} x=${x} />
            <${Trouble} problem=${sending.problem} />
            <div class="away-scroll" tabindex="0" role="region" aria-label=${t('way.title')}>
              <table class="grid-table away-rows">
                <thead>
                  <tr>
                    <th scope="col">${t('away.col.was')}</th>
                    <th scope="col">${t('away.col.who')}</th>
                    <th scope="col">${t('away.col.state')}</th>
                    <th scope="col">${t('away.col.time')}</th>
                    <th scope="col" class="away-do">${t('away.col.do')}</th>
                  </tr>
                </thead>
                <tbody>
                  ${x.appointments.map(r => {
                    const a = r.appointment,
                      held = r.proposal?.status === 'open' && r.proposal,
                      [kind, icon] = kinds[r.state],
                      now = held || (['moved', 'accepted', 'rebooked'].includes(r.state) && a)
                    return html`
                      <tr key=${a.id} class=${toCall(r) ? 'to-call' : 'answered'} data-state=${r.state}>
                        <th scope="row">${dayAndTime(r.slotStartDate)}</th>
                        <td><${Patient} desk=${desk} s=${s} a=${a} /></td>
                        <td>
                          <${State} kind=${kind} icon=${icon}>${t('away.state.' + r.state)}</${State}>
                        </td>
                        <td>
                          ${
                            now &&
                            html`
                              ${dayAndTime(now.slotStartDate)}
                              <small>
                                <bdi>${specialistName(s, now.specialistId)}</bdi>
                                ${held && `${' · '}${t('away.held', { until: dayAndTime(held.expiresAt) })}`}
                              </small>
                            `
                          }
                        </td>
                        <td class="away-do">
                          ${
                            held &&
                            html`
                              <button
                                type="button"
                                class="btn"
                                aria-label=${`${t('away.accept')}: ${who(desk, a)}`}
                                onClick=${() => accept(a)}
                              >
                                ${t('away.accept')}
                              </button>
                            `
                          }
                          ${
                            a.status === 'confirmed' &&
                            html`
                              <button
                                type="button"
                                class="btn quiet"
                                aria-label=${`${t('away.open')}: ${who(desk, a)}`}
                                onClick=${() => open(a).catch(() => {})}
                              >
                                ${t('away.open')}
                              </button>
                            `
                          }
                        </td>
                      </tr>
                    `
                  })}
                </tbody>
              </table>
            </div>
          </div>
        `
      }
    </${Office}>
  `
}
