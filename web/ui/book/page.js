// The booking page: what → when → details → booked, at one address, with its steps in the browser history. The page
// first loads only what the patient needs to choose a time. It loads the rest while the patient chooses.
import { html, render, useEffect, useState } from '../lib/html.js'
import { boot, embedded, nameOf, query, servingOf, sheet, typeOf, withLang } from '../lib/boot.js'
import { createStore, forget, recall, remember, useStore } from '../lib/store.js'
import { ready as client, client as self } from '../lib/client.js'
import { lang, need, ready as words, t } from '../lib/i18n.js'
import { createRouter, useHeading } from '../lib/router.js'
import { createHold, isHeld } from '../lib/hold.js'
import { Renewed, renew, renewed } from '../lib/renew.js'
import { del, get, wait } from '../lib/api.js'
import { words as rich } from '../lib/notice.js'
import { dayAndTime, time, write } from '../lib/time.js'
import { createCalendar } from './calendar.js'
import { What } from './type.js'
import { Days } from './days.js'
import { Times, chosenOf, label } from './times.js'
import { Lost } from './lost.js'
import { LinkNotice, ProblemNotice } from './problem.js'
import { Aside, Eyebrow, Name, Shell, Where } from './shell.js'

await Promise.all([words, client])

const types = boot.appointmentTypes
const skipWhat = types.length === 1
const root = document.getElementById('app')

const wanted = typeOf(query.get('type')) || (skipWhat ? types[0] : null)
const saved = recall('choice')
const start = wanted
  ? {
      typeId: wanted.id,
      specialistId: query.get('specialist') || (saved?.typeId === wanted.id ? saved.specialistId : ''),
    }
  : saved
const at = query.get('place') || start?.place
const known = typeOf(start?.typeId)
const serving = known ? servingOf(known) : []
const one = serving.filter(s => s.id === start.specialistId)
// hasPeople reports whether one of them works at the place. A link can name a place where none of them does any more.
const hasPeople = x => !known || (one[0] ? one : serving).some(s => s.places?.includes(x.id))
const page = createStore({
  step: 'what',
  typeId: known ? known.id : '',
  specialistId: one.length ? start.specialistId : '',
  place: boot.places.some(x => x.id === at && hasPeople(x)) ? at : '',
  news: renewed,
  form: { name: '', email: '', phone: '', birthDate: {}, ...recall('form') },
})
const hold = createHold()
const steps = skipWhat ? 2 : 3

// later fetches a module before the page needs it. If the network fails, get retries every 1.5 s.
const later = load => {
  let got = null
  const ask = () =>
    (got ||= load().catch(() => {
      got = null
    }))
  return {
    ask,
    async get() {
      let module
      while (!(module = await ask())) await wait(1500)
      return module
    },
  }
}
// These modules load when a view needs them, most of them only for clinics that use them.
let choosing = null
const choice = later(
  async () => (await Promise.all([import('../book/choose.js'), need('choose'), sheet('some.css')]))[0],
)
const rest = later(async () => (await Promise.all([import('../book/later.js'), need('manage')]))[0])
const online = later(
  async () => (await Promise.all([import('../book/online.js'), need('online'), sheet('some.css')]))[0],
)
const compare = later(
  async () => (await Promise.all([import('../book/compare.js'), need('compare'), sheet('some.css')]))[0],
)
let Details = null
const asks = later(async () => (await Promise.all([import('../book/asks.js'), need('asks'), sheet('some.css')]))[0])
const request = later(async () => (await Promise.all([import('../book/request.js'), need('request')]))[0])
const waiting = later(
  async () => (await Promise.all([import('../book/waiting.js'), need('waiting'), sheet('some.css')]))[0],
)
let ask = null
async function needDetails(type) {
  const more =
    type.asks || type.newPatientsOnly || type.approval || type.cancelText || boot.settings.consent || boot.sms
  ;[{ Details }, ask] = await Promise.all([rest.get(), more ? asks.get().then(m => m.load(type)) : null])
}

