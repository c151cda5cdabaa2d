// Two memories of a page. The store: plain state, replaced and never changed in place. And what this tab
// keeps until it closes: recall, remember, forget. Storage can be blocked (an embedded page, a strict
// browser): then a Map stands in and a reload starts afresh. `?frame=` keeps several pages of one
// window apart, because frames of one origin share their sessionStorage.
import { useLayoutEffect, useReducer, useRef } from 'preact/hooks'
import { query } from './boot.js'

export function createStore(state) {
  const listeners = new Set()
  return {
    get: () => state,
    // set takes a patch, or a function from state to the next state.
    set(next) {
      const was = state
      state = typeof next === 'function' ? next(state) : { ...state, ...next }
      if (state !== was) for (const tell of [...listeners]) tell(state, was)
    },
    subscribe(tell) {
      listeners.add(tell)
      return () => listeners.delete(tell)
    },
  }
}

// useStore re-renders only when what the selector picks has changed.
export function useStore(store, pick = s => s) {
  const [, again] = useReducer(n => n + 1, 0)
  const seen = useRef()
  seen.current = { pick, value: pick(store.get()) }
  // Before paint, so that what arrives during the first render is in the first picture.
  useLayoutEffect(() => {
    const look = state => { if (!Object.is(seen.current.pick(state), seen.current.value)) again() }
    look(store.get())
    return store.subscribe(look)
  }, [store])
  return seen.current.value
}

const suffix = query.get('frame') ? '.' + query.get('frame') : ''
const memory = new Map()
export let kept
try {
  kept = window.sessionStorage
  kept.setItem('holdfast.try', '1')
  kept.removeItem('holdfast.try')
} catch { kept = null }

export const recall = key => {
  const name = 'holdfast.' + key + suffix
  try { return JSON.parse(kept ? kept.getItem(name) : memory.get(name)) ?? null } catch { return null }
}
export const remember = (key, value) => {
  const name = 'holdfast.' + key + suffix
  const text = JSON.stringify(value)
  try { kept ? kept.setItem(name, text) : memory.set(name, text) } catch { memory.set(name, text) }
}
export const forget = key => {
  const name = 'holdfast.' + key + suffix
  memory.delete(name)
  try { kept?.removeItem(name) } catch { /* nothing was kept */ }
}
