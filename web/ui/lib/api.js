// Requests to /v1 in JSON. A refusal is a Problem, never a bare status. GETs are tried three times;
// a POST is repeated only when it carries an idempotency key, because only then is a repeat safe.
import { client, random } from './client.js'
import { heard } from './clock.js'
import { recall, remember } from './store.js'

export class Problem extends Error {
  /** @param {number} status @param {any} body the server's words, where it answered */
  constructor(status, body = {}) {
    super(body.title || body.code || String(status))
    Object.assign(this, {
      status, code: body.code || (status ? 'internal' : 'offline'), detail: body.detail, errors: body.errors || [],
      reason: body.reason, until: body.until, retryAfter: body.retryAfterSeconds, appointmentId: body.appointmentId, start: body.slotStartDate,
    })
  }
}
// Several servers may stand behind one address. Each answer that changed something numbers what its server knew; sent back, the
// number has the next one, whichever that is, know as much. This tab keeps the highest, and a lower one if a server has waited for
// it in vain: then the numbers have begun anew.
let known = recall('change') || 0
const learn = (number, asked) => {
  if (!(number > known) && !(number < asked && asked === known)) return
  known = number
  remember('change', known)
}

export const wait = ms => new Promise(done => setTimeout(done, ms))
export const newKey = () => random(18)

async function once(method, path, { body, key, headers, timeout = 12000 }) {
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), timeout)
  const sent = Date.now(), asked = known
  try {
    const reply = await fetch(path, {
      method, signal: abort.signal, credentials: 'same-origin', cache: 'no-store',
      headers: {
        Accept: 'application/json', 'Holdfast-Client': client.id, ...(asked && { 'Holdfast-After': asked }), ...headers,
        ...(key && { 'Idempotency-Key': key }), ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    heard(reply.headers.get('Date'), sent, Date.now())
    learn(parseInt(reply.headers.get('Holdfast-Change')), asked)
    const text = await reply.text()
    let data
    // Half an answer is no answer: the outcome is unknown, as after a lost connection.
    try { data = text ? JSON.parse(text) : {} } catch { if (reply.ok) throw new Problem(0) }
    if (reply.ok) return data
    const problem = new Problem(reply.status, data)
    problem.retryAfter ??= +reply.headers.get('Retry-After') || undefined
    throw problem
  } catch (err) {
    throw err instanceof Problem ? err : new Problem(0)
  } finally {
    clearTimeout(timer)
  }
}

// Worth another try: no answer, or a server that says it is not itself at the moment.
export const passing = problem => problem.code === 'idempotency_in_flight' || [0, 500, 502, 503, 504].includes(problem.status)
// The server answered that it cannot write at the moment, which is worth telling at once.
export const cannotSave = problem => ['storage_unavailable', 'storage_full', 'overloaded'].includes(problem.code)

/** @param {any} options key, tries, timeout in ms, headers, body */
export async function request(method, path, options = {}) {
  const tries = options.tries ?? (method === 'GET' || options.key ? 3 : 1)
  for (let n = 1; ; n++) {
    try { return await once(method, path, options) } catch (problem) {
      if (n >= tries || !passing(problem) || (method !== 'GET' && cannotSave(problem))) throw problem
      await wait(250 * 2 ** n + Math.random() * 250)
    }
  }
}
export const get = (path, params, options) => {
  const q = String(new URLSearchParams(Object.entries(params || {}).filter(([, v]) => v != null && v !== '')))
  return request('GET', path + (q && '?' + q), options)
}
export const post = (path, body, options) => request('POST', path, { body: body ?? {}, ...options })
export const patch = (path, body, options) => request('PATCH', path, { body, ...options })
export const put = (path, body, options) => request('PUT', path, { body, ...options })
export const del = (path, body, options) => request('DELETE', path, { body, ...options })

// The one table from a problem's code to the words for it. The caller gives what it knows.
const keys = {
  cooldown_active: 'err.cooldown_active', quota_exceeded: 'err.quota_exceeded', rate_limited: 'err.rate_limited',
  storage_unavailable: 'err.storage', storage_full: 'err.storage', overloaded: 'err.storage',
  offline: 'err.offline', unauthorized: 'err.unauthorized', forbidden: 'err.forbidden', not_found: 'err.not_found',
  version_mismatch: 'err.version_mismatch', not_bookable: 'err.not_bookable', validation_failed: 'err.validation_failed',
}
export const wordsFor = problem => problem.reason === 'public_bookings' ? 'err.public_bookings' : keys[problem.code] || 'err.other'
