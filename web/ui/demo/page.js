// The demo in one window: two patients' phones, the desk, and a race for one slot. Each frame has its own storage key,
// so the two phones are two clients although they share one browser.
import { html, render, useEffect, useState } from '../lib/html.js'
import '../lib/deskicons.js'
import { boot } from '../lib/boot.js'
import { Problem, get, post } from '../lib/api.js'
import { random } from '../lib/client.js'
import { lang, ready as words, t } from '../lib/i18n.js'
import { Language } from '../lib/language.js'
import { loadTypeface } from '../lib/typeface.js'
import { Icon } from '../lib/icons.js'
import { Notice } from '../lib/notice.js'
import { say } from '../lib/say.js'
import { Cable } from './cable.js'
import { Cluster } from './cluster.js'
import { follow, followPhones, seenDay } from './follow.js'
import { addDays, dateOf, dayAndTime } from '../lib/time.js'

const racers = 50
const raced = () => boot.appointmentTypes.find(x => x.capacity === 1 && x.specialists.length)
const withLang = (path, params) => path + '?' + new URLSearchParams({ ...params, lang })

// plain removes direction marks from a name. The texts of a language may contain them.
const plain = s => s.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')

// Each racer is a separate client, different from the client of this tab.
async function racer(n, type, slot, specialistId) {
  const began = performance.now()
  const reply = await fetch(`/v1/appointment-types/${type.id}/book`, {
    method: 'POST',
    credentials: 'omit',
    cache: 'no-store',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      clientId: 'race-' + random(18),
      slotStartDate: slot.start,
      specialistId,
      patient: { name: plain(t('demo.racer', { n })), email: `racer${n}@holdfast.invalid` },
    }),
  })
  const body = await reply.json().catch(() => ({}))
  return { ms: performance.now() - began, status: reply.status, code: body.code }
}

// contested returns a time that all three frames show. It is the last free time of the day on the phones, because the
// simulated visitors choose that time rarely. If the day is full, it is the first free time of the next days.
async function contested() {
  const type = raced(),
    date = seenDay() || dateOf(Date.now())
  const { slots } = await get(`/v1/appointment-types/${type.id}/timeslots`, { from: date, to: addDays(date, 1) })
  const slot =
    slots.filter(x => x.available > 0).at(-1) || (await get(`/v1/appointment-types/${type.id}/next-available`)).slot
  return { type, slot, specialistId: slot.specialistIds[0] }
}

// overlaps counts the pairs of one specialist's confirmed appointments that overlap on a day, as the desk sees them.
async function overlaps(specialistId, start) {
  const date = dateOf(start)
  const { appointments } = await get('/v1/appointments', {
    from: date,
    to: addDays(date, 1),
    specialistId,
    status: 'confirmed',
    limit: 500,
  })
  const all = appointments.filter(a => !a.overbook)
  const group = (a, b) =>
    a.appointmentTypeId === b.appointmentTypeId && a.slotStartDate === b.slotStartDate && a.seat !== b.seat
  let pairs = 0
  for (const a of all)
    for (const b of all)
      if (a.id < b.id && !group(a, b) && a.slotStartDate < b.slotEndDate && b.slotStartDate < a.slotEndDate) pairs++
  return pairs
}

// why returns the text key for the reason why a racer got no appointment.
const why = x =>
  x.code === 'slot_taken' ? 'demo.why.taken' : x.code === 'slot_held' ? 'demo.why.held' : 'demo.why.other'

