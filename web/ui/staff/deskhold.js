// The desk's own hold: taken when the booking dialog opens, moved along when its time changes, kept
// alive while it is open and given back when it closes. A patient on the page sees the time grey out.
import { client } from '../lib/client.js'
import { serverNow } from '../lib/clock.js'
import { createStore } from '../lib/store.js'
import { del, patch, post } from '../lib/api.js'

const ttlSeconds = 120, every = 40000

export function createDeskHold(desk) {
  const store = createStore({ phase: 'idle', holdId: '' })
  let turn = 0, timer
  // Claims and releases of this desk go one after the other, those of the dialog before included: the same
  // time claimed again is the same hold, and a release that came late would take it away.
  const inTurn = run => {
    const now = (desk.holding || Promise.resolve()).then(run)
    desk.holding = now.catch(() => {})
    return now
  }
  const giveBack = holdId => del('/v1/holds', { holdId, clientId: client.id }, { tries: 2 }).catch(() => {})
  const drop = holdId => inTurn(() => giveBack(holdId))
  const rest = () => clearInterval(timer)

  // The life of a hold is limited; well before its end a new one is begun.
  const beat = async () => {
    const { holdId, max } = store.get()
    if (!holdId) return
    try {
      const answer = await patch('/v1/holds', { holdId, clientId: client.id, ttlSeconds, ...(max - serverNow() < 180e3 && { restart: true }) }, { tries: 1 })
      if (store.get().holdId === holdId) store.set({ max: Date.parse(answer.maxExpiresAt) })
    } catch (problem) {
      if (problem.status && store.get().holdId === holdId) store.set({ phase: 'refused', holdId: '', problem })
    }
  }
  // Only the newest wish counts: an answer to an older one is given back.
  /** @param {{typeId: string, specialistId: string, start: number, displace?: boolean | string, others?: any[], ignoreHours?: boolean}} wish */
  async function claim({ typeId, specialistId, start, displace, others = [], ignoreHours = true }) {
    const mine = ++turn, old = store.get().holdId
    rest()
    store.set({ phase: 'claiming', holdId: '', problem: null })
    if (old) drop(old)
    try {
      const hold = await inTurn(async () => {
        const taken = mine === turn && await desk.call(() => post(others.length ? '/v1/visits/hold' : '/v1/holds', {
          ...(others.length ? { appointmentTypeIds: [typeId, ...others] } : { appointmentTypeId: typeId }), specialistId, slotStartDate: new Date(start).toISOString(), clientId: client.id, ttlSeconds,
          ignoreHours, ...(displace && { displace }),
        }))
        if (taken && mine !== turn) await giveBack(taken.holdId)
        return taken
      })
      if (mine !== turn) return
      store.set({ phase: 'held', holdId: hold.holdId, max: Date.parse(hold.maxExpiresAt) })
      timer = setInterval(beat, every)
    } catch (problem) {
      if (mine === turn) store.set({ phase: 'refused', problem })
    }
  }
  function release() {
    const { holdId } = store.get()
    turn++
    rest()
    store.set({ phase: 'idle', holdId: '', problem: null })
    if (holdId) drop(holdId)
  }
  const leave = e => {
    const { holdId } = store.get()
    if (holdId && !e.persisted) navigator.sendBeacon?.('/v1/holds/release', new Blob([JSON.stringify({ holdId, clientId: client.id })], { type: 'application/json' }))
  }
  addEventListener('pagehide', leave)
  return {
    store, claim, release,
    // forget: what was refused was about another time.
    forget() { if (store.get().phase === 'refused') store.set({ phase: 'idle', problem: null }) },
    // used: the booking has taken the hold with it.
    used() {
      turn++
      rest()
      store.set({ phase: 'idle', holdId: '' })
    },
    stop() {
      removeEventListener('pagehide', leave)
      release()
    },
  }
}
