// The index of the settings: the headings of the page's sections. A press on a heading scrolls to its section.
import { html, useEffect, useState } from '../lib/html.js'
import { t } from '../lib/i18n.js'

const headings = () =>
  /** @type {HTMLElement[]} */ ([...document.querySelectorAll('.office-in .plate > h2, .office-in .plate > header h2')])

export function Index() {
  const [list, setList] = useState([]),
    [here, setHere] = useState(0)
  useEffect(() => {
    // Look again after changes, because some sections load their content later.
    const look = () => setList(headings().map(x => x.textContent.trim()))
    const seen = () => {
      const at = headings().findLastIndex(x => x.getBoundingClientRect().top < innerHeight / 3)
      setHere(Math.max(0, at))
    }
    const changes = new MutationObserver(look)
    look()
    changes.observe(document.querySelector('.office-in'), { childList: true, subtree: true })
    addEventListener('scroll', seen, { passive: true })
    return () => {
      changes.disconnect()
      removeEventListener('scroll', seen)
    }
  }, [])
  const to = i => {
    const heading = headings()[i]
    heading.tabIndex = -1
    heading.focus({ preventScroll: true })
    heading.scrollIntoView({ block: 'start' })
  }
  return html`
    <nav class="index" aria-label=${t('set.index')}>
      ${list.map(
        (title, i) => html`
          <button type="button" key=${i} aria-current=${i === here ? 'true' : undefined} onClick=${() => to(i)}>
            ${title}
          </button>
        `,
      )}
    </nav>
  `
}
