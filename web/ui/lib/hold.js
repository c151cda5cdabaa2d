// A patient's hold, from the claim to the booking.
//
//   idle → claiming → held ⇄ warning → (lapsed → reclaiming) → booking → booked | asked | lost | unknown
//
// next() is the pure state machine. createHold() does what its states need: it claims, renews, counts down, books and
// releases. The countdown runs to the hold's latest possible expiry, on a monotonic clock. The server's
// `holdExpiresAt` changes with every heartbeat; the page shows it only when offline.
import { createStore } from './store.js'
import { client } from './client.js'
import { mono } from './clock.js'
import { lang } from './i18n.js'
import { recall, remember, forget } from './store.js'
import { request, post, patch, del, cannotSave, newKey, passing, wait } from './api.js'

export const ttlSeconds = 300
export const warnAt = 120
export const maxKeeps = 10
const every = 60000

const counting = new Set(['held', 'warning'])
const live = new Set([...counting, 'booking'])
export const isHeld = s => live.has(s.phase)
// After an unknown outcome the page still renews the hold: the patient may have to confirm again.
const beats = s => Boolean(s.holdId) && (isHeld(s) || s.phase === 'unknown')
const goneCodes = new Set(['slot_taken', 'slot_held', 'not_bookable'])

// next returns the state after an event, or the same state if the event has no effect in it.
export function next(s, e) {
  switch (e.type) {
    case 'claim':
      return { phase: 'claiming', ...e.slot, keeps: 0 }
    case 'claimed':
      if (s.phase !== 'claiming' && s.phase !== 'reclaiming') return s
      return { ...s, ...e.hold, phase: 'held', note: s.phase === 'reclaiming' ? 'again' : '', problem: null, why: null }
    case 'refused':
      if (goneCodes.has(e.problem.code) && !e.problem.reason?.startsWith('clinic_rule'))
        return { ...s, phase: 'lost', why: 'gone', problem: e.problem }
      if (s.phase === 'claiming') return { phase: 'idle', problem: e.problem, start: s.start }
      if (s.phase === 'reclaiming') return { ...s, phase: 'lapsed', problem: e.problem }
      return s.phase === 'booking' ? { ...s, phase: 'held', problem: e.problem } : s
    case 'beat':
      return beats(s) && s.holdId === e.holdId ? { ...s, expiresAt: e.expiresAt, lapses: e.lapses, until: e.until } : s
    case 'kept':
      return isHeld(s) ? { ...s, phase: 'held', keeps: s.keeps + 1, note: 'kept' } : s
    case 'tick':
      if (!beats(s)) return s
      if (s.phase === 'booking' || s.phase === 'unknown') return { ...s, left: e.left }
      if (e.left <= 0) return { ...s, phase: 'lapsed', left: 0, note: '' }
      return { ...s, left: e.left, phase: e.left <= warnAt ? 'warning' : 'held' }
    case 'gone':
      // While a booking request is running, its answer decides.
      if (s.holdId !== e.holdId || (!counting.has(s.phase) && s.phase !== 'lapsed')) return s
      if (e.reason === 'displaced') return { ...s, phase: 'lost', why: 'displaced' }
      return e.reason === 'conflict' ? { ...s, phase: 'lost', why: 'gone' } : { ...s, phase: 'lapsed', note: '' }
    case 'reclaim':
      return s.phase === 'lapsed' ? { ...s, phase: 'reclaiming' } : s
    case 'book':
      return { ...s, ...e.slot, phase: 'booking', problem: null, note: '' }
    case 'saving':
      return s.phase === 'booking' ? { ...s, problem: e.problem } : s
    case 'unknown':
      return { ...s, phase: 'unknown', problem: null }
    case 'booked':
      return { ...s, phase: 'booked', appointment: e.appointment, problem: null }
    case 'asked':
      return { ...s, phase: 'asked', asked: e.asked, problem: null }
    case 'let go':
      return { phase: 'idle' }
  }
  return s
}

// ends converts the server's instants to points on this page's monotonic clock. It never subtracts a reading of one
// clock from a reading of the other. The hold expires at `lapses` unless the server answers a heartbeat before, and at
// `until` in any case.
const ends = answer => {
  const expiresAt = Date.parse(answer.holdExpiresAt),
    max = Date.parse(answer.maxExpiresAt),
    lapses = mono() + answer.ttlMs
  return { expiresAt, lapses, until: lapses + max - expiresAt }
}
const held = answer => ({
  holdId: answer.holdId,
  specialistId: answer.specialistId,
  start: answer.slotStartDate,
  end: answer.slotEndDate,
  place: answer.place,
  ...ends(answer),
})

