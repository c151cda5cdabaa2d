// A typed client of a Holdfast server. The paths, bodies and answers are in api.d.ts, generated from
// docs/api/openapi.yaml.
import createClient from 'openapi-fetch'
import type { components, paths } from './api.d.ts'

export type Problem = components['schemas']['Problem']
export type Frame = components['schemas']['StreamFrame']

/**
 * newSecret returns a client secret, which owns the holds of this program or tab. As an Idempotency-Key, use a new one
 * for each request.
 */
export const newSecret = () => Array.from(crypto.getRandomValues(new Uint8Array(18)), x => x.toString(16).padStart(2, '0')).join('')

/** Credentials are sent with every request: the client secret, and an API key if the operation needs one. */
export interface Credentials { key?: string, client?: string }
const headersOf = ({ key, client }: Credentials) => ({ ...(key && { Authorization: `Bearer ${key}` }), ...(client && { 'Holdfast-Client': client }) })

/** connect creates a client of the server at an address, such as https://book.example.org. */
export const connect = (server: string, credentials: Credentials = {}) => createClient<paths>({ baseUrl: server, headers: headersOf(credentials) })

/** Refused is the error for an unsuccessful answer. */
export class Refused extends Error {
  readonly problem: Problem | undefined
  constructor(problem: Problem | undefined) {
    super(problem ? `${problem.status} ${problem.code}: ${problem.detail}` : 'no answer')
    this.problem = problem
  }
}

/** done returns the data of an answer. It throws Refused if the server refused the request. */
export async function done<T>(asked: Promise<{ data?: T, error?: unknown }>): Promise<T> {
  const { data, error } = await asked
  if (data === undefined) throw new Refused(error as Problem | undefined)
  return data
}

/** frames yields the messages of a stream, such as /v1/holds/stream, until it ends or the caller leaves the loop. */
export async function* frames(server: string, path: string, query: Record<string, string>, credentials: Credentials = {}): AsyncGenerator<Frame> {
  const abort = new AbortController()
  try {
    const answer = await fetch(`${server}${path}?${new URLSearchParams(query)}`, { headers: headersOf(credentials), signal: abort.signal })
    if (!answer.ok || !answer.body) throw new Refused(await answer.json().catch(() => undefined))
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      const messages = (rest + value).split('\n\n')
      rest = messages.pop() ?? ''
      for (const message of messages) {
        const line = message.split('\n').find(x => x.startsWith('data:'))
        if (line) yield JSON.parse(line.slice(5)) as Frame
      }
    }
  } finally { abort.abort() }
}
