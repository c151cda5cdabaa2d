// The desk's own hold. It is claimed when the booking dialog opens, moves with the dialog's time, and is renewed while
// the dialog is open. It is released when the dialog closes. The booking page shows its time as unavailable.
import { client } from '../lib/client.js'
import { serverNow } from '../lib/clock.js'
import { createStore } from '../lib/store.js'
import { del, patch, post } from '../lib/api.js'

const ttlSeconds = 120,
  every = 40000

export function createDeskHold(desk) {
  const store = createStore({ phase: 'idle', holdId: '' })
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
      if (problem.status && store.get().holdId === holdId) store.set({ phase: 'refused', holdId: '', problem })
    }
  }
  // Only the latest claim counts. If an older claim succeeds late, its hold is released.
  /** @param {{typeId: string, specialistId: string, start: number, displace?: boolean | string, others?: any[], ignoreHours?: boolean}} wish */
  async function claim({ typeId, specialistId, start, displace, others = [], ignoreHours = true }) {
    const mine = ++turn,
      old = store.get().holdId
    rest()
    store.set({ phase: 'claiming', holdId: '', problem: null })
    if (old) drop(old)
    try {
      const hold = await inTurn(async () => {
        const taken =
          mine === turn &&
          (await desk.call(() =>
            post(others.length ? '/v1/visits/hold' : '/v1/holds', {
              ...(others.length ? { appointmentTypeIds: [typeId, ...others] } : { appointmentTypeId: typeId }),
              specialistId,
              slotStartDate: new Date(start).toISOString(),
              clientId: client.id,
              ttlSeconds,
              ignoreHours,
              ...(displace && { displace }),
            }),
          ))
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
    // forget discards a refusal after the dialog's time has changed.
    forget() {
      if (store.get().phase === 'refused') store.set({ phase: 'idle', problem: null })
    },
    // The caller calls used after the booking has consumed the hold.
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
