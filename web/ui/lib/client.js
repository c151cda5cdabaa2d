// The client id: a secret this tab makes for itself and keeps until it closes.
// Duplicating a tab copies sessionStorage, and two tabs with one id would end each other's live
// stream for ever. A page that is left notes it, so the next page of the same tab knows the id for
// its own. Without that note the id may be a copy: then the tab asks the others first, and if one
// answers, it takes a new id and forgets the hold it did not claim.
import { recall, remember, forget } from './store.js'

// 24 random bytes, from the one random source that also exists on a plain-HTTP LAN address.
export const random = (bytes = 24) => {
  const data = crypto.getRandomValues(new Uint8Array(bytes))
  return btoa(String.fromCharCode(...data)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')
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

export const ready = stored && !left && channel
  ? new Promise(done => {
    // Long enough for a tab that is busy; only a copy, and a tab that a crash brought back, wait at all.
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

// Once settled, this tab answers for its id. Other tabs' ids pass by unread and unkept.
ready.then(() => {
  if (channel) channel.onmessage = ({ data }) => {
    if (data?.ask && data.ask !== page && data.id === client.id) channel.postMessage({ answer: data.ask })
  }
})
