// The preferences of this computer's user, kept in the browser. They contain no patient data.
import { createStore } from '../lib/store.js'

const key = 'holdfast.desk'
const usual = { names: true, keys: true, compact: false, hidden: [], place: '', seen: '', sound: false, slim: false }

const save = state => {
  try {
    localStorage.setItem(key, JSON.stringify(state))
  } catch {
    /* blocked: the preferences last until the page closes */
  }
}

export function createPrefs() {
  let kept = {}
  try {
    kept = JSON.parse(localStorage.getItem(key)) || {}
  } catch {
    /* blocked: use the defaults */
  }
  // For a first visit, no earlier booking counts as unread.
  const prefs = createStore({ ...usual, seen: new Date().toISOString().slice(0, 19) + 'Z', ...kept })
  save(prefs.get())
  prefs.subscribe(save)
  return prefs
}

// Show initials on a screen that patients can see: "Lena Vogt" becomes "L. V.".
export const initials = name =>
  name
    .trim()
    .split(/\s+/)
    .map(w => [...w][0].toUpperCase() + '.')
    .join(' ')
export const shown = (prefs, name) => (prefs.names ? name : initials(name))
