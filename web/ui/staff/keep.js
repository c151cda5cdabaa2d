// Stores the downtime plan in this browser, and refreshes it once an hour while a user is signed in. It also registers
// the service worker that serves the plan's page while the server is unreachable. lib/vault.js defines the stored data
// and its encryption.
import { get } from '../lib/api.js'
import { lang } from '../lib/i18n.js'
import { dateOf } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { canKeep, forget, note, recordOf, records, remember, seal, tidy } from '../lib/vault.js'

const hour = 3600e3

// lasts stores when the sign-in expires. A sign-out sets this time to 0 and does not delete the plan. After a sign-out,
// requests that are still running no longer store the time.
let out = false
const lasts = me => out || note(me.user.id, { until: Date.parse(me.expiresAt) })

// signedIn creates the keys for this user's plans from a password that the server has accepted. Deriving the keys is
// slow (600,000 rounds), so take and keep wait until it is done.
let remembering
export const signedIn = (me, password) => {
  out = false
  if (canKeep()) return (remembering = remember(me.user, password).then(() => lasts(me)))
}

// signedOut runs when a user signs out in this browser. It does not delete the plan. It sets the expiry to 0, so that
// ended does not treat the sign-out as a revoked sign-in.
export async function signedOut(me) {
  out = true
  if (canKeep()) await note(me.user.id, { until: 0 })
}

// ended runs when the server has no sign-in for this browser. If a stored sign-in should have lasted longer, it was
// revoked, for example because of a lost device, a new password or a colleague who left. Then ended deletes that user's
// plan.
export async function ended() {
  if (!canKeep()) return
  for (const r of await records()) if (r.until > serverNow()) await forget(r.id)
}

// take fetches a new plan, encrypts it, stores it, and puts its time into the desk's state. Without keys to encrypt it,
// take sets plan.kept to false.
export async function take(desk) {
  const { user } = desk.store.get().me
  await remembering
  if (!canKeep() || !(await recordOf(user.id))) return desk.patch({ plan: { kept: false } })
  const { kit } = await get('/v1/downtime-kit', { lang })
  await seal(user.id, kit)
  await lasts(await get('/v1/auth/me'))
  await tidy(dateOf(serverNow()))
  await navigator.serviceWorker.register('/staff-worker.js', { scope: '/staff' })
  desk.patch({ plan: { kept: true, madeAt: kit.madeAt } })
}

// keep runs after the requests for the first view. Every 5 minutes it replaces the plan if it is more than an hour old.
export function keep(desk) {
  if (!canKeep()) return desk.patch({ plan: { kept: false } })
  let noted = false
  const look = async () => {
    const s = desk.store.get()
    if (s.locked) return
    try {
      await remembering
      // Do this only once, for users who continue a sign-in without entering a password. Later, the user may have
      // signed out in another tab, and this tab must not undo that.
      if (!noted) await lasts(s.me)
      noted = true
      const record = await recordOf(s.me.user.id)
      if (record?.plan) desk.patch({ plan: { kept: true, madeAt: record.plan.madeAt } })
      if (!record?.plan || serverNow() - Date.parse(record.plan.madeAt) > hour) await take(desk)
    } catch (problem) {
      // The user's role is not allowed to read the plan, so delete a stored plan.
      if (problem.code === 'forbidden') await forget(s.me.user.id)
    }
  }
  setInterval(look, 5 * 60e3)
  return look()
}
