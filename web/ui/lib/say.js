// Speaks to screen readers. Two regions exist from the start, because a region that appears
// together with its text is often not read.
const region = kind => {
  const el = document.createElement('div')
  el.className = 'sr'
  el.setAttribute('aria-live', kind)
  el.setAttribute('role', kind === 'assertive' ? 'alert' : 'status')
  document.body.append(el)
  return el
}
const regions = {}
const place = kind => regions[kind] ||= region(kind)
place('polite')
place('assertive')

export function say(text, kind = 'polite') {
  const el = place(kind)
  el.textContent = ''
  // A change in the same task is not noticed, and neither is the same text twice.
  setTimeout(() => { el.textContent = text }, 60)
}
