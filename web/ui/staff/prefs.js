// What this computer's user likes, kept in the browser: nothing of it concerns a patient.
import { createStore } from '../lib/store.js'

const key = 'holdfast.desk'
const usual = { names: true, keys: true, compact: false, hidden: [], place: '', seen: '' }

const save = state => { try { localStorage.setItem(key, JSON.stringify(state)) } catch { /* for this visit only */ } }

export function createPrefs() {
  let kept = {}
  try { kept = JSON.parse(localStorage.getItem(key)) || {} } catch { /* blocked: the usual, for this visit */ }
  // Whoever comes here for the first time has missed nothing.
  const prefs = createStore({ ...usual, seen: new Date().toISOString().slice(0, 19) + 'Z', ...kept })
  save(prefs.get())
  prefs.subscribe(save)
  return prefs
}

// A screen that patients can see shows initials: "Lena Vogt" becomes "L. V.".
export const initials = name => name.trim().split(/\s+/).map(w => [...w][0].toUpperCase() + '.').join(' ')
export const shown = (prefs, name) => prefs.names ? name : initials(name)
