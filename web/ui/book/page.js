// The booking page: what → when → details → booked, on one address with its steps in the history.
import { html, render, useEffect, useRef, useState } from '../lib/html.js'
import { boot, embedded, nameOf, query, servingOf, typeOf, withLang } from '../lib/boot.js'
import { createStore, useStore } from '../lib/store.js'
import { ready as client, client as self } from '../lib/client.js'
import { ready as words, t } from '../lib/i18n.js'
import { createRouter, useHeading } from '../lib/router.js'
import { createHold, isHeld } from '../lib/hold.js'
import { del, get, wait } from '../lib/api.js'
import { recall, remember, forget } from '../lib/session.js'
import { Notice, words as rich } from '../lib/notice.js'
import { dayAndTime, time, write } from '../lib/time.js'
import { say } from '../lib/say.js'
import { createCalendar } from './calendar.js'
import { What } from './type.js'
import { Days } from './days.js'
import { Times, timesOf } from './times.js'
import { DetailsForm, HoldCard, check, errorsFrom } from './details.js'
import { Lost } from './lost.js'
import { LinkNotice, ProblemNotice } from './problem.js'
import { Aside, Eyebrow, Name, Shell } from './shell.js'

await Promise.all([words, client])

const types = boot.appointmentTypes
const skipWhat = types.length === 1
const total = skipWhat ? 2 : 3
const blank = { name: '', email: '', phone: '', birthDate: {}, notes: '' }
const root = document.getElementById('app')

const wanted = typeOf(query.get('type')) || (skipWhat ? types[0] : null)
const saved = recall('choice')
const start = wanted ? { typeId: wanted.id, specialistId: query.get('specialist') || (saved?.typeId === wanted.id ? saved.specialistId : '') } : saved
const known = typeOf(start?.typeId)
const page = createStore({
  step: 'what', typeId: known ? known.id : '',
  specialistId: known && servingOf(known).some(s => s.id === start.specialistId) ? start.specialistId : '',
  form: { ...blank, ...recall('form') }, errors: [], tries: 0,
})
const hold = createHold()
let calendar = null

// --- the times of the chosen type, made anew when the choice changes
function openCalendar(day) {
  const { typeId, specialistId } = page.get()
  if (calendar && calendar.store.get().type.id === typeId && calendar.store.get().specialistId === specialistId) return
  calendar?.stop()
  calendar = createCalendar({ type: typeOf(typeId), specialistId, hear: hold.heard })
  calendar.start(day)
}
// --- steps
const router = createRouter(step => {
  enter(step === 'details' && hold.store.get().phase === 'idle' ? 'when' : step || (skipWhat ? 'when' : 'what'))
})
function enter(step) {
  if (step !== 'what' && !page.get().typeId) step = 'what'
  if (step !== 'what') openCalendar()
  page.set({ step, errors: [] })
}
function go(step) {
  enter(step)
  router.push(page.get().step, address())
}
const address = () => {
  if (embedded) return location.href
  const url = new URL(location.href), { typeId, specialistId } = page.get()
  for (const [key, value] of [['type', skipWhat ? '' : typeId], ['specialist', specialistId]]) {
    value ? url.searchParams.set(key, value) : url.searchParams.delete(key)
  }
  return url.href
}

function choose(typeId, specialistId) {
  const before = page.get()
  page.set({ typeId, specialistId })
  remember('choice', { typeId, specialistId })
  if (before.typeId !== typeId && hold.store.get().phase !== 'idle') hold.release()
  go('when')
}

async function claim(slot) {
  const { typeId, specialistId, step } = page.get()
  const s = await hold.claim({ typeId, specialistId, start: slot.start, end: slot.end })
  if (isHeld(s) && page.get().step === step && step === 'when') {
    managing()
    go('details')
  }
}

// The page that follows is fetched while the form is filled in, so that a lost connection cannot come
// between a confirmed booking and its confirmation.
let following = null
const managing = () => following ||= import('../manage/page.js').catch(() => { following = null })

