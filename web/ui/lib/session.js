// What this tab remembers until it closes. Storage can be blocked (an embedded page, a strict
// browser): then a Map stands in and a reload starts afresh. `?frame=` keeps several pages of one
// window apart, because frames of one origin share their sessionStorage.
import { query } from './boot.js'

const suffix = query.get('frame') ? '.' + query.get('frame') : ''
const memory = new Map()
let store
try {
  store = window.sessionStorage
  store.setItem('holdfast.try', '1')
  store.removeItem('holdfast.try')
} catch { store = null }

export const recall = key => {
  const name = 'holdfast.' + key + suffix
  try { return JSON.parse(store ? store.getItem(name) : memory.get(name)) ?? null } catch { return null }
}
export const remember = (key, value) => {
  const name = 'holdfast.' + key + suffix
  const text = JSON.stringify(value)
  try { store ? store.setItem(name, text) : memory.set(name, text) } catch { memory.set(name, text) }
}
export const forget = key => {
  const name = 'holdfast.' + key + suffix
  memory.delete(name)
  try { store?.removeItem(name) } catch { /* nothing was kept */ }
}
