// JSON requests to /v1. An error is always a Problem, never a bare status. A GET is tried up to 3 times. A POST is
// repeated only if it has an idempotency key, because only then is a repeat safe.
import { client, random } from './client.js'
import { heard } from './clock.js'
import { recall, remember } from './store.js'

export class Problem extends Error {
  /** @param {number} status @param {any} body the JSON body of the server's answer, if there was one */
  constructor(status, body = {}) {
    super(body.title || body.code || String(status))
    Object.assign(this, {
      status,
      code: body.code || (status ? 'internal' : 'offline'),
      detail: body.detail,
      errors: body.errors || [],
      reason: body.reason,
      until: body.until,
      retryAfter: body.retryAfterSeconds,
      appointmentId: body.appointmentId,
      start: body.slotStartDate,
    })
  }
}
// Several servers may share one address. Each answer to a change carries the number of the latest change that its
// server has. The page sends this number back, so that the next server first waits until it has that change too. This
// tab keeps the highest number. If a server answers with a lower number although it has waited, the numbering has
// restarted, and this tab takes the lower number.
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
  const sent = Date.now(),
    asked = known
  try {
    const reply = await fetch(path, {
      method,
      signal: abort.signal,
      credentials: 'same-origin',
      cache: 'no-store',
      headers: {
        Accept: 'application/json',
        'Holdfast-Client': client.id,
        ...(asked && { 'Holdfast-After': asked }),
        ...headers,
        ...(key && { 'Idempotency-Key': key }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    heard(reply.headers.get('Date'), sent, Date.now())
    learn(parseInt(reply.headers.get('Holdfast-Change')), asked)
    const text = await reply.text()
    let data
    // If the body is incomplete, the outcome is unknown, as after a lost connection.
    try {
      data = text ? JSON.parse(text) : {}
    } catch {
      if (reply.ok) throw new Problem(0)
    }
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

// passing reports whether a retry can succeed: the server did not answer, or it has a temporary error.
export const passing = problem =>
  problem.code === 'idempotency_in_flight' || [0, 500, 502, 503, 504].includes(problem.status)
// cannotSave reports whether the server answered that it cannot write at the moment. In that case, do not repeat
// a POST here, so that the page can show this immediately.
export const cannotSave = problem => ['storage_unavailable', 'storage_full', 'overloaded'].includes(problem.code)

/** @param {any} options key, tries, timeout in ms, headers, body */
export async function request(method, path, options = {}) {
  const tries = options.tries ?? (method === 'GET' || options.key ? 3 : 1)
  for (let n = 1; ; n++) {
    try {
      return await once(method, path, options)
    } catch (problem) {
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

// keys maps a problem's code to its text. The caller gives the parameters.
const keys = {
  cooldown_active: 'err.cooldown_active',
  quota_exceeded: 'err.quota_exceeded',
  rate_limited: 'err.rate_limited',
  storage_unavailable: 'err.storage',
  storage_full: 'err.storage',
  overloaded: 'err.storage',
  offline: 'err.offline',
  unauthorized: 'err.unauthorized',
  forbidden: 'err.forbidden',
  not_found: 'err.not_found',
  version_mismatch: 'err.version_mismatch',
  not_bookable: 'err.not_bookable',
  validation_failed: 'err.validation_failed',
}
export const wordsFor = problem =>
  ['public_bookings', 'clinic_rule', 'clinic_rule_unavailable'].includes(problem.reason)
    ? 'err.' + problem.reason
    : keys[problem.code] || 'err.other'
