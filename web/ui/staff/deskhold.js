// The desk's own hold. It is claimed when the booking dialog opens, moves with the dialog's time, and is renewed while
// the dialog is open. If a new time cannot be held, the hold stays at the old time, so that the desk never loses both.
// It is released when the dialog closes. The booking page shows its time as unavailable.
import { client } from '../lib/client.js'
import { serverNow } from '../lib/clock.js'
import { createStore } from '../lib/store.js'
import { del, patch, post } from '../lib/api.js'

const ttlSeconds = 120,
  every = 40000

/**
 * @typedef {object} Wish
 * @property {string} typeId
 * @property {string} specialistId
 * @property {number} start
 * @property {boolean | string} [displace]
 * @property {any[]} [others]
 * @property {boolean} [ignoreHours]
 */

// Two wishes with the same key are for the same hold.
/** @param {Wish} wish */
const keyOf = ({ typeId, specialistId, start, others = [] }) => JSON.stringify([typeId, specialistId, start, others])

export function createDeskHold(desk) {
  // holdId is the current hold, which is for the wish with the key. While another claim runs and after it was refused,
  // it is the hold of the previous wish.
  const store = createStore({ phase: 'idle', holdId: '', key: '' })
  let turn = 0,
    timer
  // This desk's claims and releases run one after the other, including those of the previous dialog. If the desk
  // claims the same time again, the server returns the same hold, so a late release would delete it.
  const inTurn = run => {
    const now = (desk.holding || Promise.resolve()).then(run)
    desk.holding = now.catch(() => {})
    return now
  }
  const giveBack = holdId => del('/v1/holds', { holdId, clientId: client.id }, { tries: 2 }).catch(() => {})
  const drop = holdId => inTurn(() => giveBack(holdId))
  const rest = () => clearInterval(timer)

  // A hold has a maximum lifetime. If less than 3 minutes of it are left, the heartbeat restarts it.
  const beat = async () => {
    const { holdId, max } = store.get()
    if (!holdId) return
    try {
      const answer = await patch(
        '/v1/holds',
        { holdId, clientId: client.id, ttlSeconds, ...(max - serverNow() < 180e3 && { restart: true }) },
        { tries: 1 },
      )
      if (store.get().holdId === holdId) store.set({ max: Date.parse(answer.maxExpiresAt) })
    } catch (problem) {
      if (!problem.status || store.get().holdId !== holdId) return
      store.set({ holdId: '', key: '', ...(store.get().phase === 'held' && { phase: 'refused', problem }) })
    }
  }
  // Only the latest claim counts. If an older claim succeeds late, the next one replaces its hold, or it is released.
  /** @param {Wish} wish */
  async function claim(wish) {
    const { typeId, specialistId, start, displace, others = [], ignoreHours = true } = wish,
      mine = ++turn
    store.set({ phase: 'claiming', problem: null })
    try {
      await inTurn(async () => {
        if (mine !== turn) return
        const { holdId } = store.get(),
          hold = await desk.call(() =>
            post(others.length ? '/v1/visits/hold' : '/v1/holds', {
              ...(others.length ? { appointmentTypeIds: [typeId, ...others] } : { appointmentTypeId: typeId }),
              specialistId,
              slotStartDate: new Date(start).toISOString(),
              clientId: client.id,
              ttlSeconds,
              ignoreHours,
              ...(displace && { displace }),
              ...(holdId && { instead: holdId }),
            }),
          )
        if (mine !== turn && store.get().phase !== 'claiming') return giveBack(hold.holdId)
        rest()
        timer = setInterval(beat, every)
        store.set({ holdId: hold.holdId, key: keyOf(wish), max: Date.parse(hold.maxExpiresAt) })
        if (mine === turn) store.set({ phase: 'held' })
      })
    } catch (problem) {
      if (mine === turn) store.set({ phase: 'refused', problem })
    }
  }
  function release() {
    const { holdId } = store.get()
    turn++
    rest()
    store.set({ phase: 'idle', holdId: '', key: '', problem: null })
    if (holdId) drop(holdId)
  }
  /** @param {Wish} wish */
  const isHeld = wish => Boolean(store.get().holdId) && store.get().key === keyOf(wish)
  const leave = e => {
    const { holdId } = store.get()
    if (holdId && !e.persisted)
      navigator.sendBeacon?.(
        '/v1/holds/release',
        new Blob([JSON.stringify({ holdId, clientId: client.id })], { type: 'application/json' }),
      )
  }
  addEventListener('pagehide', leave)
  return {
    store,
    claim,
    release,
    isHeld,
    // idFor returns the id of the hold for the booking of a wish, once claims and releases that still run have ended.
    // It releases the hold of another wish, which could be in the way.
    /** @param {Wish} wish */
    async idFor(wish) {
      await desk.holding
      if (isHeld(wish)) return store.get().holdId
      if (store.get().holdId) {
        release()
        await desk.holding
      }
      return ''
    },
    // lost records that the booking was refused and its hold has ended.
    lost(problem) {
      store.set({ phase: 'refused', holdId: '', key: '', problem })
    },
    // forget discards a refusal after the dialog's time has changed.
    forget() {
      const { phase, holdId } = store.get()
      if (phase === 'refused') store.set({ phase: holdId ? 'held' : 'idle', problem: null })
    },
    // The caller calls used after the booking has consumed the hold.
    used() {
      turn++
      rest()
      store.set({ phase: 'idle', holdId: '', key: '' })
    },
    stop() {
      removeEventListener('pagehide', leave)
      release()
    },
  }
}
