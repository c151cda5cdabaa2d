// The page has two kinds of memory. The store is plain state that is replaced and never changed in place. recall,
// remember and forget access values that are stored until the tab closes. If the browser blocks storage (an
// embedded page, strict settings), a Map replaces it and a reload starts over. `?frame=` separates several pages
// in one window, because frames of one origin share their sessionStorage.
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

// useStore renders the component again only if the selected value has changed.
export function useStore(store, pick = s => s) {
  const [, again] = useReducer(n => n + 1, 0)
  const seen = useRef()
  seen.current = { pick, value: pick(store.get()) }
  // Compare before the first paint, so that the first picture includes updates that arrived during the first render.
  useLayoutEffect(() => {
    const look = state => {
      if (!Object.is(seen.current.pick(state), seen.current.value)) again()
    }
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
} catch {
  kept = null
}

export const recall = key => {
  const name = 'holdfast.' + key + suffix
  try {
    return JSON.parse(kept ? kept.getItem(name) : memory.get(name)) ?? null
  } catch {
    return null
  }
}
export const remember = (key, value) => {
  const name = 'holdfast.' + key + suffix
  const text = JSON.stringify(value)
  try {
    kept ? kept.setItem(name, text) : memory.set(name, text)
  } catch {
    memory.set(name, text)
  }
}
export const forget = key => {
  const name = 'holdfast.' + key + suffix
  memory.delete(name)
  try {
    kept?.removeItem(name)
  } catch {
    /* nothing was stored */
  }
}
