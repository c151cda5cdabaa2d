// The typeface of headings and digits. The page fetches it after the first times are on the screen and gives it to the
// browser as bytes, so the page's policy allows no fonts. A browser that saves data keeps its own typeface.
let asked = false

export async function loadTypeface() {
  const saves = /** @type {any} */ (navigator).connection?.saveData
  if (asked || saves || !window.FontFace) return
  asked = true
  try {
    const answer = await fetch(new URL('../vendor/figtree.woff2', import.meta.url))
    if (answer.ok)
      document.fonts.add(await new FontFace('Figtree', await answer.arrayBuffer(), { weight: '300 900' }).load())
  } catch {
    /* the page keeps the browser's own typeface */
  }
}
