// The times of one appointment type on one page. The calendar fetches the times, keeps them live and sends the server
// the time that the patient has selected. Components read calendar.store and call its actions; no other code fetches
// times.
import { createStore } from '../lib/store.js'
import { createLive, ticketed } from '../lib/live.js'
import { client } from '../lib/client.js'
import { serverNow } from '../lib/clock.js'
import { addDays, dateOf, daysBetween, hhmm } from '../lib/time.js'
import { get, post, Problem, wait } from '../lib/api.js'
import { empty, freeOn, nearest, reduce } from './slots.js'

const span = 7
// more is the number of next days with times that are shown, in addition to the chosen day.
const more = 4

// isShown reports whether the times of a date are shown.
export const isShown = (s, date) => s.day === date || s.next.includes(date)
const shownUntil = s => [addDays(s.from, span), ...s.next.map(d => addDays(d, 1))].sort().pop()

// type: the appointment type. specialistId: '' for any specialist. moving: the appointment or group visit that the
// patient moves, with the token of its link: the time that it takes counts as free. hear(event) is also called for every
// live event. reached() is called when the server is reachable again after an outage.
export function createCalendar({
  type,
  specialistId = '',
  place = '',
  moving = null,
  hear = () => {},
  reached = () => {},
}) {
  const today = dateOf(serverNow())
  const store = createStore({
    slots: empty(type),
    type,
    specialistId,
    place,
    today,
    from: today,
    day: null,
    next: [], // the next days with times, if the page compares days
    chosen: null,
    loading: true,
    first: undefined,
    link: 'connecting',
    asOf: null,
    problem: null,
    until: addDays(today, Math.max(1, type.horizonDays || 60) + 1),
  })
  const base = `/v1/appointment-types/${encodeURIComponent(type.id)}`
  // type.with contains the types of the other people of a group visit
  const where = { specialistId, place, with: type.with },
    auth = moving ? { headers: { 'Holdfast-Manage': moving.token } } : {}
  // isCurrent reports whether a slot would leave the appointment where it is.
  const isCurrent = x => x.start === moving.slotStartDate && x.specialistIds.join() === moving.specialistId
  const slotEvents = events =>
    store.set(s => {
      let slots = s.slots
      for (const e of events) slots = reduce(slots, e, serverNow())
      return slots === s.slots ? s : { ...s, slots }
    })

  // --- fetching
  async function load(from, to, options) {
    const before = Object.values(store.get().slots.holds),
      sent = serverNow()
    const answer = await get(base + '/timeslots', { from, to, ...where }, { ...options, ...auth })
    if (moving) answer.slots = answer.slots.filter(x => !isCurrent(x))
    await fingerUp()
    slotEvents([{ type: 'loaded', answer, before, sent, open: store.get().day }])
    store.set({ asOf: serverNow(), problem: null })
    return answer
  }
  // While a finger is on the screen, the page does not move the times: an answer that could add a time waits until
  // the finger is lifted, for at most 2 s.
  let finger = false
  const down = () => {
    finger = true
  }
  const up = () => {
    finger = false
  }
  const fingerUp = async () => {
    for (let n = 0; finger && n < 20; n++) await wait(100)
  }

  const guarded = async work => {
    try {
      return await work()
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem
      store.set({ problem, loading: false })
      // The error message announces a retry, so schedule one.
      if (problem.code === 'rate_limited' || problem.status === 0) {
        setTimeout(
          () => {
            if (store.get().problem === problem) open()
          },
          1000 * (problem.retryAfter || 5),
        )
      }
    }
  }
  // next finds the first free time after a date, or null.
  async function next(after) {
    try {
      const answer = await get(base + '/next-available', { after, ...where }, auth)
      return answer.slot || answer
    } catch (problem) {
      if (problem.code === 'no_slots') return null
      throw problem
    }
  }
  // open shows the first day with times. That day is usually in the first week, so open shows the week without
  // waiting for the server's search for the first time. It sends both requests together.
  const open = wanted =>
    guarded(async () => {
      const s = store.get(),
        from = wanted ? weekOf(wanted) : s.from
      const first = next().then(slot => {
        store.set({ first: slot })
        return slot
      })
      first.catch(() => {})
      await load(from, addDays(from, span))
      const { slots, day: shown } = store.get(),
        now = serverNow()
      let day =
        wanted ||
        shown ||
        Object.keys(slots.days)
          .sort()
          .find(d => freeOn(slots, d, now).length)
      store.set({ from })
      if (!day) {
        const slot = await first
        day = slot ? dateOf(slot.start) : from
        const start = weekOf(day)
        if (start !== from) await load(start, addDays(start, span))
        store.set({ from: start })
      }
      show(day)
      store.set({ loading: false })
      await first
    })
  // ahead also shows the next days with times, after the chosen day. If this week has too few of them, it fetches the
  // following week. From then on, a change of the day updates these days too.
  let comparing = false
  async function ahead() {
    const { day, from, until } = store.get()
    comparing = true
    if (!day) return
    const find = to => {
      const { slots } = store.get(),
        now = serverNow()
      return Object.keys(slots.days)
        .filter(d => day < d && d < to && freeOn(slots, d, now).length)
        .sort()
        .slice(0, more)
    }
    const following = addDays(from, span)
    let next = find(following)
    if (next.length < more && following < until) {
      if (!store.get().slots.days[following]) await load(following, addDays(following, span)).catch(() => {})
      next = find(addDays(following, span))
    }
    store.set(s =>
      s.day === day ? { ...s, next, slots: reduce(s.slots, { type: 'ahead', date: day, dates: next }) } : s,
    )
  }
  const weekOf = date => addDays(today, Math.floor(daysBetween(today, date) / span) * span)

  function show(date) {
    store.set(s => ({
      ...s,
      day: date,
      next: s.day === date ? s.next : [],
      slots: s.slots.seen[date] && s.day === date ? s.slots : reduce(s.slots, { type: 'opened', date }),
    }))
    if (store.get().chosen && dateOf(store.get().chosen) !== date) choose(null)
    const from = weekOf(date)
    if (!store.get().slots.days[date]) return week(from, date)
    store.set({ from })
    if (comparing) ahead()
  }
  const week = (from, date) =>
    guarded(async () => {
      store.set({ from, loading: true })
      if (!store.get().slots.days[from]) await load(from, addDays(from, span))
      if (store.get().from !== from) return
      const slots = store.get().slots,
        now = serverNow()
      const days = Array.from({ length: span }, (_, i) => addDays(from, i))
      store.set({ loading: false })
      show(date || days.find(d => freeOn(slots, d, now).length) || from)
    })

  // --- refetching the days that events made stale: once per burst of events, after a random delay that spreads the
  // requests of all open pages
  let later = 0
  const refetch = () => {
    const stale = store.get().slots.stale
    if (!stale.length || later) return
    later = setTimeout(
      () => {
        later = 0
        const s = store.get(),
          dates = s.slots.stale.filter(d => d === '*' || s.slots.days[d]).sort()
        // If there was no free time before, any event can mean that there is one now.
        if (s.first === null) {
          slotEvents([{ type: 'fetching' }])
          return open()
        }
        const all = dates.includes('*')
        const from = all ? s.from : dates[0],
          to = all ? shownUntil(s) : dates.length && addDays(dates[dates.length - 1], 1)
        slotEvents([{ type: 'fetching', ...(all && { from, to }) }])
        if (!dates.length) return
        guarded(async () => {
          await load(from, daysBetween(from, to) > 31 ? addDays(from, 31) : to)
          const { first, slots } = store.get(),
            date = first && dateOf(first.start)
          if (slots.days[date] && !freeOn(slots, date, serverNow()).some(x => x.start === first.start))
            store.set({ first: await next() })
        })
      },
      400 + Math.random() * 600,
    )
  }
  const stopRefetch = store.subscribe((s, was) => {
    if (s.slots.stale !== was.slots.stale) refetch()
  })

  // --- live
  let tag = ''
  const live = createLive({
    url: ticketed('/v1/holds/stream', { appointmentTypeId: type.id }),
    tell(events) {
      slotEvents(events)
      events.forEach(hear)
    },
    link(link) {
      if (link !== 'live' && store.get().slots.known) slotEvents([{ type: 'broken' }])
      store.set({ link, ...(link === 'live' && { asOf: serverNow() }) })
      if (link === 'live' || link === 'polling') reached()
      if (link === 'live' && store.get().problem?.status === 0) open()
    },
    every: 1000,
    // While there is no stream, poll asks which times other clients have selected, and fetches the day again if it has
    // changed.
    async poll() {
      const { day, chosen } = store.get()
      if (!day) {
        await open()
        if (store.get().problem) throw store.get().problem
        return
      }
      const said = await get(
        '/v1/slots/poll',
        {
          appointmentTypeId: type.id,
          date: day,
          specialistId,
          selected: chosen && hhmm(chosen),
        },
        { tries: 1 },
      )
      const { cacheInfo, activeSelections = [], ...rest } = said
      const own = [chosen, shown].filter(Boolean).map(x => hhmm(x)),
        looked = activeSelections.filter(x => !own.includes(x))
      const starts = (store.get().slots.days[day]?.slots || []).map(x => x.start)
      slotEvents([{ type: 'polled', date: day, looking: starts.filter(x => looked.includes(hhmm(x))) }])
      const now = day + JSON.stringify(rest)
      if (now !== tag) await load(day, addDays([day, ...store.get().next].pop(), 1), { tries: 1 })
      tag = now
      store.set({ asOf: serverNow() })
    },
  })

  // --- choosing: after 300 ms the server receives the selection, and again every 8 s while it lasts. The server may
  // show it to other patients.
  let dwell,
    renew,
    shown = null
  function look(start) {
    clearTimeout(dwell)
    clearInterval(renew)
    if (!start) {
      if (shown)
        post('/v1/slots/deselect', {
          clientId: client.id,
          appointmentTypeId: type.id,
          slotStartDate: shown,
          specialistId,
        }).catch(() => {})
      shown = null
      return
    }
    const tell = () => {
      if (document.hidden) return
      shown = start
      post('/v1/slots/select', {
        clientId: client.id,
        appointmentTypeId: type.id,
        slotStartDate: start,
        specialistId,
      }).catch(() => {})
    }
    dwell = setTimeout(() => {
      tell()
      if (start === store.get().chosen) renew = setInterval(tell, 8000)
    }, 300)
  }
  function choose(start) {
    if (start === store.get().chosen) return
    store.set({ chosen: start })
    look(start)
  }

  return {
    store,
    show,
    ahead,
    choose,
    look,
    week: n => week(addDays(store.get().from, n * span)),
    showFirst: () => show(dateOf(store.get().first.start)),
    // around fetches the week that starts on the day of a lost time, and returns free times near that time. If there are
    // none, it fetches the week that starts on the day of the next free time.
    async around(start, n = 3) {
      const day = dateOf(start)
      await guarded(() => load(day, addDays(day, span)))
      let found = nearest(store.get().slots, start, n, serverNow())
      if (!found.length) {
        const first = await next().catch(() => null)
        if (first) await guarded(() => load(dateOf(first.start), addDays(dateOf(first.start), span)))
        found = nearest(store.get().slots, start, n, serverNow())
      }
      return found
    },
    start(day) {
      addEventListener('pointerdown', down)
      addEventListener('pointerup', up)
      addEventListener('pointercancel', up)
      live.start()
      return open(day)
    },
    retry: () => open(),
    takeOver: live.takeOver,
    stop() {
      removeEventListener('pointerdown', down)
      removeEventListener('pointerup', up)
      removeEventListener('pointercancel', up)
      clearTimeout(later)
      stopRefetch()
      look(null)
      live.stop()
    },
  }
}
