// Taking back what was just done at this desk, for ten seconds: a cancellation, a move, an attendance, a
// block. Each way back is an operation of its own that the server may refuse, since the time may be gone.
// Nobody outside was told of a cancellation or a move until then.
import { passing } from '../lib/api.js'
import { list } from '../lib/i18n.js'
import { dayAndTime } from '../lib/time.js'
import { failKey } from './words.js'

export const undoFor = 10000
/** @type {any} */
let last = null

// offer says what was done, and how to take it back. run() does that and gives the appointment, if there is one, or several: then
// starts are the times that they had, of which the refusal names those that are gone.
export function offer(desk, key, params, run, starts) {
  /** @type {any} */
  const mine = last = { until: Date.now() + undoFor }
  mine.run = async () => {
    if (last === mine) last = null
    try {
      const done = await run(), a = done?.[0] || done
      if (a?.id) desk.patch({ reveal: a.id })
      desk.toast('undo.done')
    } catch (problem) {
      const gone = starts && starts.filter((_, i) => problem.errors?.some(x => x.field === `times[${i}]`))
      if (gone?.length) desk.toast('undo.gone', { list: list(gone.map(dayAndTime)) }, { kind: 'bad' })
      else desk.toast(refusal(problem), {}, { kind: 'bad' })
    }
  }
  desk.toast(key, params, { key: 'undo.do', kind: 'undo', hint: 'Ctrl Z', ms: undoFor, run: mine.run })
}
const refusal = problem => problem.reason === 'undo_late' || problem.code === 'version_mismatch' ? 'undo.late'
  : { slot_taken: 'undo.taken', slot_held: 'undo.held' }[problem.code] || (passing(problem) ? 'undo.unknown' : failKey(problem))

// undoLast is what Ctrl+Z does, and U on a card.
export function undoLast() {
  if (!last || Date.now() > last.until) return false
  last.run()
  return true
}
// Fields have an undo of their own, and a dialog is in the middle of something else.
const typing = el => el.closest?.('input, textarea, select, dialog') != null
addEventListener('keydown', e => {
  if ((e.ctrlKey || e.metaKey) && !e.shiftKey && !e.altKey && e.key.toLowerCase() === 'z' && !typing(e.target) && !document.querySelector('dialog[open]') && undoLast()) e.preventDefault()
})
