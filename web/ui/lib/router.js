// The steps of a page live in its history, so that "back" means the step before. Each step has one
// <h1 tabindex="-1">, which gets the focus when the step is entered.
import { useEffect, useRef } from './html.js'

export function createRouter(go) {
  const pop = e => go(e.state?.step || null)
  addEventListener('popstate', pop)
  return {
    stop: () => removeEventListener('popstate', pop),
    // url is kept unless one is given: steps are not addresses, only the choices are.
    push: (step, url) => history.pushState({ step }, '', url ?? location.href),
    replace: (step, url) => history.replaceState({ step }, '', url ?? location.href),
    step: () => history.state?.step || null,
  }
}

// useHeading returns the ref of a step's h1 and moves focus there when the step changes, but not on
// the page's first view: a screen reader then reads the page from its top by itself.
let first = true
export function useHeading(step) {
  const ref = useRef()
  useEffect(() => {
    if (!first) {
      scrollTo(0, 0)
      ref.current?.focus({ preventScroll: true })
    }
    first = false
  }, [step])
  return ref
}
