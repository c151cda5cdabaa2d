// A worker that renews a hold. The heartbeat is in a worker because browsers throttle the timers of a hidden page.
// Without the worker, the hold would expire while a patient looks up a phone number in another app.
let timer

async function beat({ holdId, clientId, ttlSeconds }) {
  let message
  try {
    const reply = await fetch('/v1/holds', {
      method: 'PATCH',
      headers: { 'Content-Type': 'application/json', 'Holdfast-Client': clientId },
      body: JSON.stringify({ holdId, clientId, ttlSeconds }),
    })
    message = { holdId, status: reply.status, body: await reply.json().catch(() => ({})) }
  } catch {
    message = { holdId, status: 0, body: {} }
  }
  postMessage(message)
}

onmessage = ({ data }) => {
  clearInterval(timer)
  if (!data) return
  timer = setInterval(beat, data.every, data)
}
