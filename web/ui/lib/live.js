// The live stream of one page, open while the page is visible. It closes when the page is hidden, because browsers
// allow six connections per server, and opens again when the page is shown. If nothing arrives for 35 s, the stream
// counts as failed. After three failures the page polls and continues to retry the stream.
//
// tell(events) receives the events of each animation frame together. link(state) receives 'connecting' | 'live' |
// 'polling' | 'slow' | 'offline' | 'replaced'. poll() is the page's own request; it runs again `every` milliseconds
// after the last answer. 'slow' means that the server refused a poll (429 or 503) and the page is waiting longer.
import { post } from './api.js'

const stale = 35000
const pause = [800, 1500, 3000]

// waitAfter returns the milliseconds until the next poll after n refusals in a row: at least Retry-After, and twice
// as long after each refusal, up to 30 s. The random part spreads the polls of pages that were refused together.
export const waitAfter = (n, every, retryAfter) =>
  Math.max(1000 * (retryAfter || 0), Math.min(30000, every * 2 ** n)) * (1 + Math.random() / 4)

// ticketed returns a function that creates the address of a stream for this tab's client. An EventSource cannot set a
// header and the client id is a secret, so the address contains a ticket that works once.
export const ticketed = (path, params) => async () => {
  const { ticket } = await post('/v1/holds/stream-ticket', {}, { tries: 1 })
  return path + '?' + new URLSearchParams({ ...params, ticket })
}

export function createLive({ url, tell, link, poll, every = 5000 }) {
  let source,
    turn = 0,
    failures = 0,
    heardAt = 0,
    retry,
    watch,
    polling = null,
    frame = 0,
    queue = [],
    stopped = true,
    replaced = false
  let state = ''
  const set = next => {
    if (next !== state) {
      state = next
      link(next)
    }
  }

  // A hidden page draws no frames, so its last events do not wait for one.
  const later = run => (document.hidden ? setTimeout(run, 50) : requestAnimationFrame(run))
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
    if (source) {
      source.onmessage = source.onerror = null
      source.close()
    }
    source = null
  }
  const failed = () => {
    close()
    failures++
    if (failures >= 3) startPolling()
    else set('connecting')
    const ms = failures >= 3 ? 15000 : pause[failures - 1]
    retry = setTimeout(open, ms * (0.7 + Math.random() * 0.6))
  }
  const stopPolling = () => {
    clearTimeout(polling?.timer)
    polling = null
  }
  function startPolling() {
    if (polling) return
    const mine = (polling = /** @type {{ timer?: any }} */ ({}))
    let refusals = 0
    const ask = async () => {
      const problem = await poll().then(
        () => {},
        problem => problem,
      )
      if (polling !== mine) return // polling was stopped since then, and perhaps started again
      const refused = [429, 503].includes(problem?.status)
      refusals = refused ? refusals + 1 : 0
      mine.timer = setTimeout(ask, waitAfter(refusals, every, problem?.retryAfter))
      // The server is reachable again: open the stream without waiting for its next retry.
      if (state === 'offline' && !problem) open()
      set(refused ? 'slow' : problem && !problem.status ? 'offline' : 'polling')
    }
    ask()
  }
  async function open() {
    close()
    if (stopped || replaced || document.hidden) return
    if (!polling) set('connecting')
    heardAt = performance.now()
    const mine = turn
    let address
    try {
      address = typeof url === 'function' ? await url() : url
    } catch {
      if (mine === turn) failed()
      return
    }
    if (mine !== turn) return // the stream was closed or reopened since then
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
    watch = setInterval(() => {
      if (performance.now() - heardAt > stale) failed()
    }, 5000)
  }
  function ended(reason) {
    close()
    if (reason === 'replaced') {
      replaced = true
      set('replaced')
    } else {
      // The server closed the stream on purpose. Reopen it after 0.2 s to 1.5 s, so that not all pages reconnect at
      // the same moment.
      retry = setTimeout(open, 200 + Math.random() * 1300)
    }
  }
  const seen = () => {
    if (document.hidden) {
      close()
      stopPolling()
    } else if (!source) back()
  }
  const back = () => {
    failures = 0
    open()
  }
  const cut = () => {
    close()
    startPolling()
    set('offline')
  }

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
    // The person chose this tab: reopen the stream. The server then closes the other tab's stream as replaced.
    takeOver() {
      replaced = false
      back()
    },
  }
}
