// Replaces node:test and node:assert in a browser, as far as the tests use them. run returns the failures.
const all = []
export default function test(name, body) { all.push({ name, body }) }

const same = (a, b) => {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || !a || !b || Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every(k => Object.hasOwn(b, k) && same(a[k], b[k]))
}
const fail = (message, got, want) => { throw new Error(`${message || 'not as it should be'}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`) }
export const equal = (got, want, message) => { if (!Object.is(got, want)) fail(message, got, want) }
export const notEqual = (got, other, message) => { if (Object.is(got, other)) fail(message, got, 'another') }
export const deepEqual = (got, want, message) => { if (!same(got, want)) fail(message, got, want) }
export const ok = (got, message) => { if (!got) fail(message, got, true) }

export async function run() {
  const failed = []
  for (const { name, body } of all) {
    try { await body() } catch (error) { failed.push(name + ': ' + error.message) }
  }
  return { ran: all.length, failed }
}
