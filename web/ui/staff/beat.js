// The heartbeat of an online specialist. This tab sends it while it is open, on every page of the console. Without
// heartbeats, the server sets the specialist offline.
import { get, post } from '../lib/api.js'

const every = 20000

// createBeat sends heartbeats for the specialist id. If the server has set the specialist offline because heartbeats
// were missing (a hidden tab, a laptop that slept), createBeat sets the specialist online again and calls back().
export function createBeat(id, back) {
  let timer = 0
  const stop = () => {
    clearInterval(timer)
    timer = 0
    document.removeEventListener('visibilitychange', seen)
  }
  const beat = () =>
    post(`/v1/specialists/${id}/heartbeat`, {}, { tries: 1 }).catch(problem => {
      if (problem.status === 401 || problem.status === 403) stop()
      if (problem.reason === 'not_online') return check()
    })
  // Stop if a person set the specialist offline. If this request fails, the next heartbeat repeats the check.
  async function check() {
    try {
      const { presence } = await get(`/v1/specialists/${id}/presence`)
      if (!timer || presence.online) return
      if (presence.lastChange !== 'auto_offline') return stop()
      await post(`/v1/specialists/${id}/online`, {}, { tries: 1 })
      back()
    } catch {}
  }
  const seen = () => {
    if (!document.hidden) beat()
  }
  return {
    start() {
      if (timer) return
      timer = setInterval(beat, every)
      document.addEventListener('visibilitychange', seen)
      beat()
    },
    check() {
      if (timer) check()
    },
    stop,
  }
}