function Race() {
  const [state, setState] = useState({ phase: 'ready' }),
    [dots, setDots] = useState([])
  const run = async () => {
    if (state.phase === 'running') return
    setState({ phase: 'running' })
    setDots(Array(racers).fill('runs'))
    try {
      const { type, slot, specialistId } = await contested()
      follow({ start: Date.parse(slot.start), specialistId })
      const began = performance.now()
      const all = await Promise.all(
        Array.from({ length: racers }, async (_, i) => {
          const x = await racer(i + 1, type, slot, specialistId)
          setDots(d => d.map((was, j) => (j === i ? (x.status === 201 ? 'won' : 'lost') : was)))
          return x
        }),
      )
      const ms = Math.round(performance.now() - began)
      const booked = all.filter(x => x.status === 201).length,
        refused = all.filter(x => x.status === 409).length
      const lost = all.filter(x => x.status !== 201).map(why),
        reasons = [...new Set(lost)].map(key => t(key, { n: lost.filter(x => x === key).length }))
      const result = {
        phase: 'done',
        booked,
        refused,
        other: racers - booked - refused,
        overlaps: await overlaps(specialistId, slot.start),
        ms,
        slowest: Math.round(Math.max(...all.map(x => x.ms))),
        when: dayAndTime(slot.start),
        reasons,
      }
      setState(result)
      say(t('demo.result', result))
    } catch (problem) {
      setState({ phase: 'failed', problem })
    }
  }
  return html`
    <section class="race" aria-label=${t('demo.race')}>
      <button
        type="button"
        class="btn primary big"
        aria-disabled=${state.phase === 'running' ? 'true' : undefined}
        onClick=${run}
      >
        <${Icon} name="play" />
        ${t(state.phase === 'running' ? 'demo.racing' : 'demo.race')}
      </button>
      ${
        dots.length > 0 &&
        state.phase !== 'failed' &&
        html`
          <div class="dots" aria-hidden="true">
            ${dots.map(
              (d, i) => html`
                <i key=${i} class=${d}></i>
              `,
            )}
          </div>
        `
      }
      ${
        state.phase === 'done'
          ? html`
              <dl class="score">
                <div class="win">
                  <dt>${t('demo.booked')}</dt>
                  <dd>${state.booked}</dd>
                </div>
                <div>
                  <dt>${t('demo.refused')}</dt>
                  <dd>${state.refused}</dd>
                </div>
                <div>
                  <dt>${t('demo.overlaps')}</dt>
                  <dd>${state.overlaps}</dd>
                </div>
                <div>
                  <dt>${t('demo.ms')}</dt>
                  <dd>${state.ms}</dd>
                </div>
              </dl>
              <p class="muted">${t('demo.where', { when: state.when })} ${state.reasons.join(' ')}</p>
            `
          : state.phase === 'failed'
            ? html`
                <${Notice}
                  kind="danger"
                  role="alert"
                  text=${state.problem instanceof Problem && state.problem.code === 'no_slots' ? 'demo.noslots' : 'demo.failed'}
                />
              `
            : html`
                <p class="muted">${t('demo.race.hint')}</p>
              `
      }
    </section>
  `
}

function Demo({ signedIn }) {
  const [key] = useState(() => random(4))
  useEffect(followPhones, [])
  // Each phone opens on the first day with times, and the desk shows the same day.
  const type = raced()
  const phone = n => html`
    <figure class="phone">
      <figcaption>${t('demo.phone', { n })}</figcaption>
      <iframe
        title=${t('demo.phone', { n })}
        src=${withLang('/', { ...(type && { type: type.id }), frame: `demo-${n}-${key}` })}
      ></iframe>
    </figure>
  `
  return html`
    <div class="demo">
      <header class="demo-top">
        <div>
          <p class="brand">
            <span class="mark" aria-hidden="true">H</span>
            <bdi>${boot.clinic.name}</bdi>
          </p>
          <h1>${t('demo.title')}</h1>
          <p class="muted">${t('demo.lead')}</p>
        </div>
        <${Race} />
      </header>
      ${
        boot.demoCluster &&
        html`
          <${Cluster} />
        `
      }
      <${Cable} />
      <main class="demo-stage">
        ${phone(1)}
        <figure class="desk-frame">
          <figcaption>
            ${t('demo.desk')}${' '}
            <span class="muted">
              ${t('demo.signin', { email: boot.demoSignIn.email, password: boot.demoSignIn.password })}
            </span>
          </figcaption>
          ${
            signedIn
              ? html`
                  <iframe title=${t('demo.desk')} src=${withLang('/staff', { frame: 'demo-desk' })}></iframe>
                `
              : html`
                  <${Notice} kind="warn" text="demo.nodesk" />
                `
          }
        </figure>
        ${phone(2)}
      </main>
      <footer class="demo-foot">
        <${Language} />
      </footer>
    </div>
  `
}

loadTypeface()
await words
document.title = t('demo.title') + ' – ' + boot.clinic.name
const me =
  (await get('/v1/auth/me').catch(() => null)) || (await post('/v1/auth/sign-in', boot.demoSignIn).catch(() => null))
render(
  html`
    <${Demo} signedIn=${Boolean(me)} />
  `,
  document.getElementById('app'),
)
