// What stands in a column: an appointment, a colleague's busy time, or the ghost of a time that
// somebody is booking online at this moment. A ghost has no person: nobody here knows who it is.
import { html } from '../lib/html.js'
import { Icon } from '../lib/icons.js'
import { attendanceIcon } from '../lib/deskicons.js'
import { t } from '../lib/i18n.js'
import { time } from '../lib/time.js'
import { colourOf, sayAppointment, sayGhost, typeName, who } from './words.js'
import { memo } from './memo.js'

const px = n => n + 'px'
const heightOf = ({ from, to, range, scale }) => Math.max((Math.min(to, range.to) - Math.max(from, range.from)) * scale - 2, 16)
// place is where something stands in its column; things at the same time share the width.
export const place = props => ({
  insetBlockStart: px((Math.max(props.from, props.range.from) - props.range.from) * props.scale), blockSize: px(heightOf(props)),
  insetInlineStart: `${100 * (props.lane || 0) / (props.lanes || 1)}%`, inlineSize: `calc(${100 / (props.lanes || 1)}% - 5px)`,
})

export const Card = memo(props => {
  const { desk, of: a, lanes } = props, s = desk.store.get(), height = heightOf(props)
  if (a.busy) return html`<div class="appt busy" style=${place(props)} data-id=${props.id}><p>${time(a.start)} ${t('card.busy')}</p></div>`
  const line = height < 36 || lanes > 3
  const name = who(desk, a), type = typeName(s, a.appointmentTypeId)
  const classes = ['appt', colourOf(s, a.appointmentTypeId), a.attendance, line && 'flat', a.overbook && 'over'].filter(Boolean).join(' ')
  return html`<div class=${classes} style=${place(props)} data-id=${props.id} role="button" aria-label=${sayAppointment(desk, a)} title=${lanes > 1 || line ? `${time(a.start)} ${name}, ${type}` : undefined}>
    <p class="appt-name"><${Icon} name=${attendanceIcon[a.attendance]} /><span>${time(a.start)}</span> <b><bdi>${name}</bdi></b></p>${' '}
    <p class="appt-type">${a.overbook && html`<span class="flag"><${Icon} name="over" />${t('card.overbook')}</span>`}${a.upstreamState === 'failed' && html`<span class="flag"><${Icon} name="alert" />${t('card.upstream')}</span>`}<span>${type}</span>${a.patient?.notes && html`<${Icon} name="note" />`}</p>
  </div>`
})

// The edge drains until the hold lapses. Whoever keeps it alive is told, the desk is not: an empty edge
// means "any moment now", and only the server's word takes the ghost away.
export const Ghost = memo(props => {
  const { of: h } = props, height = heightOf(props)
  const ms = Math.max(1000, h.expires - h.seen)
  return html`<div class=${'appt ghosted' + (h.own ? ' own' : '') + (height < 30 ? ' flat' : '')} style=${place(props)} data-id=${props.id} role="img" aria-label=${sayGhost(h)}>
    <i class="drain" style=${{ animationDuration: ms + 'ms' }} key=${h.expires}></i><p><span>${sayGhost(h)}</span></p>
  </div>`
})
