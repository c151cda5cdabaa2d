// One store per page: plain state, replaced and never changed in place.
import { useEffect, useReducer, useRef } from 'preact/hooks'

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
  useEffect(() => {
    const look = state => { if (!Object.is(seen.current.pick(state), seen.current.value)) again() }
    look(store.get())
    return store.subscribe(look)
  }, [store])
  return seen.current.value
}