// --- the times of the chosen type, recreated when the choice changes
let calendar = null
function openCalendar() {
  const { typeId, specialistId, place } = page.get()
  const is = calendar?.store.get()
  if (is && is.type.id === typeId && is.specialistId === specialistId && is.place === place) return
  calendar?.stop()
  calendar = createCalendar({ type: typeOf(typeId), specialistId, place, hear: hold.heard, reached: hold.reached })
  calendar.store.subscribe(async ({ problem }, was) => {
    if (problem && problem !== was.problem) await again(problem)
  })
  calendar.start()
}

// --- reloading after the clinic has changed the data of the page
// The page releases the hold and, after the reload, claims the same time at its current length. It does not interrupt
// a booking in progress: the answer to that booking decides.
let ended = false
const may = () =>
  !ended && !recall('attempt') && !['booking', 'unknown', 'booked', 'asked'].includes(hold.store.get().phase)
const again = problem =>
  renew(
    async () => {
      const slot = recall('hold')
      await hold.release()
      if (slot && may()) remember('hold', slot)
    },
    may,
    problem,
  )
const told = async s => {
  if (s.problem) await again(s.problem)
  return s
}
// If the page becomes visible after more than 15 minutes in the background, it checks whether the clinic has changed.
let unseen = Infinity
const seen = () => {
  if (document.hidden) unseen = Date.now()
  else if (Date.now() - unseen > 9e5) again()
}
document.addEventListener('visibilitychange', seen)
function end() {
  ended = true
  calendar?.stop()
  router.stop()
  document.removeEventListener('visibilitychange', seen)
}

// --- steps
const router = createRouter(step => {
  // The history entry of the step "booked" has the address of the appointment's page, so reload to show that page.
  if (step === 'booked') return location.reload()
  if (step === 'details' && (!Details || hold.store.get().phase === 'idle')) step = 'when'
  enter(step || (skipWhat ? 'when' : 'what'))
})
async function enter(step) {
  if (!page.get().typeId) step = 'what'
  if (step !== 'what') openCalendar()
  else if (boot.more) choosing ||= await choice.get()
  page.set({ step })
}
async function go(step) {
  page.set({ news: false })
  await enter(step)
  router.push(page.get().step, address())
}
const address = () => {
  const url = new URL(location.href),
    { typeId, specialistId, place } = page.get()
  for (const [key, value] of Object.entries({ type: skipWhat ? '' : typeId, specialist: specialistId, place })) {
    value ? url.searchParams.set(key, value) : url.searchParams.delete(key)
  }
  return url.href
}

function choose(typeId, specialistId, place) {
  if (page.get().typeId !== typeId && hold.store.get().phase !== 'idle') hold.release()
  const chosen = { typeId, specialistId, place }
  page.set(chosen)
  remember('choice', chosen)
  go('when')
}
async function claim(slot) {
  const { typeId, specialistId, place, step } = page.get()
  const [s] = await Promise.all([
    hold.claim({ typeId, specialistId, place, start: slot.start, end: slot.end }).then(told),
    needDetails(typeOf(typeId)),
  ])
  if (isHeld(s) && step === 'when' && page.get().step === step) go('details')
}
// finish handles the outcome of a booking. If the patient must correct something, finish returns the outcome to the
// form.
async function finish(s) {
  if (s.phase === 'asked') {
    const to = page.get().form.email
    forget('form')
    end()
    return (await request.get()).showAsked(root, { asked: s.asked, to })
  }
  if (s.phase !== 'booked') return told(s)
  const { appointment } = s
  const url = appointment.manageUrl ? withLang('/manage') + new URL(appointment.manageUrl, location.href).hash : ''
  forget('form')
  forget('choice')
  remember('booked', { id: appointment.id, typeId: appointment.appointmentTypeId, url })
  end()
  const { showBooked } = await rest.get()
  if (!embedded && url) history.replaceState({ step: 'booked' }, '', url)
  showBooked(root, { appointment, url })
}

// waitFor replaces the times with the form of the waiting list. Its back button reloads the page, which restores the
// patient's choice.
async function waitFor(type) {
  const [{ showWait }] = await Promise.all([waiting.get(), needDetails(type)]),
    { specialistId, place, form } = page.get()
  end()
  showWait(root, { type, specialistId, place, ask, form, back: () => location.reload() })
}

