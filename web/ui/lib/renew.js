// The clinic can change the data from which an open page was built. If the page notices this, it reloads with the
// patient's entries, and shows a notice once.
import { html, useEffect, useRef } from './html.js'
import { Notice } from './notice.js'
import { forget, kept, recall, remember } from './store.js'

const made = document.getElementById('boot').textContent
export const renewed = recall('renewed')
forget('renewed')
let ends = false
// Two servers with different data could make the page reload forever. So a reloaded page reloads again only after a
// touch, click or key press.
let touched = !renewed
addEventListener(
  'pointerdown',
  () => {
    touched = true
  },
  true,
)
addEventListener(
  'keydown',
  () => {
    touched = true
  },
  true,
)

// mayTell reports whether such a change can be the cause of a refusal: an unknown type, a time that no longer exists,
// other questions. Without a problem it returns true.
const mayTell = problem =>
  !problem || problem.status === 404 || ['validation_failed', 'not_bookable'].includes(problem.code)
const isOther = async () => {
  const reply = await fetch(location.href, { signal: AbortSignal.timeout(8000) })
  return reply.ok && !(await reply.text()).includes(made)
}

// renew reloads the page if the server would now send a different page, or if the server refused the hold. Otherwise it
// returns. before() releases everything that cannot survive the reload. may() reports whether the patient can still
// leave the page: no booking is running or finished. If the browser cannot store anything across a reload, renew does
// nothing.
export async function renew(before, may, problem) {
  if (!kept || !touched || !may()) return
  if (!problem?.errors.some(e => e.field === 'holdId') && !(mayTell(problem) && (await isOther().catch(() => false))))
    return
  if (!may()) return
  if (!ends) {
    ends = true
    await before()
    ends = may()
    if (!ends) return
    remember('renewed', true)
    location.reload()
  }
  await new Promise(() => {})
}

export function Renewed() {
  const ref = useRef()
  useEffect(() => ref.current.focus(), [])
  return html`
    <div class="gap"><${Notice} role="alert" tabIndex="-1" innerRef=${ref} text="renewed" /></div>
  `
}
