// The client id: a secret that this tab creates and keeps until it closes.
// If a tab is duplicated, the browser copies sessionStorage. Two tabs with one id would keep closing each other's
// live stream. So a page notes the id when it is left, and the next page of the same tab then uses the id without a
// check. Without the note, the id may be a copy. Then the tab asks the other tabs first. If one answers, this tab
// creates a new id and forgets the hold that it did not claim.
import { recall, remember, forget } from './store.js'

// random returns n random bytes as base64url. crypto.getRandomValues is the only random source that also exists on a
// plain-HTTP address in a local network.
export const random = (bytes = 24) => {
  const data = crypto.getRandomValues(new Uint8Array(bytes))
  return btoa(String.fromCharCode(...data))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '')
}

const fresh = () => {
  const id = 'c-' + random()
  remember('client', id)
  return id
}

const stored = recall('client')
export const client = { id: stored || fresh() }

const left = recall('left')
forget('left')
addEventListener('pagehide', () => remember('left', true))
addEventListener('pageshow', () => forget('left'))

const page = random(6)
const channel = typeof BroadcastChannel === 'function' ? new BroadcastChannel('holdfast.client') : null

export const ready =
  stored && !left && channel
    ? new Promise(done => {
        // This wait is long enough for a busy tab to answer. Only a duplicated tab, or a tab that was restored after a
        // crash, waits.
        const settle = setTimeout(done, 1500)
        channel.onmessage = ({ data }) => {
          if (data?.answer !== page) return
          client.id = fresh()
          forget('hold')
          forget('attempt')
          clearTimeout(settle)
          done()
        }
        channel.postMessage({ ask: page, id: client.id })
      })
    : Promise.resolve()

// From now on, this tab answers questions about its own id. It ignores questions about other ids and does not store
// them.
ready.then(() => {
  if (channel)
    channel.onmessage = ({ data }) => {
      if (data?.ask && data.ask !== page && data.id === client.id) channel.postMessage({ answer: data.ask })
    }
})
