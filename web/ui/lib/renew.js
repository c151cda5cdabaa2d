// A page may be open while the clinic changes what the page was made from. When it comes to light, the page is made anew, with
// what was typed, and says so once.
import { html, useEffect, useRef } from './html.js'
import { Notice } from './notice.js'
import { forget, recall, remember } from './store.js'

const made = document.getElementById('boot').textContent
export const renewed = recall('renewed')
forget('renewed')
let ends = false

// A refusal may come from that: no such type, a time that is none any more, other questions. Without one, anything may have changed.
const mayTell = problem => !problem || problem.status === 404 || ['validation_failed', 'not_bookable'].includes(problem.code)
const isOther = async () => {
  const reply = await fetch(location.href)
  return reply.ok && !(await reply.text()).includes(made)
}

// renew makes the page anew if the server would make another one now, or has no use for its hold; else it comes back. before()
// puts away what cannot be taken along.
export async function renew(before, problem) {
  if (!problem?.errors.some(e => e.field === 'holdId') && !(mayTell(problem) && await isOther().catch(() => false))) return
  if (!ends) {
    ends = true
    remember('renewed', true)
    await before()
    location.reload()
  }
  await new Promise(() => {})
}

export function Renewed() {
  const ref = useRef()
  useEffect(() => ref.current.focus(), [])
  return html`<div class="gap"><${Notice} role="alert" tabIndex="-1" innerRef=${ref} text="renewed" /></div>`
}
