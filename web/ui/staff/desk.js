// The desk: the console's data and its actions. Components call desk's functions and never fetch by themselves.
//
// How the day board gets its data:
// - store has the state of the console; store.js defines it, and its reduce() applies every event to it. Components
//   subscribe to parts of the state and render again when a part changes.
// - start() opens the staff stream and loads the schedule: specialists, types and calendars. show(scope) sets the dates
//   that a page shows and loads their appointments.
// - The stream's events name the changes. Holds are applied immediately. Changed dates, hours and online bookings are
//   marked stale; settle() then fetches them in one refresh, after a short random delay.
// - If the stream fails three times, createLive polls the holds, the scope's appointments, the schedule and the online
//   bookings until the stream works again.
// - A change of an appointment sends the page's version of it in If-Match, so that the server refuses a change of an
//   outdated version. The appointment in the answer is put into the store immediately.
// - call() wraps the requests. If the server answers "unauthorized", call() locks the console, waits until the person
//   has signed in again, and then repeats the request, so that no input is lost.
import { client } from '../lib/client.js'
import { createLive, ticketed } from '../lib/live.js'
import { createStore } from '../lib/store.js'
import { addDays, dateOf } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { del, get, newKey, passing, patch as edit, post } from '../lib/api.js'
import { translate } from '../lib/mistake.js'
import { empty, find, reduce } from './store.js'
import { createPrefs } from './prefs.js'

const retryAfter = 5000

