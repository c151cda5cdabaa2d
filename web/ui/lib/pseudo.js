// Two artificial languages for tests. en-XA makes every text 40 % longer and marks its ends, so that clipped and
// concatenated texts are visible. ar-XB reverses the letters and the direction of the page.
const accents = {
  a: 'á',
  e: 'é',
  i: 'ï',
  o: 'ö',
  u: 'ü',
  y: 'ý',
  c: 'ç',
  n: 'ñ',
  s: 'š',
  z: 'ž',
  A: 'Å',
  E: 'É',
  I: 'Ï',
  O: 'Ø',
  U: 'Û',
  C: 'Ç',
  N: 'Ñ',
  S: 'Š',
}
const filler = 'one two three four five six seven eight nine ten '.repeat(4)

function text(words, lang) {
  // Keep the placeholders and the bold marks.
  const parts = words.split(/(\{\w+\}|\*\*)/)
  if (lang === 'ar-XB') {
    return parts.map((p, i) => (i % 2 ? p : p.replace(/[\p{L}\p{M}’']+/gu, '\u200f\u202e$&\u202c\u200f'))).join('')
  }
  const more = ' ' + filler.slice(0, Math.ceil(words.length * 0.4)).trim()
  return '[' + parts.map((p, i) => (i % 2 ? p : p.replace(/[a-z]/gi, c => accents[c] || c))).join('') + more + ']'
}
// distort takes a table of texts. A text may be a table of plural forms.
export const distort = (table, lang) =>
  Object.fromEntries(
    Object.entries(table).map(([key, value]) => [
      key,
      typeof value === 'string' ? text(value, lang) : distort(value, lang),
    ]),
  )
