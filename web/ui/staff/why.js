// "Why not 10:30?" The server answers in one sentence for each specialist.
import { html, useEffect, useState } from '../lib/html.js'
import { Dialog } from '../lib/dialog.js'
import { Icon } from '../lib/icons.js'
import { useStore } from '../lib/store.js'
import { t } from '../lib/i18n.js'
import { dayAndTime, time } from '../lib/time.js'
import { fit } from './fit.js'
import { sayObstacle, specialistName } from './words.js'

// The server returns only a reason. If this page finds the same obstacle, the sentence contains the details. Otherwise
// it contains only the reason.
function sentence(desk, x, typeId, start) {
  const name = specialistName(desk.store.get(), x.specialistId)
  if (x.bookable) return t('explain.yes', { who: name })
  if (x.reason === 'taken' || x.reason === 'outside_hours' || x.reason === 'override_closed') {
    const seen = fit(desk.store.get(), { typeId, specialistId: x.specialistId, start })
    if (seen.why === 'taken' || seen.why === 'closed') return sayObstacle(desk, seen)
  }
  return t('explain.' + x.reason, { who: name, time: x.heldUntil ? time(x.heldUntil) : time(start) })
}

export function Why({ desk, specialistId, start, close }) {
  const s = useStore(desk.store)
  const types = s.types
    .filter(x => x.active)
    .sort((a, b) => Number(serves(b, specialistId)) - Number(serves(a, specialistId)))
  const [typeId, setType] = useState(types[0]?.id || ''),
    [answer, setAnswer] = useState(null),
    [failed, setFailed] = useState(false)
  useEffect(() => {
    let here = true
    setAnswer(null)
    if (typeId)
      desk.explain(typeId, start).then(
        x => {
          if (here) {
            setAnswer(x)
            setFailed(false)
          }
        },
        () => here && setFailed(true),
      )
    return () => {
      here = false
    }
  }, [typeId, start, s.cells, s.holds, s.hours])
  const list =
    answer &&
    [...answer].sort((a, b) => Number(b.specialistId === specialistId) - Number(a.specialistId === specialistId))
  return html`
    <${Dialog} title=${t('explain.title', { when: dayAndTime(start) })} close=${close}>
      <div class="field">
        <label for="why-type">${t('book.type')}</label>
        <select id="why-type" autofocus value=${typeId} onChange=${e => setType(e.currentTarget.value)}>
          ${types.map(
            x => html`
              <option key=${x.id} value=${x.id}>${x.name}</option>
            `,
          )}
        </select>
      </div>
      ${
        failed &&
        html`
          <p class="error" role="alert">${t('fail.offline')}</p>
        `
      }
      <ul class="answers" aria-busy=${list ? undefined : 'true'} aria-live="polite">
        ${(list || []).map(
          x => html`
            <li key=${x.specialistId} class=${x.bookable ? 'yes' : ''}>
              <${Icon} name=${x.bookable ? 'check' : 'stop'} />
              <span>${sentence(desk, x, typeId, start)}</span>
              ${
                x.bookable &&
                desk.reaches(x.specialistId) &&
                html`
                  <button
                    type="button"
                    class="btn"
                    onClick=${() => desk.open('book', { start, specialistId: x.specialistId, typeId })}
                  >
                    ${t('menu.book')}
                  </button>
                `
              }
            </li>
          `,
        )}
      </ul>
    </${Dialog}>
  `
}
const serves = (type, id) => type.specialists.some(x => x.specialistId === id)
