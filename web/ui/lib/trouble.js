// Trouble shows a refusal in words for the clinic's staff: without a phone number to call and without a cooldown.
// `text` is a text key that replaces the usual one.
import { html } from './html.js'
import { wordsFor } from './api.js'
import { Notice } from './notice.js'

const own = {
  'err.cooldown_active': 'err.here',
  'err.public_bookings': 'err.here',
  'err.other': 'err.here',
  'err.quota_exceeded': 'err.quota_exceeded.elsewhere',
  'err.storage': 'err.storage.nohold',
}

export function Trouble({ problem, text, children }) {
  const key = problem && (text || wordsFor(problem))
  return key
    ? html`
        <${Notice} kind="danger" role="alert" text=${own[key] || key} params=${{ s: problem.retryAfter || 8 }}>
          ${children}
        </${Notice}>
      `
    : null
}
