// The client id: a secret that this tab creates and keeps until it closes.
//
// If a tab is duplicated, the browser copies sessionStorage. Two tabs with one id would keep closing each other's
// live stream. So a page stores the mark "left" when the tab leaves it. If the next page of the tab finds the mark, it
// uses the id without a check. Without the mark, the id may be a copy, and the tab asks the other tabs first. If
// another tab has the same id, this tab creates a new id and forgets the hold, which belongs to the other tab.
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
