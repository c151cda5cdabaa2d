// A page may be open while the clinic changes what the page was made from. When it comes to light, the page is made anew, with
// what was typed, and says so once.
import { html, useEffect, useRef } from './html.js'
import { Notice } from './notice.js'
import { forget, kept, recall, remember } from './store.js'

const made = document.getElementById('boot').textContent
export const renewed = recall('renewed')
forget('renewed')
let ends = false
// Two servers that disagree would have it made anew without an end: only what somebody has touched is made anew again.
let touched = !renewed
addEventListener('pointerdown', () => { touched = true }, true)
addEventListener('keydown', () => { touched = true }, true)

// A refusal may come from that: no such type, a time that is none any more, other questions. Without one, anything may have changed.
const mayTell = problem => !problem || problem.status === 404 || ['validation_failed', 'not_bookable'].includes(problem.code)
const isOther = async () => {
  const reply = await fetch(location.href, { signal: AbortSignal.timeout(8000) })
  return reply.ok && !(await reply.text()).includes(made)
}

// renew makes the page anew if the server would make another one now, or has no use for its hold; else it comes back. before()
// puts away what cannot be taken along. may() says whether the page can still be left: nothing is being booked, nor was. Where nothing can be
// kept over a reload, there is none.
export async function renew(before, may, problem) {
  if (!kept || !touched || !may()) return
  if (!problem?.errors.some(e => e.field === 'holdId') && !(mayTell(problem) && await isOther().catch(() => false))) return
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
  return html`<div class="gap"><${Notice} role="alert" tabIndex="-1" innerRef=${ref} text="renewed" /></div>`
}
