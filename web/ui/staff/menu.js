// A small menu next to the cursor or the pointer. Arrow keys, Home, End and first letters move the focus in it. Escape
// and Tab close the menu, and the focus returns to the element that had it.
import { html, useLayoutEffect, useRef } from '../lib/html.js'
import { Icon } from '../lib/icons.js'
import { captions } from './words.js'

// items: {label, icon, run, on, danger, hint}, or null for a separator.
export function Menu({ at, title, items, close }) {
  const ref = useRef(),
    before = useRef(document.activeElement)
  const buttons = () => [...ref.current.querySelectorAll('button')]
  const leave = run => {
    close()
    before.current?.focus({ preventScroll: true })
    run?.()
  }
  useLayoutEffect(() => {
    const el = ref.current,
      box = el.getBoundingClientRect()
    el.style.left = Math.max(8, Math.min(at.x, innerWidth - box.width - 8)) + 'px'
    el.style.top = Math.max(8, Math.min(at.y, innerHeight - box.height - 8)) + 'px'
    buttons()[0]?.focus()
    const outside = e => {
      if (!el.contains(e.target)) close()
    }
    addEventListener('pointerdown', outside, true)
    return () => removeEventListener('pointerdown', outside, true)
  }, [])
  const key = e => {
    const all = buttons(),
      i = all.indexOf(document.activeElement)
    const to = {
      ArrowDown: (i + 1) % all.length,
      ArrowUp: (i - 1 + all.length) % all.length,
      Home: 0,
      End: all.length - 1,
    }[e.key]
    const lettered =
      e.key.length === 1 &&
      /\p{L}/u.test(e.key) &&
      [...all.slice(i + 1), ...all].find(b => b.textContent.trim().toLowerCase().startsWith(e.key.toLowerCase()))
    if (to !== undefined) all[to].focus()
    else if (e.key === 'Escape' || e.key === 'Tab') leave()
    else if (lettered) lettered.focus()
    else return
    e.preventDefault()
    e.stopPropagation()
  }
  return html`
    <div
      class="menubox"
      role="menu"
      aria-label=${title}
      ref=${ref}
      onKeyDown=${key}
      onContextMenu=${e => e.preventDefault()}
    >
      ${
        title &&
        html`
          <p class="menu-title" aria-hidden="true">${title}</p>
        `
      }
      ${items.map((item, i) =>
        item
          ? html`
              <button
                type="button"
                key=${i}
                tabindex="-1"
                role=${item.on === undefined ? 'menuitem' : 'menuitemradio'}
                aria-checked=${item.on === undefined ? undefined : String(item.on)}
                class=${item.danger ? 'danger' : ''}
                onClick=${() => leave(item.run)}
              >
                <${Icon} name=${item.icon || 'blank'} />
                <span>${item.label}</span>
                ${
                  item.hint &&
                  html`
                    <kbd aria-hidden="true">${captions(item.hint).join(' ')}</kbd>
                  `
                }
              </button>
            `
          : html`
              <hr key=${i} role="separator" />
            `,
      )}
    </div>
  `
}
