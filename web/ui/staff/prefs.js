// What this computer's user likes, kept in the browser: nothing of it concerns a patient.
import { createStore } from '../lib/store.js'

const key = 'holdfast.desk'
const usual = { names: true, keys: true, compact: false, hidden: [] }

export function createPrefs() {
  let kept = {}
  try { kept = JSON.parse(localStorage.getItem(key)) || {} } catch { /* blocked: the usual, for this visit */ }
  const prefs = createStore({ ...usual, ...kept })
  prefs.subscribe(state => { try { localStorage.setItem(key, JSON.stringify(state)) } catch { /* for this visit only */ } })
  return prefs
}

// A screen that patients can see shows initials: "Lena Vogt" becomes "L. V.".
export const initials = name => name.trim().split(/\s+/).map(w => [...w][0].toUpperCase() + '.').join(' ')
export const shown = (prefs, name) => prefs.names ? name : initials(name)
