// The steps of a page live in its history, so that "back" means the step before. Each step has one
// <h1 tabindex="-1">, which gets the focus when the step is entered.
import { useEffect, useRef } from './html.js'
import { boot } from './boot.js'

export function createRouter(go) {
  const pop = e => go(e.state?.step || null)
  addEventListener('popstate', pop)
  // n counts the steps taken on this page, so that "back" never leaves it by surprise.
  const n = () => history.state?.n || 0
  return {
    // url is kept unless one is given: steps are not addresses, only the choices are.
    push: (step, url) => history.pushState({ step, n: n() + 1 }, '', url ?? location.href),
    replace: (step, url) => history.replaceState({ step, n: n() }, '', url ?? location.href),
    back: otherwise => n() > 0 ? history.back() : otherwise(),
    step: () => history.state?.step || null,
    stop: () => removeEventListener('popstate', pop),
  }
}

// useHeading returns the ref of a step's h1 and moves focus there when the step changes, but not on
// the page's first view: a screen reader then reads the page from its top by itself. The tab's title
// says the step too.
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
