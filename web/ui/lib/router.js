// The steps of a page are entries of the browser history, so that "back" leads to the previous step. Each step has one
// <h1 tabindex="-1">, which gets the focus when the step is entered.
import { useEffect, useRef } from './html.js'
import { boot } from './boot.js'

export function createRouter(go) {
  const pop = e => go(e.state?.step || null)
  addEventListener('popstate', pop)
  // n counts the steps taken on this page, so that "back" does not leave the page unexpectedly.
  const n = () => history.state?.n || 0
  return {
    // The address does not change unless url is given: only the choices have addresses, not the
    // steps.
    push: (step, url) => history.pushState({ step, n: n() + 1 }, '', url ?? location.href),
    replace: (step, url) => history.replaceState({ step, n: n() }, '', url ?? location.href),
    back: otherwise => (n() > 0 ? history.back() : otherwise()),
    step: () => history.state?.step || null,
    stop: () => removeEventListener('popstate', pop),
  }
}

// useHeading returns the ref of a step's h1 and moves the focus there when the step changes. On the first view of the
// page it does not move the focus: a screen reader then reads the page from its top. It also puts the step into the
// tab's title.
let first = true
export function useHeading(step) {
  const ref = useRef()
  useEffect(() => {
    if (!first) {
      scrollTo(0, 0)
      ref.current?.focus({ preventScroll: true })
    }
    first = false
    if (ref.current) document.title = [ref.current.textContent, boot.clinic.name].filter(Boolean).join(' – ')
  }, [step])
  return ref
}
