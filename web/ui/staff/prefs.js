// The preferences for this computer, stored in the browser. They contain no patient data.
import { createStore } from '../lib/store.js'

const key = 'holdfast.desk'
const usual = { names: true, keys: true, compact: false, hidden: [], place: '', seen: '', sound: false, slim: false }

const save = state => {
  try {
    localStorage.setItem(key, JSON.stringify(state))
  } catch {
    /* storage is blocked: the preferences last until the page closes */
  }
}

export function createPrefs() {
  let kept = {}
  try {
    kept = JSON.parse(localStorage.getItem(key)) || {}
  } catch {
    /* storage is blocked: use the defaults */
  }
  // On the first visit, earlier bookings do not count as unread.
  const prefs = createStore({ ...usual, seen: new Date().toISOString().slice(0, 19) + 'Z', ...kept })
  save(prefs.get())
  prefs.subscribe(save)
  return prefs
}

// initials shortens a name for a screen that patients can see: "Lena Vogt" becomes "L. V.".
export const initials = name =>
  name
    .trim()
    .split(/\s+/)
    .map(w => [...w][0].toUpperCase() + '.')
    .join(' ')
export const shown = (prefs, name) => (prefs.names ? name : initials(name))