export function createDesk(me, reload = () => location.reload()) {
  const store = createStore({ ...empty, me })
  const prefs = createPrefs()
  const send = event => store.set(s => reduce(s, event))
  const patch = change => send({ type: 'set', patch: change })
  const role = me.user.role,
    own = role === 'specialist' ? me.user.specialistId : ''

  let form = null

  // --- locking the console if the sign-in ends while it is open
  let unlock, locked
  const lock = why => {
    if (!locked) {
      locked = new Promise(done => {
        unlock = done
      })
      live.stop()
      patch({ locked: why })
    }
    return locked
  }
  async function call(ask) {
    for (;;) {
      try {
        return await ask()
      } catch (problem) {
        if (problem.code !== 'unauthorized') throw translate(problem)
        kept(x => x.ended())
        await lock('expired')
      }
    }
  }
  // kept runs a function of keep.js, which updates the downtime plan in this browser when the sign-in changes.
  const kept = tell => import('../staff/keep.js').then(tell).catch(() => {})
  // reopen reloads the console if the user now has another role or another calendar, and reports whether it does: the
  // open pages, and the appointments that they have loaded, are those of the earlier role.
  const reopen = ({ user }) => {
    if (user.role === role && user.specialistId === me.user.specialistId) return false
    reload()
    return true
  }
  const signedIn = again => {
    if (reopen(again)) return
    patch({ locked: '', me: again })
    locked = null
    unlock?.()
    live.start()
  }

  // --- loading
  async function load({ from, to, specialistId = '' }) {
    const at = performance.now()
    const appointments = [],
      busy = []
    let cursor
    do {
      const page = await call(() =>
        get('/v1/appointments', {
          from,
          to,
          specialistId,
          status: 'confirmed',
          limit: 500,
          cursor,
          colleagues: own && 'busy',
        }),
      )
      appointments.push(...page.appointments)
      busy.push(...(page.busy || []))
      cursor = page.nextCursor
    } while (cursor)
    send({ type: 'loaded', from, to, specialistId, appointments, busy, at, asOf: serverNow() })
    settle()
  }
  // applyLatest returns a function that sends a request and applies the answer, unless the answer to a later request was
  // applied first.
  const applyLatest = (ask, apply) => {
    let asked = 0,
      applied = 0
    return async () => {
      const n = ++asked
      const answer = await call(ask)
      if (n < applied) return
      applied = n
      apply(answer)
    }
  }
  // loadSchedule loads the specialists, the types and the calendars, all from one state of the database. Archived
  // specialists and types count as inactive, because the board still shows their appointments.
  const loadSchedule = applyLatest(
    () => get('/v1/schedule'),
    ({ specialists, appointmentTypes, calendars, archived = { specialists: [], appointmentTypes: [] } }) =>
      send({
        type: 'schedule',
        specialists: [...specialists, ...archived.specialists.map(x => ({ ...x, active: false }))],
        types: [...appointmentTypes, ...archived.appointmentTypes.map(x => ({ ...x, active: false, specialists: [] }))],
        calendars: [
          ...calendars,
          ...archived.specialists.map(x => ({ specialistId: x.id, weeklyHours: [], overrides: [], blocks: [] })),
        ],
      }),
  )
  const loadNews = applyLatest(
    () => {
      send({ type: 'loading news' })
      return get('/v1/online-changes', { limit: 50 })
    },
    ({ changes }) => patch({ news: changes }),
  )
  const trouble = problem => {
    patch({ problem })
  }

  // --- the stream: one request fetches the changes of many events, after a random delay that spreads the requests of
  // all desks
  let settling,
    settled,
    failure = null
  function settle() {
    const s = store.get()
    if (settling || !s.ready || (!(s.scope && s.stale.length) && !s.staleHours.length && !s.staleNews)) return
    settling = setTimeout(
      () => {
        settling = 0
        settled = refreshOrRetry()
      },
      s.stale.includes('*') ? 0 : 80 + Math.random() * 240,
    )
  }
  // If the refresh fails, the changes that it has not loaded stay marked as stale. If a retry can succeed, it follows
  // after some seconds.
  async function refreshOrRetry() {
    const { stale, staleHours, staleNews } = store.get()
    const left = { stale, staleHours, staleNews }
    try {
      await refresh(left)
      if (failure && store.get().problem === failure) patch({ problem: null })
      failure = null
    } catch (problem) {
      failure = problem
      trouble(problem)
      send({ type: 'not loaded', ...left })
      // A part that did load may have planned a refresh already. It would repeat the failure at once.
      clearTimeout(settling)
      settling = 0
      if (passing(problem) || problem.status === 429)
        settling = setTimeout(
          () => {
            settling = 0
            settle()
          },
          retryAfter * (1 + Math.random()),
        )
    }
  }
  // refresh loads the changes in left, and removes from left each part that has loaded.
  async function refresh(left) {
    const { stale, staleHours, staleNews } = left,
      { scope } = store.get()
    if (scope && stale.length) {
      send({ type: 'loading' })
      const all = stale.includes('*'),
        inside = stale.filter(d => d >= scope.from && d < scope.to).sort()
      if (all) await load(scope)
      else if (inside.length) await load({ ...scope, from: inside[0], to: addDays(inside.at(-1), 1) })
      // Changed days outside the scope are marked as not loaded. They are fetched when a page shows them.
      const gone = all ? Object.keys(store.get().loaded).map(k => k.slice(0, 10)) : stale
      const outside = new Set(gone.filter(d => d < scope.from || d >= scope.to))
      if (outside.size)
        patch({
          loaded: Object.fromEntries(Object.entries(store.get().loaded).filter(([k]) => !outside.has(k.slice(0, 10)))),
        })
      left.stale = []
    }
    if (staleHours.length) {
      send({ type: 'loading hours' })
      await loadSchedule()
      left.staleHours = []
    }
    if (staleNews) await loadNews()
  }
  const address = ticketed('/v1/staff/stream')
  const live = createLive({
    // The server ends the stream if the user's sign-in is revoked. A ticket needs no sign-in, so check that first.
    url: async () => {
      if (store.get().connections) await call(() => get('/v1/auth/me', {}, { tries: 1 }))
      return address()
    },
    tell: events => {
      store.set(s => events.reduce(reduce, s))
      settle()
    },
    link: link => patch({ link }),
    poll: async () => {
      // The first request needs a sign-in, so it locks the console if the sign-in was revoked. The list of holds needs
      // none.
      await loadSchedule()
      const { scope, connections } = store.get()
      const { holds } = await call(() =>
        get('/v1/holds', { clientId: '' }, { tries: 1, headers: { 'Holdfast-Client': '' } }),
      )
      // If the stream has connected since then, its holds are newer than this answer.
      if (store.get().connections === connections) send({ type: 'live holds', holds })
      if (scope) await load(scope)
      await loadNews()
    },
  })

  // show sets the scope that a page shows, and loads its appointments. It returns a promise of the load.
  function show(scope) {
    const was = store.get().scope
    if (was && was.from === scope.from && was.to === scope.to && was.specialistId === scope.specialistId) return settled
    send({ type: 'scope', scope })
    settled =
      store.get().connections || store.get().link === 'polling'
        ? load(scope).catch(trouble)
        : begun.then(() => load(scope)).catch(trouble)
    return settled
  }
  let begin
  const begun = new Promise(done => {
    begin = done
  })
  // drawn is fulfilled when the first page has its data. Data that no page needs in order to appear is fetched
  // afterwards.
  let draw
  const drawn = new Promise(done => {
    draw = done
  })
  async function start() {
    live.start()
    // Open the stream before loading the appointments, so that no change between the answer and the first event is
    // lost. After 1.5 s without a stream, load them anyway.
    const connected = new Promise(done => {
      const stop = store.subscribe(s => {
        if (s.connections) {
          stop()
          done()
        }
      })
      setTimeout(done, 1500)
    })
    try {
      await Promise.all([loadSchedule(), connected])
      send({ type: 'loading' })
      send({ type: 'loading news' })
      begin()
      patch({ ready: true })
      await settled
    } finally {
      draw()
    }
    await loadNews()
  }

  // --- writing
  const match = a => ({ headers: { 'If-Match': `"${a.version}"` } })
  const enter = appointment => send({ type: 'changed', appointment, at: performance.now() })
  const changed = ({ appointment }) => {
    enter(appointment)
    return appointment
  }
  const changedAll = ({ appointments }) => appointments.map(appointment => changed({ appointment }))
  const path = a => '/v1/appointments/' + a.id
  // A change after this desk's own attendance change waits for that change and uses the new version, not the outdated
  // one. mine maps each version to the version that this desk's change has created from it.
  const attending = new Map(),
    mine = new Map()
  const upToDate = async a => {
    await attending.get(a.id)?.catch(() => {})
    let { version } = a
    while (mine.has(a.id + version)) version = mine.get(a.id + version)
    return { ...a, version }
  }
  // Change the card's icon immediately. If the server refuses the change, restore the icon and load the day again.
  async function attend(a, attendance) {
    enter({ ...a, attendance })
    try {
      const answer = await call(() => post(path(a) + '/attendance', { attendance }, { key: newKey(), ...match(a) }))
      if (answer.appointment.version > a.version) mine.set(a.id + a.version, answer.appointment.version)
      return changed(answer)
    } catch (problem) {
      enter(a)
      load({ from: dateOf(a.start), to: addDays(dateOf(a.start), 1), specialistId: a.specialistId }).catch(trouble)
      throw problem
    }
  }
  return {
    store,
    prefs,
    patch,
    call,
    lock,
    signedIn,
    reopen,
    show,
    start,
    drawn,
    load,
    loadSchedule,
    stop: live.stop,
    takeOver: live.takeOver,
    role,
    own,
    may: what => (what === 'overbook' ? role !== 'specialist' : what === 'set up' ? role === 'owner' : true),
    front: role !== 'specialist',
    reaches: specialistId => !own || own === specialistId,
    reload: () => load(store.get().scope),

    book: (body, key) => call(() => post('/v1/appointments', { ...body, clientId: client.id }, { key })).then(changed),
    // Booking a series does not use the desk's own hold, so release that hold first.
    planSeries: (typeId, rule) =>
      call(() =>
        post(`/v1/appointment-types/${typeId}/series-plan`, { ...rule, clientId: client.id }, { tries: 3 }),
      ).then(x => x.occurrences),
    bookSeries: (body, key) =>
      call(() => post('/v1/series', { ...body, clientId: client.id }, { key })).then(changedAll),
    series: id => call(() => get(`/v1/appointments/${id}/series`)).then(x => x.appointments),
    planMove: (a, body) => call(() => post(path(a) + '/series/plan', body, { tries: 3 })).then(x => x.occurrences),
    moveRest: async (was, body, key) => {
      const a = await upToDate(was)
      return changedAll(
        await call(() => post(path(a) + '/series/reschedule', { ...body, undoable: true }, { key, ...match(a) })),
      )
    },
    cancelRest: async (was, body, key) => {
      const a = await upToDate(was)
      return changedAll(
        await call(() => post(path(a) + '/series/cancel', { ...body, undoable: true }, { key, ...match(a) })),
      )
    },
    bookVisit: (body, key) =>
      call(() => post('/v1/visits', { ...body, clientId: client.id }, { key })).then(changedAll),
    visit: id => call(() => get(`/v1/appointments/${id}/visit`)).then(x => x.appointments),
    moveVisit: async (was, body, key) => {
      const a = await upToDate(was)
      return changedAll(
        await call(() => post(path(a) + '/visit/reschedule', { ...body, undoable: true }, { key, ...match(a) })),
      )
    },
    cancelVisit: async (was, body, key) => {
      const a = await upToDate(was)
      return changedAll(
        await call(() => post(path(a) + '/visit/cancel', { ...body, undoable: true }, { key, ...match(a) })),
      )
    },
    // Two quick key presses on one card run one after the other. Otherwise the server would refuse the second one as
    // outdated.
    attend(a, attendance) {
      const before = attending.get(a.id) || Promise.resolve()
      const now = before.catch(() => {}).then(() => attend(find(store.get(), a.id) || a, attendance))
      attending.set(a.id, now)
      return now.finally(() => {
        if (attending.get(a.id) === now) attending.delete(a.id)
      })
    },
    cancel: async (was, body, key) => {
      const a = await upToDate(was)
      return changed(await call(() => post(path(a) + '/cancel', { ...body, undoable: true }, { key, ...match(a) })))
    },
    move: async (was, body, key) => {
      const a = await upToDate(was)
      return changed(
        await call(() =>
          post(path(a) + '/reschedule', { ...body, undoable: true, clientId: client.id }, { key, ...match(a) }),
        ),
      )
    },
    recall: async (was, date, key) => {
      const a = await upToDate(was)
      return changed(await call(() => post(path(a) + '/recall', { date }, { key, ...match(a) })))
    },
    dropRecall: async was => {
      const a = await upToDate(was)
      return changed(await call(() => del(path(a) + '/recall', null, match(a))))
    },
    // correct changes the patient's data. Omitted fields stay unchanged.
    correct: async (was, body) => {
      const a = await upToDate(was)
      return changed(await call(() => edit(path(a), body, match(a))))
    },
    // undo reverses the cancellation or the move that created this version.
    undo: a => call(() => post(path(a) + '/undo', {}, { key: newKey(), ...match(a) })).then(changed),
    undoRest: a => call(() => post(path(a) + '/series/undo', {}, { key: newKey(), ...match(a) })).then(changedAll),
    fetch: id => call(() => get('/v1/appointments/' + id)).then(changed),
    log: id => call(() => get(`/v1/appointments/${id}/audit`)).then(x => x.audit),
    searchLog: params => call(() => post('/v1/audit/search', params, { tries: 3 })),
    history: id => call(() => get(`/v1/appointments/${id}/history`)).then(x => x.history),
    findPeople: q => call(() => post('/v1/people/search', { q }, { tries: 3 })).then(x => x.people),
    note: (id, text, key) => call(() => post(`/v1/appointments/${id}/person-notes`, { text }, { key })),
    dropNote: id => call(() => del('/v1/person-notes/' + id)),
    link: (id, appointmentId, key) =>
      call(() => post(`/v1/appointments/${id}/person-links`, { appointmentId }, { key })),
    unlink: id => call(() => del('/v1/person-links/' + id)),
    deliveries: id => call(() => get(`/v1/appointments/${id}/deliveries`)).then(x => x.deliveries),
    async block(specialistId, body, key) {
      const { block } = await call(() => post(`/v1/specialists/${specialistId}/blocks`, body, { key }))
      await loadSchedule()
      return block
    },
    // loadAbsences loads the absences whose patients get new times. The day board shows them in the column heads.
    loadAbsences: () =>
      call(() => get('/v1/absences')).then(
        x => patch({ absences: x.absences }),
        () => {},
      ),
    planBlocks: body => call(() => post('/v1/blocks/plan', body, { tries: 3 })),
    async closeTime(body, key) {
      const made = await call(() => post('/v1/blocks', body, { key }))
      await loadSchedule()
      return made
    },
    async dropBlocks(setId) {
      await call(() => del('/v1/block-sets/' + setId))
      await loadSchedule()
    },
    inTheWay: id => call(() => get(`/v1/blocks/${id}/appointments`)),
    tell: (id, key) => call(() => post(`/v1/appointments/${id}/tell`, {}, { key })),
    holidays: ics => call(() => post('/v1/blocks/holidays', { ics }, { tries: 3 })).then(x => x.days),
    async dropBlock({ id, specialistId }) {
      await call(() => del('/v1/blocks/' + id))
      await loadSchedule()
    },
    async dropOverride(specialistId, id) {
      await call(() => del('/v1/overrides/' + id))
      await loadSchedule()
    },
    requests: requests => send({ type: 'requests', requests }),
    waiting: () => call(() => get('/v1/waitlist')).then(x => x.waiting),
    offerTime: (id, body, key) => call(() => post(`/v1/waitlist/${id}/offer`, body, { key })),
    wait: (typeId, body, key) =>
      call(() => post(`/v1/appointment-types/${typeId}/waitlist`, body, { key })).then(x => x.waiting),
    waitSooner: (a, body, key) => call(() => post(path(a) + '/waitlist', body, { key })),
    search: params =>
      call(() => post('/v1/appointments/search', { limit: 50, ...params }, { tries: 3 })).then(x => x.appointments),
    explain: (typeId, start, specialistId) =>
      call(() =>
        get(`/v1/appointment-types/${typeId}/explain`, { slotStartDate: new Date(start).toISOString(), specialistId }),
      ).then(x => x.specialists),
    find: (typeId, wish) =>
      call(() => post(`/v1/appointment-types/${typeId}/find`, { ...wish, clientId: client.id }, { tries: 3 })).then(
        x => x.times,
      ),
    nextFree: (typeId, specialistId, after) =>
      call(() =>
        get(`/v1/appointment-types/${typeId}/next-available`, { specialistId, after: new Date(after).toISOString() }),
      ).then(x => x.slot),
    signOut: () =>
      kept(x => x.signedOut(me))
        .then(() => post('/v1/auth/sign-out'))
        .catch(() => {})
        .then(reload),
    signedOut: () => kept(x => x.signedOut(me)),

    // --- dialogs and toasts
    // If a dialog opens over a form with input, closing the dialog opens that form again.
    open: (kind, props) =>
      patch({
        dialog: { kind, ...(kind !== 'book' && form?.dirty() && { back: { kind: 'book', restore: true } }), ...props },
      }),
    // picking registers the form that takes its time from the board (pane.js), or removes it.
    picking: (next, old) => {
      if (next || form === old) form = next
    },
    form: () => form,
    close: () => patch({ dialog: null }),
    toast: (key, params, act) => patch({ toast: { key, params, act, n: performance.now() } }),
  }
}