async function confirm() {
  const { form, tries } = page.get()
  const { errors, patient } = check(form)
  page.set({ errors, tries: tries + 1 })
  if (!errors.length) await finish(await hold.book(patient))
}
async function finish(s) {
  if (s.phase === 'held' && s.problem?.code === 'validation_failed') {
    page.set(p => ({ ...p, errors: errorsFrom(s.problem), tries: p.tries + 1 }))
  }
  if (s.phase !== 'booked') return
  const { appointment } = s
  const url = appointment.manageUrl ? withLang('/manage') + new URL(appointment.manageUrl, location.href).hash : ''
  forget('form')
  forget('choice')
  remember('booked', { id: appointment.id, typeId: appointment.appointmentTypeId, url })
  calendar?.stop()
  router.stop()
  let manage
  while (!(manage = await managing())) await wait(1500)
  if (!embedded && url) history.replaceState({ step: 'booked' }, '', url)
  manage.showBooked(root, { appointment, url })
}

// --- views
const person = id => id ? nameOf(id) : t('who.any.short')

function When() {
  const p = useStore(page), h = useStore(hold.store), s = useStore(calendar.store)
  const heading = useHeading('when')
  const mine = isHeld(h) && h.typeId === p.typeId ? h.start : null
  const times = s.day ? timesOf(s, mine) : []
  const chosen = times.find(x => x.start === s.chosen)
  const can = chosen && (chosen.status === 'free' || chosen.status === 'mine')
  const busy = h.phase === 'claiming'
  const act = () => {
    if (!can || busy) return
    chosen.status === 'mine' ? go('details') : claim(chosen)
  }
  useEffect(() => { if (mine && !s.chosen) calendar.choose(mine) }, [mine, s.day])
  const { type } = s
  const summary = { type: html`<${Name} of=${type.name} />`, minutes: t('minutes', { n: type.durationMinutes }), who: html`<${Name} of=${person(p.specialistId)} />` }
  const many = types.length > 1 || servingOf(type).length > 1
  return html`
    <${Eyebrow} n=${total - 1} total=${total} back=${!skipWhat && (() => go('what'))} />
    <h1 tabIndex="-1" ref=${heading}>${t('when.title')}</h1>
    <p class="lead">${rich('when.summary', summary)}${many && html` <button type="button" class="textlink" onClick=${() => go('what')}>${t('change')}</button>`}</p>
    <${LinkNotice} link=${s.link === 'live' && s.problem?.status === 0 ? 'offline' : s.link} asOf=${s.asOf} hold=${mine && h} takeOver=${calendar.takeOver} />
    ${h.phase === 'lost' && html`<${Lost} why=${h.why} start=${h.start} find=${() => calendar.around(h.start)} pick=${claim} busy=${busy} />`}
    ${h.phase === 'idle' && h.problem && html`<${Problems} h=${h} type=${type} retry=${act} />`}
    ${s.problem?.status > 0 && html`<${ProblemNotice} problem=${s.problem} type=${type} />`}
    <form onSubmit=${e => { e.preventDefault(); act() }} noValidate>
      <${Days} calendar=${calendar} />
      <${Times} calendar=${calendar} mine=${mine} />
      ${chosen && html`<div class="bar">
        <p>${can ? html`<span>${write('shortDay', chosen.start)}, </span><b>${time(chosen.start)}</b>` : t(`slot.${chosen.status}.sr`, { time: time(chosen.start) })}</p>
        ${can && html`<button type="submit" class="btn primary" aria-disabled=${busy ? 'true' : undefined}>
          ${t(chosen.status === 'mine' ? 'hold.go' : busy ? 'hold.doing' : 'hold.do', { time: time(chosen.start) })}${busy && '…'}</button>`}
      </div>`}
    </form>`
}

// A full quota is explained with the patient's own holds, which the server lists to their client only.
function Problems({ h, type, retry }) {
  const [own, setOwn] = useState([])
  useEffect(() => {
    if (h.problem.code === 'quota_exceeded') get('/v1/holds').then(x => setOwn(x.holds), () => {})
  }, [h.problem])
  const letGo = ({ holdId }) => del('/v1/holds', { holdId, clientId: self.id }).catch(() => {}).then(retry)
  return html`<${ProblemNotice} problem=${h.problem} type=${type} own=${own} letGo=${letGo} retry=${retry} holding=${isHeld(h)} />`
}

