// The live stream of one appointment type, kept open while the page is seen. It closes when the page
// is hidden (browsers allow six connections per server), reopens when shown, distrusts a silence of
// 35 s, and after three failures asks by polling while it keeps trying.
//
// tell(events) gets each animation frame's events at once; link(state) gets
// 'connecting' | 'live' | 'polling' | 'offline' | 'replaced'; poll() is the page's own question, asked again `every` so
// many milliseconds, but never twice at a time.
import { post } from './api.js'

const stale = 35000
const pause = [800, 1500, 3000]

// ticketed makes the address of a stream for this tab's client. An EventSource cannot set a header and the client is a
// secret, so the address has a ticket that works once.
export const ticketed = (path, params) => async () => {
  const { ticket } = await post('/v1/holds/stream-ticket', {}, { tries: 1 })
  return path + '?' + new URLSearchParams({ ...params, ticket })
}

export function createLive({ url, tell, link, poll, every = 5000 }) {
  let source, turn = 0, failures = 0, heardAt = 0, retry, watch, polling, frame = 0, queue = [], stopped = true, replaced = false
  let state = ''
  const set = next => { if (next !== state) { state = next; link(next) } }

  // A hidden page draws no frames; its last events must not wait for one.
  const later = run => document.hidden ? setTimeout(run, 50) : requestAnimationFrame(run)
  const flush = () => {
    frame = 0
    const events = queue
    queue = []
    if (events.length) tell(events)
  }
  const close = () => {
    turn++
    clearTimeout(retry)
    clearInterval(watch)
    if (source) { source.onmessage = source.onerror = null; source.close() }
    source = null
  }
  const failed = () => {
    close()
    failures++
    if (failures >= 3) startPolling()
    else set('connecting')
    const ms = failures >= 3 ? 15000 : pause[failures - 1]
    retry = setTimeout(open, ms * (.7 + Math.random() * .6))
  }
  const stopPolling = () => { clearInterval(polling); polling = 0 }
  function startPolling() {
    if (polling) return
    let asking = false
    const ask = () => asking || (asking = true) && poll().finally(() => { asking = false }).then(() => {
      if (!polling) return
      // The server is there again: the stream need not wait for its turn.
      const back = state === 'offline'
      set('polling')
      if (back) open()
    }, problem => {
      if (polling) set(problem?.status ? 'polling' : 'offline')
    })
    polling = setInterval(ask, every)
    ask()
  }
  async function open() {
    close()
    if (stopped || replaced || document.hidden) return
    if (!polling) set('connecting')
    heardAt = performance.now()
    const mine = turn
    let address
    try { address = typeof url === 'function' ? await url() : url } catch { if (mine === turn) failed(); return }
    if (mine !== turn) return // closed or opened again meanwhile
    source = new EventSource(address)
    source.onmessage = ({ data }) => {
      heardAt = performance.now()
      const event = JSON.parse(data)
      if (event.type === 'ping') return
      if (event.type === 'connected') {
        failures = 0
        stopPolling()
        set('live')
      }
      if (event.type === 'end') return ended(event.reason)
      queue.push(event)
      frame ||= later(flush) || 1
    }
    source.onerror = failed
    watch = setInterval(() => { if (performance.now() - heardAt > stale) failed() }, 5000)
  }
  function ended(reason) {
    close()
    if (reason === 'replaced') {
      replaced = true
      set('replaced')
    } else {
      // The server ended it in good order: come back soon, but not all readers at once.
      retry = setTimeout(open, 200 + Math.random() * 1300)
    }
  }
  const seen = () => {
    if (document.hidden) { close(); stopPolling() } else if (!source) { failures = 0; open() }
  }
  const back = () => { failures = 0; open() }
  const cut = () => { close(); startPolling(); set('offline') }

  return {
    start() {
      stopped = false
      addEventListener('online', back)
      addEventListener('offline', cut)
      document.addEventListener('visibilitychange', seen)
      open()
    },
    stop() {
      stopped = true
      removeEventListener('online', back)
      removeEventListener('offline', cut)
      document.removeEventListener('visibilitychange', seen)
      close()
      stopPolling()
    },
    // The person wants this tab to be the one: the other is told.
    takeOver() { replaced = false; failures = 0; open() },
  }
}
