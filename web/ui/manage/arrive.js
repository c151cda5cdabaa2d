// The button with which patients report that they have arrived, and the page of the QR code at the clinic's door.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { boot } from '../lib/boot.js'
import { newKey, post } from '../lib/api.js'
import { serverNow } from '../lib/clock.js'
import { Icon } from '../lib/icons.js'
import { t } from '../lib/i18n.js'
import { Notice } from '../lib/notice.js'
import { useHeading } from '../lib/router.js'
import { ProblemNotice } from '../book/problem.js'

const minute = 60000,
  late = 120 * minute
// A timer that waits longer than this fires at once.
const longest = 2 ** 31 - 1
// The reasons of refusals that have their own texts. The page shows all others above the appointment.
const reasons = ['arrival_too_early', 'arrival_over', 'arrival_off', 'in_progress', 'completed', 'no_show']

// useOpen reports whether the current time is within [from, until), and renders again at both ends.
function useOpen(from, until) {
  const [, again] = useState(0),
    now = serverNow(),
    next = now < from ? from : now < until ? until : 0
  useEffect(() => {
    const wait = Math.min(longest, next - serverNow()),
      timer = next && setTimeout(() => again(n => n + 1), Math.max(0, wait))
    return () => clearTimeout(timer)
  })
  return now >= from && now < until
}

// useCalls reads the appointment every 10 seconds while open is true and the page is visible, and once when the page
// becomes visible. So the page notices when the desk calls the patient in. It ignores failures: the page stays as it is,
// and the next attempt follows.
function useCalls(open, read) {
  const latest = useRef(read)
  latest.current = read
  useEffect(() => {
    if (!open) return
    const ask = () => {
      if (!document.hidden) latest.current().catch(() => {})
    }
    const timer = setInterval(ask, 10000)
    document.addEventListener('visibilitychange', ask)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', ask)
    }
  }, [open])
}

// Arrive shows the button while the server accepts an arrival, and then whether the desk calls the patient in. The
// people of a visit arrive together, so the first start and the last end count. read reads the appointment again.
export function Arrive({ a, visit, path, options, read, done, fail }) {
  const [busy, setBusy] = useState(false),
    [problem, setProblem] = useState(null)
  const key = useRef(newKey()),
    arrived = useRef(),
    pressed = useRef(false)
  const people = visit?.list || [a],
    from = Math.min(...people.map(x => Date.parse(x.slotStartDate))) - boot.arrivalMinutes * minute,
    until = Math.max(...people.map(x => Date.parse(x.slotEndDate)))
  const open = useOpen(from, until),
    near = useOpen(from, until + late), // patients are often called in after the end of their time
    here = near && a.attendance === 'arrived'
  useCalls(near, read)
  useEffect(() => {
    // The button had the focus and is gone.
    if (here && pressed.current) arrived.current?.focus()
  }, [here])
  const arrive = async () => {
    if (busy) return
    setBusy(true)
    setProblem(null)
    try {
      const { appointment } = await post(path, {}, { ...options, key: key.current })
      pressed.current = true
      done(appointment)
    } catch (p) {
      if (reasons.includes(p.reason)) setProblem(p)
      else fail(p)
      key.current = newKey()
    }
    setBusy(false)
  }
  if (here)
    return html`
      <${Notice} kind="ok" role="status" tabIndex="-1" innerRef=${arrived} text="arrive.done" />
    `
  if (near && a.attendance === 'in_progress')
    return html`
      <${Notice} kind="ok" role="status" text="arrive.called" />
    `
  if (!open || a.attendance !== 'expected') return null
  return html`
    ${
      problem &&
      html`
        <${ProblemNotice} problem=${problem} text=${'arrive.' + problem.reason} />
      `
    }
    <div class="row arrive">
      <button type="button" class="btn primary big" aria-disabled=${busy ? 'true' : undefined} onClick=${arrive}>
        <${Icon} name="check" />
        ${t('arrive.do', { n: people.length })}${busy && '…'}
      </button>
    </div>
  `
}

// Door is the page of the QR code. Browsers store no links to appointments, so the patient opens the link in the
// confirmation.
export function Door() {
  const heading = useHeading('door')
  return html`
    <h1 tabindex="-1" ref=${heading}>${t('arrive.door.title')}</h1>
    <p class="lead">${t(boot.arrivalMinutes ? 'arrive.door.text' : 'arrive.door.off', { n: boot.arrivalMinutes })}</p>
    ${
      boot.arrivalMinutes > 0 &&
      html`
        <p>${t('arrive.door.desk')}</p>
      `
    }
  `
}
