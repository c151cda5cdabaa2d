// The heartbeat of a specialist who is online: this tab sends it while it is open, whichever page of
// the console is shown. Without it the server takes the specialist offline by itself.
import { get, post } from '../lib/api.js'

const every = 20000

// back is told when this tab has put the specialist online again: a tab that was hidden, or a laptop
// that slept, was not heard for a while, and nobody had wanted to go.
export function createBeat(id, back) {
  let timer = 0
  const stop = () => { clearInterval(timer); timer = 0; document.removeEventListener('visibilitychange', seen) }
  const beat = () => post(`/v1/specialists/${id}/heartbeat`, {}, { tries: 1 }).catch(problem => {
    if (problem.status === 401 || problem.status === 403) stop()
    if (problem.reason === 'not_online') return check()
  })
  // Who was switched off by somebody stays off. What fails here the next heartbeat finds again.
  async function check() {
    try {
      const { presence } = await get(`/v1/specialists/${id}/presence`)
      if (!timer || presence.online) return
      if (presence.lastChange !== 'auto_offline') return stop()
      await post(`/v1/specialists/${id}/online`, {}, { tries: 1 })
      back()
    } catch {}
  }
  const seen = () => { if (!document.hidden) beat() }
  return {
    start() {
      if (timer) return
      timer = setInterval(beat, every)
      document.addEventListener('visibilitychange', seen)
      beat()
    },
    check() { if (timer) check() },
    stop,
  }
}
