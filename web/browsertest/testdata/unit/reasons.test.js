// These tests check that the queue's page has a text in its own language for each reason that the server records.
import test from 'node:test'
import * as assert from 'node:assert/strict'
import { reasonOf } from '../ui/staff/reasons.js'

test('every reason of the server has a text', () => {
  for (const [text, word] of [
    ['the appointment has already started', 'over'],
    ['the appointment is already over', 'over'],
    ['the message could not be delivered in time', 'over'],
    ['the message could not be delivered in time: the mail server could not be reached', 'over'],
    ['too late to deliver: the appointment is about to start', 'late'],
    ['the last change can still be undone', 'undo'],
    ['no reminder is sent at night', 'night'],
    ['given up by hand', 'given_up'],
    ["emails have no sender: set --mail-from, or enter the clinic's email address in the settings", 'setup'],
    ['the mail server refused the connection or the password (535)', 'setup'],
    ["the mail server's certificate is not valid, or the server does not encrypt", 'setup'],
    ['the mail server is not configured correctly', 'setup'],
    ['the SMS gateway responded with status 401: check the account and the secret', 'setup'],
    ['no SMS gateway is set', 'setup'],
    ["the webhook's secret cannot be read", 'setup'],
    ['the mail server did not accept the message (550)', 'refused'],
    ['the SMS gateway responded with status 400', 'refused'],
    ['the SMS gateway refused the message: its response does not contain the expected text', 'refused'],
    ["the webhook's server responded with status 500", 'refused'],
    ['the SMS gateway responded with status 502 but without a result: it may have sent the message', 'maybe'],
    ['the server stopped during the attempt: the message may have been sent', 'maybe'],
    ['the queue was lost, such as in a restore of a backup: the message may have been sent', 'lost'],
    ['the mail server could not be reached', 'away'],
    ['the connection to the mail server was lost', 'away'],
    ["the webhook's server did not respond in time, or closed the connection", 'unknown'],
    ['the operation cannot be read', 'own'],
    ['the database could not be read', 'own'],
    ['the server stopped before the first attempt', 'wait'],
    ['upstream SetAppointment: rate limited: Too many requests', 'slow'],
    ['the practice system has the appointment more than once; cancel it there', 'twice'],
  ])
    assert.equal(reasonOf(text), word, text)
})
