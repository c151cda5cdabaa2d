// Announces text to screen readers. The two regions exist from the start, because screen readers often ignore a region
// that appears together with its text.
const region = kind => {
  const el = document.createElement('div')
  el.className = 'sr'
  el.setAttribute('aria-live', kind)
  el.setAttribute('role', kind === 'assertive' ? 'alert' : 'status')
  document.body.append(el)
  return el
}
const regions = {}
const place = kind => (regions[kind] ||= region(kind))
place('polite')
place('assertive')

export function say(text, kind = 'polite') {
  const el = place(kind)
  el.textContent = ''
  // Screen readers do not notice a change in the same task, or the same text twice.
  setTimeout(() => {
    el.textContent = text
  }, 60)
  // The text must not stay at the end of a page that says something else by then.
  clearTimeout(el.end)
  el.end = setTimeout(() => {
    el.textContent = ''
  }, 10000)
}
