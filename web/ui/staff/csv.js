// Saves rows as a CSV file for a spreadsheet. A text that a spreadsheet would read as a formula gets an apostrophe in
// front.
const cell = text => (/^[=+\-@\t\r]/.test(text) ? "'" + text : text)
const quoted = text => '"' + cell(text).replace(/"/g, '""') + '"'

// lines are rows of texts and numbers.
export function saveCSV(name, lines) {
  const url = URL.createObjectURL(
    new Blob(['\ufeff' + lines.map(row => row.map(x => quoted(String(x ?? ''))).join(',')).join('\r\n')], {
      type: 'text/csv',
    }),
  )
  const a = Object.assign(document.createElement('a'), {
    href: url,
    download: `holdfast-${name}-${new Date().toISOString().slice(0, 10)}.csv`,
  })
  a.click()
  setTimeout(() => URL.revokeObjectURL(url), 1000)
}
