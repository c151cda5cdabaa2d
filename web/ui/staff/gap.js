// The dialog that offers a free time to a person on the waiting list. It lists the people who could take the time. The
// server holds the time for the person that the desk chooses, and sends the offer.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { newKey } from '../lib/api.js'
import { Dialog } from '../lib/dialog.js'
import { Notice } from '../lib/notice.js'
import { t } from '../lib/i18n.js'
import { dateOf, dayAndTime, hhmm } from '../lib/time.js'
import { go } from './daybar.js'
import { weekdayOf } from './day.js'
import { useChange } from './move.js'
import { failKey, specialistName, typeName, who } from './words.js'

// suits reports whether the wishes of a waiting-list entry match the gap. A type that is longer than the gap does not
// fit.
function suits(s, x, gap) {
  const type = s.types.find(y => y.id === x.appointmentTypeId),
    date = dateOf(gap.start),
    clock = hhmm(gap.start)
  if (x.status !== 'waiting' || x.endedAt || x.offers.some(o => o.status === 'open')) return false
  if (!type?.specialists.some(p => p.specialistId === gap.specialistId)) return false
  if (type.durationMinutes * 6e4 > gap.end - gap.start) return false
  if (x.specialistIds.length && !x.specialistIds.includes(gap.specialistId)) return false
  if (x.slotStartDate) return Date.parse(x.slotStartDate) === gap.start
  return (
    x.from <= date &&
    date <= x.to &&
    (!x.weekdays.length || x.weekdays.includes(weekdayOf(date))) &&
    (!x.earliest || x.earliest <= clock) &&
    (!x.latest || clock < x.latest)
  )
}

export function Gap({ desk, typeId, specialistId, start, end, close }) {
  const s = desk.store.get(),
    gap = { specialistId, start, end },
    [list, setList] = useState(null),
    [failed, setFailed] = useState(null)
  useEffect(() => {
    desk.waiting().then(all => setList(all.filter(x => suits(s, x, gap))), setFailed)
  }, [])
  // The list arrives after the dialog has opened, so set the focus on its first button here.
  const first = useRef()
  useEffect(() => {
    first.current?.focus()
  }, [list])
  const change = useChange(async (x, key) => {
    await desk.offerTime(x.id, { slotStartDate: new Date(start).toISOString(), specialistId }, key || newKey())
    desk.toast('gap.offered', { name: who(desk, x), when: dayAndTime(start) })
    close()
  })
  // People who are waiting for the cancelled type come first. Otherwise the order of the waiting list applies.
  const sorted =
    list && [...list].sort((a, b) => Number(b.appointmentTypeId === typeId) - Number(a.appointmentTypeId === typeId))
  return html`
    <${Dialog} title=${t('gap.title')} close=${close}>
      <div class="stack">
        <p class="fromto">
          <span>${dayAndTime(start)}</span>
          <span class="muted"><bdi>${specialistName(s, specialistId)}</bdi></span>
        </p>
        ${
          (failed || change.problem) &&
          html`
            <${Notice} kind="danger" role="alert" text=${failKey(failed || change.problem)} />
          `
        }
        ${
          sorted?.length === 0 &&
          html`
            <p class="muted" role="status">${t('gap.none')}</p>
          `
        }
        ${
          sorted?.length > 0 &&
          html`
            <ul class="way" aria-label=${t('gap.list')}>
              ${sorted.map(
                (x, i) => html`
                  <li key=${x.id}>
                    <span>
                      <b><bdi>${who(desk, x)}</bdi></b>
                      ${' '}
                      <bdi>${typeName(s, x.appointmentTypeId)}</bdi>
                      ${' '}
                      <span class="muted">
                        ${x.patient.email ? x.patient.email : t('gap.call', { phone: x.patient.phone || '' })}
                      </span>
                    </span>
                    <button
                      type="button"
                      class=${'btn' + (i === 0 ? ' primary' : '')}
                      ref=${i === 0 ? first : undefined}
                      aria-label=${`${t('gap.offer')}: ${who(desk, x)}`}
                      aria-disabled=${change.busy ? 'true' : undefined}
                      onClick=${() => change.go(x)}
                    >
                      ${t('gap.offer')}
                    </button>
                  </li>
                `,
              )}
            </ul>
            <p class="hint">${t('gap.hint')}</p>
          `
        }
        <footer class="actions">
          <button
            type="button"
            class="btn"
            onClick=${() => {
              close('leave')
              go('waitlist')
            }}
          >
            ${t('gap.all')}
          </button>
          <button type="button" class="btn" onClick=${() => close()}>${t('close')}</button>
        </footer>
      </div>
    </${Dialog}>
  `
}
