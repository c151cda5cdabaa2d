// The server's reasons are English sentences, such as "upstream SetAppointment: rate limited: …" for a practice system.
// The pages show them in their own language.
const classes = { 'rate limited': 'slow', 'not sent': 'away', misconfigured: 'setup', 'unknown outcome': 'unknown' }
/** @type {[RegExp, string][]} */
const reasons = [
  [/given up by hand/i, 'given_up'],
  [/still be undone/i, 'undo'],
  [/at night/i, 'night'],
  [/already (started|over)|could not be delivered in time/i, 'over'],
  [/certificate|password|configured|private network|no SMS gateway|have no sender|secret/i, 'setup'],
  [/queue was lost/i, 'lost'],
  [/may have (been sent|sent)/i, 'maybe'],
  [/more than once/i, 'twice'],
  [/patient was added|rollback/i, 'unseen'],
  [/about to start|too late|lead/i, 'late'],
  [/too many|rate.?limit/i, 'slow'],
  [/not available|taken|already booked/i, 'taken'],
  [/patient.*not exist|unknown patient/i, 'patient'],
  [/could not be (read|written|recorded)|cannot be read/i, 'own'],
  [/erased|is gone|was deleted|removed or (switched off|disabled)/i, 'gone'],
  [/moment ago/i, 'away'],
  [
    /still waiting|waiting to be written|turn came|server was stopped|server stopped|still to be found|not known yet/i,
    'wait',
  ],
  [/(was|were) not accepted|not accept|refused the message|responded with status|contain the expected/i, 'refused'],
  [/timeout|deadline|in time|no answer|reset|EOF/i, 'unknown'],
  [/unreachable|no such host|connect|could not be reached/i, 'away'],
]

// reasonOf returns the word for a reason, or undefined if there is none. Its text is queue.why.{word}.
export const reasonOf = text =>
  classes[/^upstream \w+: ([a-z ]+):/.exec(text)?.[1]] || reasons.find(([pattern]) => pattern.test(text))?.[1]