function Details() {
  const p = useStore(page), h = useStore(hold.store), s = useStore(calendar.store)
  const heading = useHeading('details')
  const { type } = s
  const ready = isHeld(h) || h.phase === 'lapsed'
  const [checking, setChecking] = useState(false)
  const keep = async () => { if (!await hold.keep()) say(t('hold.keep.failed')) }
  const again = async () => {
    setChecking(true)
    await finish(await hold.check())
    setChecking(false)
  }
  const change = form => {
    page.set({ form })
    remember('form', form)
  }
  // While another time is claimed, the lost one stays what the notice is about.
  const gone = useRef(null)
  if (h.phase === 'lost') gone.current = { why: h.why, start: h.start }
  else if (h.phase !== 'claiming') gone.current = null
  useEffect(() => { if (h.phase === 'unknown' && s.link === 'live') again() }, [s.link])
  return html`
    <${Eyebrow} n=${total} total=${total} back=${() => history.back()} />
    <h1 tabIndex="-1" ref=${heading}>${t('details.title')}</h1>
    <${LinkNotice} link=${s.link} asOf=${s.asOf} hold=${isHeld(h) && h} takeOver=${calendar.takeOver} />
    ${h.phase === 'unknown' || (checking && h.phase === 'booking') ? html`
      <${Notice} kind="warn" icon="alert" role="alert" text=${[rich('unknown.title'), ' ', t('unknown.body')]}>
        <button type="button" class="btn primary" aria-disabled=${checking ? 'true' : undefined} onClick=${() => checking || again()}>${t('unknown.do')}${checking && '…'}</button>
      </${Notice}>`
    : h.phase === 'booked' ? html`<${Notice} kind="ok" role="status" text=${html`<strong>${t('booked.title')}</strong> ${dayAndTime(h.start)}`} />`
    : gone.current ? html`<${Lost} ...${gone.current} find=${() => calendar.around(gone.current.start)} pick=${claim} busy=${h.phase === 'claiming'} />`
    : h.phase !== 'idle' && html`<${HoldCard} hold=${h} type=${type} keep=${keep} reclaim=${hold.reclaim} />`}
    ${h.problem && h.phase !== 'lost' && h.problem.code !== 'validation_failed' && html`<${Problems} h=${h} type=${type} retry=${() => {}} />`}
    <${DetailsForm} form=${p.form} errors=${p.errors} tries=${p.tries} busy=${h.phase === 'booking'} ready=${ready}
      change=${change} submit=${confirm} other=${() => go('when')} />`
}

function App() {
  const { step, typeId, specialistId } = useStore(page)
  const h = useStore(hold.store)
  const link = useStore(calendar?.store || page, s => s.link)
  const type = typeOf(typeId)
  const at = isHeld(h) ? h : null
  const shown = step !== 'what' && type
  const aside = html`<${Aside} rows=${[
    [t('summary.what'), shown && html`<${Name} of=${type.name} /><span class="muted">${t('minutes', { n: type.durationMinutes })}</span>`],
    [t('summary.who'), shown && html`<${Name} of=${at ? nameOf(at.specialistId) : person(specialistId)} />`],
    [t('summary.when'), shown && at && dayAndTime(at.start)],
    [t('summary.where'), html`<${Name} of=${boot.clinic.name} />${boot.clinic.contact.address && html`<span class="muted"><bdi>${boot.clinic.contact.address}</bdi></span>`}`],
  ]} />`
  return html`<${Shell} link=${step === 'what' ? '' : link} aside=${aside} step=${step}>
    ${step === 'what' ? html`<${What} page=${page.get()} total=${total} done=${choose} />`
      : step === 'when' ? html`<${When} key=${typeId + specialistId} />` : html`<${Details} />`}
  </${Shell}>`
}

// --- start, taking up what a reload interrupted
const resumed = recall('attempt') || recall('hold')
if (resumed && typeOf(resumed.typeId)) {
  page.set({ typeId: resumed.typeId })
  openCalendar(undefined)
  page.set({ step: 'details' })
  history.replaceState({ step: 'details' }, '', location.href)
  hold.resume().then(finish)
} else {
  enter(wanted || (known && ['when', 'details'].includes(router.step())) ? 'when' : 'what')
  router.replace(page.get().step)
}
render(html`<${App} />`, root)
