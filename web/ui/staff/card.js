// What stands in a column: an appointment, a colleague's busy time, or the ghost of a time that
// somebody is booking online at this moment. A ghost has no person: nobody here knows who it is.
//
// These are functions and no components, and their words come from tables: a full board has four
// hundred of them. column.js keeps what they gave until something in it changes.
import { html } from '../lib/html.js'
import { paths } from '../lib/icons.js'
import { attendanceIcon } from '../lib/deskicons.js'
import { t } from '../lib/i18n.js'
import { clock } from './day.js'
import { colourOf, sayAppointment, sayGhost, typeName, who } from './words.js'

const px = n => n + 'px'
// boxOf is where something stands in its column; things at the same time share the width.
function boxOf({ from, to, lane = 0, lanes = 1 }, { range, scale }) {
  const top = Math.max(from, range.from)
  return {
    top: (top - range.from) * scale, height: Math.max((Math.min(to, range.to) - top) * scale - 2, 16),
    start: 100 * lane / lanes, width: 100 / lanes,
  }
}
const styleOf = box => ({
  insetBlockStart: px(box.top), blockSize: px(box.height), insetInlineStart: box.start + '%', inlineSize: `calc(${box.width}% - 5px)`,
})
export const place = (at, view) => styleOf(boxOf(at, view))

const icon = name => html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${paths[name]} /></svg>`
const flag = (name, key) => html`<span class="flag">${icon(name)}${t(key)}</span>`

export function card(desk, item, view) {
  const { of: a, lanes } = item, box = boxOf(item, view), at = clock(item.from)
  if (a.busy) return html`<div class="appt busy" key=${item.id} style=${styleOf(box)} data-id=${item.id}><p>${at} ${t('card.busy')}</p></div>`
  const flat = box.height < 36 || lanes > 3
  const s = desk.store.get(), name = who(desk, a), type = typeName(s, a.appointmentTypeId)
  return html`<div class=${`appt ${colourOf(s, a.appointmentTypeId)} ${a.attendance}${flat ? ' flat' : ''}${a.overbook ? ' over' : ''}`} key=${item.id} style=${styleOf(box)} data-id=${item.id}
      role="button" aria-label=${sayAppointment(desk, a, at)} title=${lanes > 1 || flat ? `${at} ${name}, ${type}` : undefined}>
    <p class="appt-name">${icon(attendanceIcon[a.attendance])}<span>${at}</span> <b dir="auto">${name}</b></p>${' '}
    <p class="appt-type">${a.overbook && flag('over', 'card.overbook')}${a.upstreamState === 'failed' && flag('alert', 'card.upstream')}<span>${type}</span>${a.patient?.notes && icon('note')}</p>
  </div>`
}

// The edge drains until the hold lapses. Whoever keeps it alive is told, the desk is not: an empty edge
// means "any moment now", and only the server's word takes the ghost away.
export function ghost(item, view) {
  const { of: h } = item, box = boxOf(item, view), words = sayGhost(h)
  return html`<div class=${'appt ghosted' + (h.own ? ' own' : '') + (box.height < 30 ? ' flat' : '')} key=${item.id} style=${styleOf(box)} data-id=${item.id} role="img" aria-label=${words}>
    <i class="drain" style=${{ animationDuration: Math.max(1000, h.expires - h.seen) + 'ms' }} key=${h.expires}></i><p><span>${words}</span></p>
  </div>`
}
