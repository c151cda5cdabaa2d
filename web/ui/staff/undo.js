// Undo for the last action at this desk, for 10 seconds: a cancellation, a move, an attendance, a block. Each undo is a
// separate operation. The server refuses it if the time has been taken since. During these 10 seconds, the server sends
// no message about a cancellation or a move to anyone outside the clinic.
import { passing, Problem } from '../lib/api.js'
import { list, t } from '../lib/i18n.js'
import { dayAndTime } from '../lib/time.js'
import { find } from './store.js'
import { failKey, who } from './words.js'

const undoFor = 10000
/** @type {any} */
let last = null

// offer shows the completed action with an undo button. run() undoes the action and returns the appointment or
// appointments, if there are any. For several appointments, starts contains their old times, and a refusal names the
// times that are no longer free.
export function offer(desk, key, params, run, starts) {
  /** @type {any} */
  const mine = (last = { until: Date.now() + undoFor })
  mine.run = async () => {
    if (last === mine) last = null
    try {
      const done = await run(),
        a = done?.[0] || done
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
const refusal = problem =>
  problem.reason === 'undo_late' || problem.code === 'version_mismatch'
    ? 'undo.late'
    : { slot_taken: 'undo.taken', slot_held: 'undo.held' }[problem.code] ||
      (passing(problem) ? 'undo.unknown' : failKey(problem))

// offerAttendance offers to undo an attendance. It refuses if someone has set another one since then.
export const offerAttendance = (desk, a, attendance) =>
  offer(desk, 'att.said', { name: who(desk, a), state: t('att.' + attendance) }, async () => {
    const now = find(desk.store.get(), a.id) || a
    if (now !== a && now.attendance !== attendance) throw new Problem(412, { code: 'version_mismatch' })
    return desk.attend(now, a.attendance)
  })

// undoLast runs for Ctrl+Z, and for the key U on a card.
export function undoLast() {
  if (!last || Date.now() > last.until) return false
  last.run()
  return true
}
// Text fields have their own undo. While a dialog is open, an undo would interrupt another task.
const typing = el => el.closest?.('input, textarea, select, dialog') != null
addEventListener('keydown', e => {
  if (
    (e.ctrlKey || e.metaKey) &&
    !e.shiftKey &&
    !e.altKey &&
    e.key.toLowerCase() === 'z' &&
    !typing(e.target) &&
    !document.querySelector('dialog[open]') &&
    undoLast()
  )
    e.preventDefault()
})
