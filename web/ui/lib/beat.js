// A worker that keeps a hold alive. It beats here, and not in the page, because a hidden page's
// timers fall asleep and the hold would lapse under a patient who looked up a phone number.
let timer

async function beat({ holdId, clientId, ttlSeconds }) {
  let message
  try {
    const reply = await fetch('/v1/holds', {
      method: 'PATCH', headers: { 'Content-Type': 'application/json', 'Holdfast-Client': clientId },
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
