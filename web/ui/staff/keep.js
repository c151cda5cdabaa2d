// Keeps the plan for a failure in this browser, once an hour while somebody is signed in, and has the page that opens it stay
// when the server is gone. What is kept and how: lib/vault.js.
import { get } from '../lib/api.js'
import { dateOf } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { canKeep, forget, note, recordOf, records, remember, seal, tidy } from '../lib/vault.js'

const hour = 3600e3

// lasts notes how long a sign-in should last. Signing out wrote that none does, and the plan of before is still here.
// What is still under way when somebody signs out writes nothing more.
let out = false
const lasts = me => out || note(me.user.id, { until: Date.parse(me.expiresAt) })

// signedIn is told of a password that was right: it is what the plans of this person open with. Making keys of it takes a moment.
let remembering
export const signedIn = (me, password) => {
  out = false
  if (canKeep()) return remembering = remember(me.user, password).then(() => lasts(me))
}

// signedOut is told when somebody signs out here: the plan stays, and a sign-in that is missing later is no surprise.
export async function signedOut(me) {
  out = true
  if (canKeep()) await note(me.user.id, { until: 0 })
}

// ended is told that the server knows of no sign-in. One that should have lasted longer was ended elsewhere, with a device that was lost,
// a new password or somebody who left: the plan goes with it.
export async function ended() {
  if (!canKeep()) return
  for (const r of await records()) if (r.until > serverNow()) await forget(r.id)
}

// take asks for a new plan and seals it. It answers when the plan is from, or nothing where there are no keys to seal it with.
export async function take(desk) {
  const { user } = desk.store.get().me
  await remembering
  if (!canKeep() || !await recordOf(user.id)) return desk.patch({ plan: { kept: false } })
  const { kit } = await get('/v1/downtime-kit')
  await seal(user.id, kit)
  await lasts(await get('/v1/auth/me'))
  await tidy(dateOf(serverNow()))
  await navigator.serviceWorker.register('/staff-worker.js', { scope: '/staff' })
  desk.patch({ plan: { kept: true, madeAt: kit.madeAt } })
}

// keep begins when the desk is open, after what its first picture needs.
export function keep(desk) {
  if (!canKeep()) return desk.patch({ plan: { kept: false } })
  let noted = false
  const look = async () => {
    const s = desk.store.get()
    if (s.locked) return
    try {
      await remembering
      // Once, for who comes without a password. Later, another tab may have signed out, and this one not know it yet.
      if (!noted) await lasts(s.me)
      noted = true
      const record = await recordOf(s.me.user.id)
      if (record?.plan) desk.patch({ plan: { kept: true, madeAt: record.plan.madeAt } })
      if (!record?.plan || serverNow() - Date.parse(record.plan.madeAt) > hour) await take(desk)
    } catch (problem) {
      // Without a role that may see it, there is nothing to keep.
      if (problem.code === 'forbidden') await forget(s.me.user.id)
    }
  }
  setInterval(look, 5 * 60e3)
  return look()
}
