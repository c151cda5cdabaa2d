// The heartbeat of a specialist who is online: this tab sends it while it is open, whichever page of
// the console is shown. Without it the server takes the specialist offline by itself.
import { post } from '../lib/api.js'

const every = 20000

export function createBeat(id) {
  let timer
  const beat = () => post(`/v1/specialists/${id}/heartbeat`, {}, { tries: 1 }).catch(problem => {
    if (problem.status === 401 || problem.status === 403) stop()
  })
  const stop = () => { clearInterval(timer); timer = 0 }
  return {
    start() { if (!timer) { beat(); timer = setInterval(beat, every) } },
    stop,
  }
}