// session replaces the booking with the form for a session, or with the request that this tab sent before a reload.
async function session(open) {
  const { showSession } = await online.get(),
    { typeId, form } = page.get()
  hold.release()
  end()
  showSession(root, { typeId, form, open })
}

// --- views
const person = id => (id ? nameOf(id) : t('who.any.short'))

// placesFor returns the places to which the choice can lead: the chosen place, or those of the specialists.
const placesFor = (type, { specialistId, place }) =>
  boot.places[1] && type && !type.remote
    ? boot.places.filter(x =>
        place
          ? x.id === place
          : servingOf(type).some(p => p.places?.includes(x.id) && (!specialistId || p.id === specialistId)),
      )
    : []

// If the quota is full, the page lists the patient's own holds. The server lists holds only to the client that owns
// them.
function Problems({ h, type, retry }) {
  const [own, setOwn] = useState([])
  useEffect(() => {
    if (h.problem.code === 'quota_exceeded')
      get('/v1/holds').then(
        x => setOwn(x.holds),
        () => {},
      )
  }, [h.problem])
  const release = ({ holdId }) =>
    del('/v1/holds', { holdId, clientId: self.id })
      .catch(() => {})
      .then(() => retry())
  return html`
    <${ProblemNotice}
      problem=${h.problem}
      type=${type}
      own=${own}
      release=${release}
      retry=${retry}
      holding=${isHeld(h)}
    />
  `
}

function When() {
  const p = useStore(page),
    h = useStore(hold.store),
    s = useStore(calendar.store)
  const heading = useHeading('when')
  const { type } = s
  const mine = isHeld(h) && h.typeId === p.typeId ? h.start : null
  const chosen = chosenOf(s, mine)
  const own = chosen?.status === 'mine',
    can = own || chosen?.status === 'free'
  const busy = h.phase === 'claiming'
  const act = e => {
    e?.preventDefault()
    if (can && !busy) own ? go('details') : claim(chosen)
  }
  useEffect(() => {
    if (mine && !s.chosen) calendar.choose(mine)
  }, [mine, s.day])
  useEffect(() => {
    if (s.chosen) rest.ask()
  }, [s.chosen])
  // Load the comparison with other days after the first times, which are more urgent.
  useEffect(() => {
    if (!s.loading && !p.Compare) compare.get().then(({ Compare }) => page.set({ Compare }))
  }, [s.loading])
  const [at, other] = placesFor(type, p),
    place = !other && at
  const summary = {
    type: html`
      <${Name} of=${type.name} />
    `,
    minutes: t('minutes', { n: type.durationMinutes }),
    who: html`
      <${Name} of=${person(p.specialistId)} />
      ${place && ', '}${
        place &&
        html`
          <${Name} of=${place.name} />
        `
      }
    `,
  }
  return html`
    <${Eyebrow} n=${steps - 1} total=${steps} back=${!skipWhat && (() => go('what'))} />
    <h1 tabindex="-1" ref=${heading}>${t('when.title')}</h1>
    <p class="lead">
      ${rich('when.summary', summary)}${
        (!skipWhat || servingOf(type).length > 1) &&
        html`
          ${' '}
          <button type="button" class="textlink" onClick=${() => go('what')}>${t('change')}</button>
        `
      }
    </p>
    <${LinkNotice}
      link=${s.problem?.status === 0 ? 'offline' : s.link}
      asOf=${s.asOf}
      hold=${mine && h}
      takeOver=${calendar.takeOver}
    />
    ${
      h.phase === 'lost' &&
      html`
        <${Lost} why=${h.why} start=${h.start} find=${() => calendar.around(h.start)} pick=${claim} />
      `
    }
    ${
      h.phase === 'idle' &&
      h.problem &&
      html`
        <${Problems} h=${h} type=${type} retry=${act} />
      `
    }
    ${
      s.problem?.status > 0 &&
      html`
        <${ProblemNotice} problem=${s.problem} type=${type} />
      `
    }
    <form onSubmit=${act} novalidate>
      <${Days} calendar=${calendar} />
      <div class="compare">
        <${Times} calendar=${calendar} mine=${mine} wait=${boot.waitlist && !embedded && (() => waitFor(type))} />
        ${
          p.Compare &&
          html`
            <${p.Compare} calendar=${calendar} mine=${mine} />
          `
        }
      </div>
      ${
        chosen &&
        html`
          <div class="bar">
            <p>
              ${
                can
                  ? html`
                      <span>${write('shortDay', chosen.start)},${' '}</span>
                      <b>${time(chosen.start)}</b>
                    `
                  : label(chosen)
              }
            </p>
            ${
              can &&
              html`
                <button type="submit" class="btn primary" aria-disabled=${busy ? 'true' : undefined}>
                  ${t(own ? 'hold.go' : busy ? 'hold.doing' : 'hold.do', { time: time(chosen.start) })}${busy && '…'}
                </button>
              `
            }
          </div>
        `
      }
    </form>
  `
}

