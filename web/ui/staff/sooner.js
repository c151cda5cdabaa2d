// Adds an appointment to the waiting list for an earlier time. The patient keeps the appointment until then.
import { html, useState } from '../lib/html.js'
import { Dialog } from '../lib/dialog.js'
import { ErrorSummary } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { useStore } from '../lib/store.js'
import { dateOf, dayAndTime } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { Failed, useChange } from './move.js'
import { find } from './store.js'
import { placeName } from './where.js'
import { WishFields, blankWish, wishOf } from './wish.js'
import { specialistName, typeIn, typeName, who } from './words.js'

export function Sooner({ desk, id, close }) {
  const s = useStore(desk.store),
    [a] = useState(() => find(desk.store.get(), id)),
    name = who(desk, a)
  const [draft, setDraft] = useState(() => ({
    ...blankWish(dateOf(serverNow()), dateOf(a.start)),
    who: a.specialistId,
    place: placeName(a.place) && !typeIn(desk.store.get(), a.appointmentTypeId)?.remote ? a.place : '',
  }))
  const change = useChange(async (body, key) => {
    await desk.waitSooner(a, body, key)
    desk.toast('sooner.done', { name })
    close()
  })
  const errors = (change.problem?.errors || []).map(e => ({ id: 'wl-' + e.field, message: e.message }))
  const submit = e => {
    e.preventDefault()
    change.go(wishOf(draft))
  }
  return html`
    <${Dialog} title=${t('sooner.title', { name })} close=${close}>
      <form class="stack" onSubmit=${submit} novalidate>
        <p class="fromto">
          <span>
            ${dayAndTime(a.start)},${' '}
            <bdi>${specialistName(s, a.specialistId)}</bdi>
          </span>
          <span class="muted">${typeName(s, a.appointmentTypeId)}</span>
        </p>
        <p class="hint">${t(a.patient?.email ? 'sooner.lead' : 'sooner.call')}</p>
        <${ErrorSummary} errors=${errors} n=${change.problem ? 1 : 0} />
        <${WishFields}
          s=${s}
          type=${typeIn(s, a.appointmentTypeId)}
          draft=${draft}
          set=${part => setDraft(d => ({ ...d, ...part }))}
          error=${field => errors.find(e => e.id === field)?.message}
          last=${dateOf(a.start)}
        />
        ${
          !errors.length &&
          html`
            <${Failed} desk=${desk} problem=${change.problem} a=${a} close=${close} />
          `
        }
        <footer class="actions">
          <button type="submit" class="btn primary" autofocus aria-disabled=${change.busy ? 'true' : undefined}>
            ${t('sooner.do')}
          </button>
          <button type="button" class="btn" onClick=${() => close()}>${t('cancel')}</button>
        </footer>
      </form>
    </${Dialog}>
  `
}
