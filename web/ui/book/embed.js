// The booking page in the frame of another site. It sets the theme that the site asked for, and sends the site the height of the page
// and the fact of a booking, nothing else. The rest is the same page as at the clinic's address.

// Light unless asked: most sites are, and the frame is transparent. "auto" follows the reader's system.
const theme = new URLSearchParams(location.search).get('theme') || 'light'
if (theme !== 'auto') document.documentElement.dataset.theme = theme === 'dark' ? 'dark' : 'light'

let told = 0
const tell = () => {
  const height = Math.ceil(document.getElementById('app').getBoundingClientRect().height)
  if (height === told || window.parent === window) return
  told = height
  window.parent.postMessage({ holdfast: 'height', height }, '*')
}
// The button for the chosen time sticks to the end of the window. The frame has none of its own: it is as high as the page, and the site
// says how much of that lies below what the reader sees.
const sheet = new CSSStyleSheet()
document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
addEventListener('message', e => {
  const below = Number(e.data?.below)
  if (e.source !== window.parent || e.data?.holdfast !== 'seen' || !(below >= 0)) return // a site has messages of its own
  sheet.replaceSync(`.bar { inset-block-end: ${Math.min(Math.round(below), innerHeight)}px }`)
})
// The site learns that a patient has booked, and no details.
new MutationObserver((_, observer) => {
  if (!document.querySelector('.ticket-title') || window.parent === window) return
  observer.disconnect()
  window.parent.postMessage({ holdfast: 'booked' }, '*')
}).observe(document.getElementById('app'), { childList: true, subtree: true })
new ResizeObserver(tell).observe(document.getElementById('app'))
tell()
