// Lost is shown when the chosen time is no longer available. The notice states that the entered details are kept, and
// offers the nearest free times. Without alternatives, patients would phone instead.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { Notice, words } from '../lib/notice.js'
import { t } from '../lib/i18n.js'
import { dateOf, dayAndTime, near } from '../lib/time.js'

// why: 'gone' or 'displaced'. find() returns a promise of the nearest free slots; pick(slot) claims one.
export function Lost({ why, start, find, pick, busy }) {
  const ref = useRef()
  const [found, setFound] = useState(null)
  useEffect(() => {
    let here = true
    setFound(null)
    ref.current?.focus()
    find().then(
      x => {
        if (here) setFound(x)
      },
      () => {
        if (here) setFound([])
      },
    )
    return () => {
      here = false
    }
  }, [start, why])
  const kind = why === 'displaced' ? 'displaced' : 'lost'
  const body = !found ? t('lost.searching') : t(kind + (found.length ? '.body' : '.none'))
  return html`
    <${Notice} kind="danger" role="alert" tabIndex="-1" innerRef=${ref} text=${[words(kind + '.title'), ' ', body]}>
      ${found?.map(
        x => html`
          <button
            type="button"
            class="btn"
            key=${x.start}
            aria-disabled=${busy ? 'true' : undefined}
            aria-label=${dayAndTime(x.start)}
            onClick=${() => !busy && pick(x)}
          >
            ${near(x.start, dateOf(start))}
          </button>
        `,
      )}
    </${Notice}>
  `
}
