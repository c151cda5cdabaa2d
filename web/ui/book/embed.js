// Runs in addition to the normal scripts when another site embeds the booking page in a frame. It applies the
// requested theme. It sends the site only two messages: the page's height with its title, and that a patient has
// booked.

// The default theme is light: most sites are light, and the frame is transparent. "auto" follows the reader's system.
const theme = new URLSearchParams(location.search).get('theme') || 'light'
if (theme !== 'auto') document.documentElement.dataset.theme = theme === 'dark' ? 'dark' : 'light'

let told = 0
const tell = () => {
  const height = Math.ceil(document.getElementById('app').getBoundingClientRect().height)
  if (height === told || window.parent === window) return
  told = height
  window.parent.postMessage({ holdfast: 'height', height, title: document.title }, '*')
}
// The button for the chosen time sticks to the end of the window. The frame cannot scroll, because it is as high as
// the page. So the site sends how many pixels of the frame are below the visible part.
const sheet = new CSSStyleSheet()
document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
addEventListener('message', e => {
  const below = Number(e.data?.below)
  // The site also sends messages of its own to the frame.
  if (e.source !== window.parent || e.data?.holdfast !== 'seen' || !(below >= 0)) return
  sheet.replaceSync(`.bar { inset-block-end: ${Math.min(Math.round(below), innerHeight)}px }`)
})
// Notify the site that a patient has booked, without details.
new MutationObserver((_, observer) => {
  if (!document.querySelector('.ticket-title') || window.parent === window) return
  observer.disconnect()
  window.parent.postMessage({ holdfast: 'booked' }, '*')
}).observe(document.getElementById('app'), { childList: true, subtree: true })
new ResizeObserver(tell).observe(document.getElementById('app'))
tell()
