// What stands in a column: an appointment, a colleague's busy time, or the ghost of a time that
// somebody is booking online at this moment. A ghost has no person: nobody here knows who it is.
//
// These are functions and no components, and their words come from tables: a full board has four
// hundred of them. column.js keeps what they gave until something in it changes.
import { h, html } from '../lib/html.js'
import { paths } from '../lib/icons.js'
import { attendanceIcon } from '../lib/deskicons.js'
import { t } from '../lib/i18n.js'
import { clock } from './day.js'
import { colourOf, sayAppointment, sayGhost, typeName, who } from './words.js'

// boxOf is where something stands in its column; things at the same time share the width.
function boxOf({ from, to, lane = 0, lanes = 1 }, { range, scale }) {
  const top = Math.max(from, range.from)
  return {
    top: (top - range.from) * scale, height: Math.max((Math.min(to, range.to) - top) * scale - 2, 16),
    start: 100 * lane / lanes, width: 100 / lanes,
  }
}
const styleOf = box => `inset-block-start:${box.top}px;block-size:${box.height}px;inset-inline-start:${box.start}%;inline-size:calc(${box.width}% - 5px)`
export const place = (at, view) => styleOf(boxOf(at, view))

// Written without the template, whose reading a full board would pay for four hundred times.
const icon = name => h('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true' }, h('path', { d: paths[name] }))
// What one press on the sign makes of it; a card that is done has to be opened.
const nextOf = { expected: 'arrived', arrived: 'in_progress', in_progress: 'completed' }
const sign = (desk, a) => {
  const next = desk.reaches(a.specialistId) && nextOf[a.attendance]
  return next ? h('i', { class: 'sign', 'data-attend': next, title: t('att.' + next) }, icon(attendanceIcon[a.attendance])) : icon(attendanceIcon[a.attendance])
}
const flag = (name, key) => h('span', { class: 'flag' }, icon(name), t(key))

export function card(desk, item, view) {
  const { of: a, lanes } = item, box = boxOf(item, view), at = clock(item.from)
  if (a.busy) return h('div', { class: 'appt busy', key: item.id, style: styleOf(box), 'data-id': item.id }, h('p', null, at, ' ', t('card.busy')))
  const flat = box.height < 36 || lanes > 3
  const s = desk.store.get(), name = who(desk, a), type = typeName(s, a.appointmentTypeId)
  return h('div', {
    class: `appt ${colourOf(s, a.appointmentTypeId)} ${a.attendance}${flat ? ' flat' : ''}${a.overbook ? ' over' : ''}`, key: item.id, style: styleOf(box), 'data-id': item.id,
    role: 'button', 'aria-label': sayAppointment(desk, a, at), title: lanes > 1 || flat ? `${at} ${name}, ${type}` : undefined,
  },
  h('p', { class: 'appt-name' }, sign(desk, a), h('span', null, at), ' ', h('b', { dir: 'auto' }, name)), ' ',
  h('p', { class: 'appt-type' }, a.overbook && flag('over', 'card.overbook'), a.upstreamState === 'failed' && flag('alert', 'card.upstream'), h('span', null, type), a.patient?.notes && icon('note')))
}

// The edge drains until the hold lapses. Whoever keeps it alive is told, the desk is not: an empty edge
// means "any moment now", and only the server's word takes the ghost away.
export function ghost(item, view) {
  const { of: h } = item, box = boxOf(item, view), words = sayGhost(h)
  return html`<div class=${'appt ghosted' + (h.own ? ' own' : '') + (box.height < 30 ? ' flat' : '')} key=${item.id} style=${styleOf(box)} data-id=${item.id} role="img" aria-label=${words}>
    <i class="drain" style=${{ animationDuration: Math.max(1000, h.expires - h.seen) + 'ms' }} key=${h.expires}></i><p><span>${words}</span></p>
  </div>`
}
