// addMonths returns the date some months after a date such as "2026-08-31". If that month is shorter, it returns the
// month's last day.
export function addMonths(date, months) {
  const [year, month, day] = date.split('-').map(Number),
    at = d => new Date(Date.UTC(year, month - 1 + months, d))
  const last = new Date(Date.UTC(year, month + months, 0)).getUTCDate()
  return at(Math.min(day, last)).toISOString().slice(0, 10)
}

// recallMonths are the numbers of months after an appointment that the pages suggest for a recall.
export const recallMonths = [3, 6, 12]
