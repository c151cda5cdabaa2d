// The booking page inside another site's frame: the theme it was asked for, and its height told to
// the frame, the only thing that ever leaves. Everything else is the same page.
import { query } from '../lib/boot.js'

const theme = query.get('theme')
if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme

let told = 0
const tell = () => {
  const height = Math.ceil(document.getElementById('app').getBoundingClientRect().height)
  if (height === told || window.parent === window) return
  told = height
  window.parent.postMessage({ holdfast: 'height', height }, '*')
}
new ResizeObserver(tell).observe(document.getElementById('app'))
tell()

import('./page.js')
