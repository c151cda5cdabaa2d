// Saves rows as a CSV file for a spreadsheet. A text that a spreadsheet would read as a formula gets an apostrophe in
// front. A spreadsheet opens the file in columns only if their separator and the decimal mark are those of its
// language. words.Separator has the same rule for the files of the server.
import { lang, locale } from '../lib/i18n.js'

const number = new Intl.NumberFormat(locale, { useGrouping: false, maximumFractionDigits: 2 })
const mark = number.formatToParts(0.5).find(p => p.type === 'decimal')?.value

// The comma is the decimal mark of most German and Spanish spreadsheets. Swiss ones have a point, and semicolons.
export const separator = lang === 'de' || (lang === 'es' && mark === ',') ? ';' : ','

const cell = text => (/^[=+\-@\t\r]/.test(text) ? "'" + text : text)
const quoted = text => '"' + cell(text).replace(/"/g, '""') + '"'
const written = value => (typeof value === 'number' ? `"${number.format(value)}"` : quoted(String(value ?? '')))

// lines are rows of texts and numbers.
export function saveCSV(name, lines) {
  const url = URL.createObjectURL(
    new Blob(['\ufeff' + lines.map(row => row.map(written).join(separator)).join('\r\n')], { type: 'text/csv' }),
  )
  const a = Object.assign(document.createElement('a'), {
    href: url,
    download: `holdfast-${name}-${new Date().toISOString().slice(0, 10)}.csv`,
  })
  a.click()
  setTimeout(() => URL.revokeObjectURL(url), 1000)
}
