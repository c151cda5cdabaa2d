// Supports an accent that is not one of the six tested hues. The server accepts such an accent only if white text on it
// is readable. The other colours are mixed from it, for both themes, and every pair has the contrast of the tested
// hues.
const black = '#000000',
  white = '#ffffff',
  night = '#1e2827' // the lightest ground of the dark theme
const least = 5.8

const parts = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16))
// mix returns a colour between two colours. share is the distance from the first to the second, from 0 to 1.
const mix = (from, to, share) => {
  const target = parts(to)
  return (
    '#' +
    parts(from)
      .map((x, i) =>
        Math.round(x + (target[i] - x) * share)
          .toString(16)
          .padStart(2, '0'),
      )
      .join('')
  )
}
const luminance = hex => {
  const [r, g, b] = parts(hex).map(x => (x / 255 <= 0.04045 ? x / 3294.6 : ((x / 255 + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
// contrast returns the WCAG 2 contrast ratio of two colours, from 1 to 21.
const contrast = (a, b) => {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y)
  return (high + 0.05) / (low + 0.05)
}
const until = (hex, to, ground) => {
  let found = hex
  for (let n = 1; n <= 50 && contrast(found, ground) < least; n++) found = mix(hex, to, n / 50)
  return found
}

export const isColour = text => /^#[0-9a-f]{6}$/i.test(text)
export const onWhite = hex => contrast(hex, white)
export const isReadable = hex => onWhite(hex) >= least
// readable returns the nearest darker colour that is readable, or the colour itself.
export const readable = hex => until(hex, black, white)

const rule = (accent, strong, ink, soft) =>
  `{--accent:${accent};--accent-strong:${strong};--accent-ink:${ink};--accent-soft:${soft}}`

// wear applies the colour to the page. It uses a constructed style sheet, because the page's Content-Security-Policy
// allows one without an exception.
export function wear(hex) {
  const bright = until(hex, white, night)
  const dark = rule(bright, mix(bright, white, 0.3), mix(hex, black, 0.85), mix('#161e1d', bright, 0.15))
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(
    `:root${rule(hex, mix(hex, black, 0.3), white, mix(hex, white, 0.88))}` +
      `@media (prefers-color-scheme:dark){:root:not([data-theme=light])${dark}}:root[data-theme=dark]${dark}`,
  )
  document.adoptedStyleSheets = [sheet]
}
