// The server's validation errors in the page's language. The server names the field and describes the mistake in
// English, for developers and agents. The page and the server come from the same program, so the page knows these
// sentences: each rule below matches the beginning or a part of some of them. A test checks that the server still uses
// the sentences.
import { boot } from './boot.js'
import { lang, t } from './i18n.js'

// Each rule is a pattern, a text key, and the names of the pattern's groups in the text. The first match applies.
const rules = [
  [/the stored \w+ belongs to a different|^must be entered again/, 'bad.again'],
  [/^another user has this address/, 'bad.address'],
  [/^this is the last owner with a password/, 'bad.owner'],
  [/^must have at least (\d+) characters/, 'bad.short', 'n'],
  [/^is a common password/, 'bad.common'],
  [/^is not your current password/, 'bad.current'],
  [/^is not the code that|^enter the six digits|^is wrong or has already been used/, 'bad.code'],
  [/^has no column (\w+) \(or/, 'bad.column', 'name'],
  [/^has the column (.+) twice/, 'bad.columns', 'name'],
  [/^has no rows|^is empty; the first line|^has no column name/, 'bad.rows'],
  [/^cannot be read as a table at line (\d+)/, 'bad.table', 'n'],
  [/; send it in parts$/, 'bad.parts'],
  [/coming appointments? (?:is|are) at "(.+)"/, 'bad.place.booked', 'place'],
  [/^the hours of the specialist ".+" are at "(.+)"/, 'bad.place.hours', 'place'],
  [/^the group ".+" contains the appointment type "(.+)"/, 'bad.group', 'type'],
  [/^the appointment type "(.+)" needs this room/, 'bad.needed', 'type'],
  [/^has no placeholder (\{[^}]*\})/, 'bad.placeholder', 'name'],
  [/^must contain \{to\} and \{text\}|^must be empty with GET/, 'bad.gateway'],
  [/^must be plain words/, 'bad.plain'],
  [/^must not contain /, 'bad.invisible'],
  [/^must be darker/, 'bad.darker'],
  [/^must be a PNG or an SVG/, 'bad.logo'],
  [/^must be a PNG, a JPEG/, 'bad.picture'],
  [/^must be a calling code/, 'bad.calling'],
  [/^must be a telephone number with a country code/, 'bad.country'],
  [/^must be a telephone number/, 'field.phone.err'],
  [/^must be an email address/, 'field.email.err'],
  [/^must be a date of birth/, 'field.birthDate.err'],
  [/^(?:enter|give) an? (?:email|phone).* or a/, 'field.contact.err'],
  [/^must be an origin like/, 'bad.origin'],
  [/must be a scheme and a host only/, 'bad.origin'],
  [
    /^must (?:be an address like|begin with https)|^must be the (?:issuer address|address of (?:a calendar|the gateway))/,
    'bad.url',
  ],
  [/^must be the name of a mail server/, 'bad.host'],
  [/^the password would be sent unencrypted/, 'bad.unencrypted'],
  [/^(?:must be|enter 1 to \d+) domains/, 'bad.domains'],
  [/windows (?:that )?overlap/, 'bad.overlap'],
  [/^must be 1 to \d+ (?:printable )?characters/, 'bad.id'],
  [/^must be (?:from |between )?(-?\d+)(?: \(never\))? (?:to|and) (\d+)/, 'bad.range', 'from', 'to'],
  [/^(?:must be )?at most (\d+) (?:characters|bytes)/, 'bad.long', 'n'],
  [/at most (\d+) days (?:ahead|after)|two years/, 'bad.far'],
  [/^together these appointments take longer/, 'bad.together'],
  [/^no specialist (?:with .* )?serves/, 'bad.serves'],
  [/is past|in the past|in the future|after today|after the day|too soon|too far in the past/, 'bad.later'],
  [/^must be later than|must start before it ends/, 'bad.order'],
  [/ twice|is in use|duplicate|id of another/, 'bad.twice'],
  [/^(?:enter|give|state) |^is missing|^is required|clinic requires it|must be answered/, 'bad.missing'],
]

// spoken returns the name of a place that the server names by its id.
const spoken = (name, value) => (name === 'place' && boot.places.find(x => x.id === value)?.name) || value
// inWords returns the text for the server's sentence about a field. English is the language of the sentence, so there
// the page keeps a sentence that no rule matches.
function inWords(message) {
  for (const [pattern, key, ...names] of rules) {
    const found = message.match(pattern)
    if (found) return t(key, Object.fromEntries(names.map((name, i) => [name, spoken(name, found[i + 1])])))
  }
  return lang === 'en' ? message : t('bad.other')
}

// translate replaces the sentences of a problem's errors. It keeps the server's sentence as detail.
export function translate(problem) {
  for (const e of problem.errors || [])
    if (e.detail === undefined) Object.assign(e, { detail: e.message, message: inWords(e.message) })
  return problem
}

// named returns the text for a list of mistakes, in which the field is not visible: a text that says nothing about the
// field, and one that occurs more than once, name the field.
export function named(id, message, isRepeated) {
  const isOther = message === t('bad.other')
  if (!isOther && !isRepeated) return message
  const label = document.querySelector(`label[for="${CSS.escape(id)}"]`)?.firstChild.textContent.trim()
  return !label ? message : isOther ? t('bad.field', { label }) : `${label}: ${message}`
}
