// The items in a column: an appointment, a group session, a colleague's busy time, or a ghost. A ghost is a time that
// is being booked online at this moment. A ghost has no name, because the desk does not receive it.
//
// These are functions, not components, and their texts come from tables, because a full board has 400 items. column.js
// reuses the rendered item until the item changes.
import { h, html } from '../lib/html.js'
import { paths } from '../lib/icons.js'
import { attendanceIcon } from '../lib/deskicons.js'
import { t } from '../lib/i18n.js'
import { clock } from './day.js'
import { came, isFull } from './group.js'
import { dateOf } from '../lib/time.js'
import { cell } from './store.js'
import { placeName } from './where.js'
import { colourOf, sayAppointment, sayGhost, sayGroup, typeName, who } from './words.js'

// boxOf returns the position of an item in its column. Items at the same time share the width.
function boxOf({ from, to, lane = 0, lanes = 1 }, { range, scale }) {
  const top = Math.max(from, range.from)
  return {
    top: (top - range.from) * scale,
    height: Math.max((Math.min(to, range.to) - top) * scale - 2, 16),
    start: (100 * lane) / lanes,
    width: 100 / lanes,
  }
}
const styleOf = box =>
  `inset-block-start:${box.top}px;block-size:${box.height}px;inset-inline-start:${box.start}%;inline-size:calc(${box.width}% - 5px)`
export const place = (at, view) => styleOf(boxOf(at, view))

// icon calls h() directly, because a full board would otherwise parse a template 400 times.
const icon = name =>
  h('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true' }, h('path', { d: paths[name] }))
// nextOf maps an attendance to the attendance that a press on the card's icon sets. A completed appointment has no
// entry; the user changes it in the dialog.
const nextOf = { expected: 'arrived', arrived: 'in_progress', in_progress: 'completed' }
const sign = (desk, a) => {
  const next = desk.reaches(a.specialistId) && nextOf[a.attendance]
  return next
    ? h('i', { class: 'sign', 'data-attend': next, title: t('att.' + next) }, icon(attendanceIcon[a.attendance]))
    : icon(attendanceIcon[a.attendance])
}
// The space separates the words for screen readers.
const flag = (name, key, params) => [h('span', { class: 'flag' }, icon(name), t(key, params)), ' ']
// visitAt returns the appointment's position among the consecutive appointments of its group visit, and their number.
const visitAt = (s, a) => {
  const all = Object.values(s.cells[cell(dateOf(a.start), a.specialistId)] || {})
    .filter(x => x.visitId === a.visitId && x.status !== 'cancelled')
    .sort((x, y) => x.start - y.start)
  return { at: all.findIndex(x => x.id === a.id) + 1, n: all.length }
}

export function card(desk, item, view) {
  const { of: a, lanes } = item,
    box = boxOf(item, view),
    at = clock(item.from)
  if (a.busy)
    return h(
      'div',
      { class: 'appt busy', key: item.id, style: styleOf(box), 'data-id': item.id },
      h('p', null, at, ' ', who(desk, a)),
    )
  const flat = box.height < 36 || lanes > 3
  const s = desk.store.get(),
    name = who(desk, a),
    type = typeName(s, a.appointmentTypeId),
    where = placeName(a.place)
  return h(
    'div',
    {
      class: `appt ${colourOf(s, a.appointmentTypeId)} ${a.attendance}${flat ? ' flat' : ''}${a.overbook ? ' over' : ''}`,
      key: item.id,
      style: styleOf(box),
      'data-id': item.id,
      role: 'button',
      'aria-label':
        sayAppointment(desk, a, at, a.visitId && t('visit.at', visitAt(s, a))) +
        (a.visitId ? ', ' + t('series.at', visitAt(s, a)) : ''),
      title: lanes > 1 || flat ? `${at} ${name}, ${type}` : undefined,
    },
    h('p', { class: 'appt-name' }, sign(desk, a), h('span', null, at), ' ', h('b', { dir: 'auto' }, name)),
    h(
      'p',
      { class: 'appt-type', 'data-at': at },
      ' ',
      a.visitId && flag('people', 'visit.at', visitAt(s, a)),
      a.overbook && flag('over', 'card.overbook'),
      a.upstreamState === 'failed' && flag('alert', 'card.upstream'),
      h('span', null, type, where && ', ', where && h('span', { class: 'where', dir: 'auto' }, where)),
      a.patient?.notes && icon('note'),
    ),
  )
}

// group draws a group session of any size as one card. The roster lists the people and their attendance.
export function group(desk, item, view) {
  const { of: g, lanes } = item,
    box = boxOf(item, view),
    at = clock(item.from)
  const flat = box.height < 36 || lanes > 3,
    n = came(g)
  const s = desk.store.get(),
    name = typeName(s, g.typeId),
    words = sayGroup(desk, g, at)
  return h(
    'div',
    {
      class: `appt group ${colourOf(s, g.typeId)}${flat ? ' flat' : ''}`,
      key: item.id,
      style: styleOf(box),
      'data-id': item.id,
      role: 'button',
      'aria-label': words,
      title: words,
    },
    h(
      'p',
      { class: 'appt-name' },
      icon('people'),
      h('span', null, at),
      ' ',
      h('b', { dir: 'auto' }, name),
      ' ',
      h('strong', { class: 'seats' }, `${g.heads.length}/${g.capacity}`),
    ),
    h(
      'p',
      { class: 'appt-type', 'data-at': at },
      ' ',
      isFull(g) && h('strong', null, t('group.full')),
      g.heads.some(a => a.upstreamState === 'failed') && flag('alert', 'card.upstream'),
      n > 0 && h('span', { class: 'flag' }, icon('clock'), t('group.came', { n })),
      h('span', { dir: 'auto' }, g.heads.map(a => who(desk, a)).join(', ')),
    ),
  )
}

// The edge of a ghost gets shorter until the hold expires. The server sends renewals only to the hold's owner, not to
// the desk. So an empty edge means that the hold can end at any moment, and only a server event removes the ghost.
export function ghost(item, view) {
  const { of: h } = item,
    box = boxOf(item, view),
    words = sayGhost(h)
  return html`
    <div
      class=${'appt ghosted' + (h.own ? ' own' : '') + (box.height < 30 ? ' flat' : '')}
      key=${item.id}
      style=${styleOf(box)}
      data-id=${item.id}
      role="img"
      aria-label=${words}
    >
      <i class="drain" style=${{ animationDuration: Math.max(1000, h.expires - h.seen) + 'ms' }} key=${h.expires}></i>
      <p><span>${words}</span></p>
    </div>
  `
}