function App() {
  const { step, typeId, specialistId, news, Online } = useStore(page)
  const h = useStore(hold.store)
  const link = useStore(calendar?.store || page, s => s.link)
  const type = step !== 'what' && typeOf(typeId)
  const held = isHeld(h) && type,
    at = placesFor(type, page.get())
  const aside = html`
    <${Aside}
      rows=${[
        [
          t('summary.what'),
          type &&
            html`
              <${Name} of=${type.name} />
              <span class="muted">${t('minutes', { n: type.durationMinutes })}</span>
            `,
        ],
        [
          t('summary.who'),
          type &&
            html`
              <${Name} of=${held || specialistId ? nameOf(held ? h.specialistId : specialistId) : t('who.any')} />
            `,
        ],
        [t('summary.when'), held && dayAndTime(h.start)],
        [
          t('summary.where'),
          at[1] && !held
            ? new Intl.ListFormat(lang, { type: 'disjunction' }).format(at.map(x => x.name))
            : html`
                <${Where} id=${held ? h.place : at[0]?.id} />
              `,
        ],
      ]}
    />
  `
  return html`
    <${Shell}
      link=${step === 'what' ? '' : link}
      aside=${aside}
      step=${step}
      offer=${
        Online &&
        step !== 'details' &&
        html`
          <${Online} open=${() => session()} />
        `
      }
    >
      ${
        news &&
        html`
          <${Renewed} />
        `
      }
      ${
        step === 'what'
          ? html`
              <${What} page=${page.get()} total=${steps} done=${choose} more=${choosing} />
            `
          : step === 'when'
            ? html`
                <${When} key=${typeId + specialistId + page.get().place} />
              `
            : html`
                <${Details}
                  ask=${ask}
                  page=${page}
                  hold=${hold}
                  calendar=${calendar}
                  steps=${steps}
                  claim=${claim}
                  finish=${finish}
                  Problems=${Problems}
                  other=${() => go('when')}
                  back=${() => router.back(() => go('when'))}
                />
              `
      }
    </${Shell}>
  `
}

// --- start: resume what a reload interrupted
// A link to another type starts over, unless a booking attempt has had no answer yet.
if (wanted && recall('hold')?.typeId !== wanted.id) forget('hold')
const resumed = recall('attempt') || recall('hold')
if (resumed && typeOf(resumed.typeId)) {
  await needDetails(typeOf(resumed.typeId))
  page.set({ typeId: resumed.typeId })
  await enter('details')
  router.replace('details')
  hold.resume().then(finish)
} else {
  await enter(wanted || (known && ['when', 'details'].includes(router.step())) ? 'when' : 'what')
  router.replace(page.get().step)
}
render(
  html`
    <${App} />
  `,
  root,
)

// offerSession shows the offer of a session after the first times, which are more urgent. The page does not await
// offerSession: online.js imports from this module, so both modules would wait for each other.
async function offerSession() {
  const open = recall('session')
  if (open && !resumed) return session(open)
  while (/** @type {any} */ (calendar)?.store.get().loading) await wait(100)
  page.set({ Online: (await online.get()).Online })
}
if (boot.onDemand) offerSession()
