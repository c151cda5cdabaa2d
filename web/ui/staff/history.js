// What the person of an appointment has had and will have here, in the appointment's own dialog: who did not
// come twice is worth a word, and who asks "when was I here last" an answer.
import { html, useEffect, useState } from '../lib/html.js'
import { Icon } from '../lib/icons.js'
import { t } from '../lib/i18n.js'
import { dateOf, time, write } from '../lib/time.js'
import { go } from './daybar.js'
import { specialistName, typeName } from './words.js'

const few = 4

export function History({ desk, id, version, close }) {
  const [h, setHistory] = useState(null), [all, setAll] = useState(false), [open, setOpen] = useState(false)
  useEffect(() => {
    let here = true
    desk.history(id).then(x => { if (here) setHistory(x) }, () => {}) // the appointment itself can be read without
    return () => { here = false }
  }, [id, version])
  const s = desk.store.get(), others = x => x.id !== id
  const coming = h?.coming.filter(others) || [], past = h?.past.filter(others) || [], any = coming.length + past.length > 0
  const show = a => {
    close()
    if (a.status === 'confirmed') desk.patch({ reveal: a.id })
    go('day', dateOf(Date.parse(a.slotStartDate)))
  }
  const row = a => html`<li key=${a.id}><button type="button" class="textlink" onClick=${() => show(a)}>${write('numeric', a.slotStartDate)}, ${time(a.slotStartDate)}</button>
    <span>${typeName(s, a.appointmentTypeId)}, <bdi>${specialistName(s, a.specialistId)}</bdi>${a.status === 'cancelled' ? html` <em>${t('card.cancelled')}</em>` : a.attendance === 'no_show' && html` <b class="missed"><${Icon} name="close" />${t('att.no_show')}</b>`}</span></li>`
  const shown = all ? past : past.slice(0, few)
  // One line from the beginning, so that nothing below it moves when the answer comes.
  return html`<details class="history" open=${open} onToggle=${e => setOpen(e.currentTarget.open)}>
    <summary><b>${t('history.title')}</b> ${h && html`<span class="muted">${any ? t('history.sum', { coming: coming.length, past: past.length }) : t('history.first')}</span>`} ${h?.noShows > 0 && html`<span class="missed"><${Icon} name="close" />${t('history.missed', { n: h.noShows })}</span>`}</summary>
    ${coming.length > 0 && html`<h3>${t('search.coming')}</h3><ul>${coming.map(row)}</ul>`}
    ${past.length > 0 && html`<h3>${t('search.earlier')}</h3><ul>${shown.map(row)}</ul>`}
    <button type="button" class="textlink" onClick=${() => desk.open('person', { id })}>${t('person.open')}</button>
    ${past.length > shown.length && html`<button type="button" class="textlink" onClick=${() => setAll(true)}>${t('history.all', { n: past.length })}</button>`}
  </details>`
}