// createHold(manage) creates holds. With the token of a manage link, the holds are for moving that appointment.
export function createHold(manage) {
  const store = createStore({ phase: 'idle' })
  let worker,
    ticking,
    asking = false,
    touched = mono()
  const send = event => {
    const was = store.get()
    const now = next(was, event)
    if (now === was) return now
    store.set(() => now)
    if (beats(now) && (!beats(was) || now.holdId !== was.holdId)) begin(now)
    if (!beats(now) && beats(was)) rest()
    if (['lost', 'booked', 'asked'].includes(now.phase)) forget('hold')
    // Try only once. The server would refuse a second attempt for the same reason.
    if (now.phase === 'lapsed' && counting.has(was.phase)) reclaimIfThere()
    return now
  }

  // --- renewing
  function begin(s) {
    remember('hold', { typeId: s.typeId, start: s.start, end: s.end, asked: s.asked, place: s.place })
    const job = { holdId: s.holdId, clientId: client.id, ttlSeconds, every }
    try {
      worker ||= new Worker(new URL('../lib/beat.js', import.meta.url))
      worker.onmessage = ({ data }) => beaten(data)
      // If the worker could not be fetched, the page sends the heartbeats.
      worker.onerror = () => {
        worker = null
      }
      worker.postMessage(job)
    } catch {
      worker = null
    }
    clearInterval(ticking)
    tick()
    let seconds = 0
    ticking = setInterval(() => {
      tick()
      if (!worker && ++seconds % 60 === 0) ask()
    }, 1000)
  }
  function rest() {
    worker?.postMessage(null)
    clearInterval(ticking)
  }
  const tick = () => {
    const { phase, lapses, until } = store.get()
    // No heartbeat was answered in time, for example after the device has slept or without a network. One more
    // request decides whether the hold still exists.
    if (counting.has(phase) && mono() > lapses && !asking) {
      asking = true
      ask().then(() => {
        asking = false
      })
    }
    send({ type: 'tick', left: Math.ceil((until - mono()) / 1000) })
  }
  function beaten({ holdId, status, body }) {
    if (status === 200 && body.ok) {
      send({ type: 'beat', holdId, ...ends(body) })
    } else if (status === 410 || status === 404 || status === 403 || mono() > store.get().lapses)
      send({ type: 'gone', holdId, reason: 'expired' })
  }
  // beat renews the hold now, in addition to the worker: after the device has slept, after a return from the
  // back/forward cache, and when the server is reachable again. With restart, it also asks the server to restart the
  // hold's maximum lifetime.
  function beat(restart) {
    const { holdId } = store.get()
    if (!beats(store.get())) return Promise.resolve()
    return patch(
      '/v1/holds',
      { holdId, clientId: client.id, ttlSeconds, ...(restart && { restart }) },
      { tries: 1 },
    ).then(
      body => beaten({ holdId, status: 200, body }),
      problem => {
        beaten({ holdId, status: problem.status, body: {} })
        throw problem
      },
    )
  }
  const ask = () => beat().catch(() => {})
  async function keep() {
    try {
      await beat(true)
      send({ type: 'kept' })
      tick()
      return true
    } catch {
      return false
    }
  }

  // --- claiming
  async function claim(slot) {
    const old = store.get()
    const wanted = {
      typeId: slot.typeId,
      start: slot.start,
      end: slot.end,
      asked: slot.specialistId || '',
      place: slot.place || '',
    }
    const own = beats(old) ? old.holdId : ''
    send({ type: 'claim', slot: wanted })
    const problem = await take(own)
    if (problem) send({ type: 'refused', problem })
    return store.get()
  }
  // take claims the time in the state in place of the hold `instead`, and returns the problem if there is one. The
  // server replaces that hold in one step, even if the two times overlap. If it refuses, take releases that hold.
  async function take(instead) {
    const s = store.get()
    try {
      const answer = await post(
        '/v1/holds',
        {
          appointmentTypeId: s.typeId,
          slotStartDate: s.start,
          clientId: client.id,
          ttlSeconds,
          ...(s.asked && { specialistId: s.asked }),
          ...(s.place && { place: s.place }),
          ...(instead && { instead }),
        },
        { key: newKey(), headers: manage && { 'Holdfast-Manage': manage } },
      )
      // The patient may have chosen another time or gone back while the request was running.
      const now = store.get()
      if (now.start !== s.start || now.phase !== s.phase) drop(answer.holdId)
      else send({ type: 'claimed', hold: held(answer) })
    } catch (problem) {
      if (instead) await drop(instead)
      if (store.get().start === s.start) return problem
    }
  }
  async function reclaim() {
    if (store.get().phase !== 'lapsed') return
    send({ type: 'reclaim' })
    const problem = await take()
    if (problem) send({ type: 'refused', problem })
  }
  // An expired hold is claimed again only if the patient is active, not for a page that was left open.
  const present = () => !document.hidden && mono() - touched < 90000
  function reclaimIfThere() {
    if (present()) reclaim()
  }
  // The server is reachable again. It may have restarted without this hold, so renew the hold
  // immediately.
  const reached = () => {
    store.get().phase === 'lapsed' ? reclaimIfThere() : ask()
  }

  // --- booking
  // said contains the other fields of the booking: consent and answers.
  async function book(patient, said = {}) {
    const s = store.get()
    const attempt = {
      key: newKey(),
      typeId: s.typeId,
      slot: { typeId: s.typeId, start: s.start, end: s.end, asked: s.asked, specialistId: s.specialistId },
      body: {
        clientId: client.id,
        holdId: s.holdId,
        slotStartDate: s.start,
        patient,
        ...said,
        locale: lang,
        ...((s.asked || s.specialistId) && { specialistId: s.asked || s.specialistId }),
      },
    }
    remember('attempt', attempt)
    return run(attempt)
  }
  async function run(attempt) {
    send({ type: 'book', slot: attempt.slot })
    for (let tries = 0; ; tries++) {
      try {
        const { appointment, request: asked } = await request('POST', `/v1/appointment-types/${attempt.typeId}/book`, {
          key: attempt.key,
          body: attempt.body,
          tries: 4,
        })
        forget('attempt')
        return send(asked ? { type: 'asked', asked } : { type: 'booked', appointment })
      } catch (problem) {
        const busy = cannotSave(problem)
        if ((busy || (problem.code === 'rate_limited' && problem.reason !== 'public_bookings')) && tries < 12) {
          send({ type: 'saving', problem })
          await wait(1000 * (problem.retryAfter || 4))
          continue
        }
        if (busy || passing(problem)) return send({ type: 'unknown' })
        forget('attempt')
        return send({ type: 'refused', problem })
      }
    }
  }
  const check = () => {
    const attempt = recall('attempt')
    return attempt ? run(attempt) : Promise.resolve(store.get())
  }

  // --- releasing
  const drop = holdId => del('/v1/holds', { holdId, clientId: client.id }, { tries: 2 }).catch(() => {})
  function release() {
    const s = store.get()
    send({ type: 'let go' })
    forget('hold')
    if (s.holdId && s.phase !== 'booked') return drop(s.holdId)
  }

  const touch = () => {
    touched = mono()
    if (store.get().phase === 'lapsed') reclaim()
  }
  const shown = () => {
    if (document.hidden) return
    touched = mono()
    reached()
  }
  const resumedPage = e => {
    if (e.persisted) shown()
  }
  // If the patient leaves the page, release the hold immediately, even if the browser puts the page into the
  // back/forward cache. After a return from there, shown finds that the hold is gone, and the page claims it again.
  const leave = () => {
    const s = store.get()
    if (!counting.has(s.phase)) return
    navigator.sendBeacon?.(
      '/v1/holds/release',
      new Blob([JSON.stringify({ holdId: s.holdId, clientId: client.id })], { type: 'application/json' }),
    )
  }
  /** @type {[EventTarget, string, (e: any) => void][]} */
  const listening = [
    [window, 'pointerdown', touch],
    [window, 'keydown', touch],
    [window, 'online', shown],
    [document, 'visibilitychange', shown],
    [window, 'pageshow', resumedPage],
    [window, 'pagehide', leave],
  ]
  for (const [where, what, run] of listening) where.addEventListener(what, run)

  return {
    store,
    claim,
    keep,
    book,
    check,
    release,
    reclaim,
    reached,
    // A caller uses lose after the server has refused the caller's own booking request.
    lose: problem => send({ type: 'refused', problem }),
    stop() {
      for (const [where, what, run] of listening) where.removeEventListener(what, run)
      worker?.terminate()
    },
    // resume continues after a reload. It repeats a booking attempt that has had no answer, or claims the stored time
    // again.
    resume() {
      const attempt = recall('attempt')
      if (attempt) {
        send({ type: 'unknown' })
        store.set({ ...attempt.slot })
        return check()
      }
      const slot = recall('hold')
      return slot ? claim({ ...slot, specialistId: slot.asked }) : Promise.resolve(store.get())
    },
    // heard applies a stream event about this hold.
    heard(event) {
      if (event.isOwnHold && event.type === 'release')
        send({ type: 'gone', holdId: event.holdId, reason: event.reason })
    },
  }
}
