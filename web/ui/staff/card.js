// What stands in a column: an appointment, a colleague's busy time, or the ghost of a time that
// somebody is booking online at this moment. A ghost has no person: nobody here knows who it is.
import { html } from '../lib/html.js'
import { Icon } from '../lib/icons.js'
import { attendanceIcon } from '../lib/deskicons.js'
import { t } from '../lib/i18n.js'
import { time } from '../lib/time.js'
import { colourOf, sayAppointment, sayGhost, typeName, who } from './words.js'
import { memo } from './column.js'

const px = n => n + 'px'
const at = ({ top, height, lane, lanes }) => ({
  insetBlockStart: px(top), blockSize: px(height), insetInlineStart: `${100 * lane / lanes}%`, inlineSize: `${100 / lanes}%`,
})

export const Card = memo(props => {
  const { desk, of: a, height, lanes } = props, s = desk.store.get()
  if (a.busy) return html`<div class="appt busy" style=${at(props)} data-id=${props.id}><p>${time(a.start)} ${t('card.busy')}</p></div>`
  const line = height < 36 || lanes > 3
  const name = who(desk, a), type = typeName(s, a.appointmentTypeId)
  const classes = ['appt', colourOf(s, a.appointmentTypeId), a.attendance, line && 'line', lanes > 2 && 'slim', a.overbook && 'over'].filter(Boolean).join(' ')
  return html`<div class=${classes} style=${at(props)} data-id=${props.id} role="button" aria-label=${sayAppointment(desk, a)} title=${lanes > 1 || line ? `${time(a.start)} ${name}, ${type}` : undefined}>
    <p class="appt-name"><${Icon} name=${attendanceIcon[a.attendance]} /><span>${time(a.start)}</span> <b><bdi>${name}</bdi></b></p>
    <p class="appt-type">${a.overbook && html`<span class="flag"><${Icon} name="over" />${t('card.overbook')}</span>`}${a.upstreamState === 'failed' && html`<span class="flag"><${Icon} name="alert" />${t('card.upstream')}</span>`}<span>${type}</span>${a.patient?.notes && html`<${Icon} name="note" />`}</p>
  </div>`
})

// The edge drains until the hold lapses. Whoever keeps it alive is told, the desk is not: an empty edge
// means "any moment now", and only the server's word takes the ghost away.
export const Ghost = memo(props => {
  const { of: h, height } = props
  const ms = Math.max(1000, h.expires - h.seen)
  return html`<div class=${'appt ghosted' + (h.own ? ' own' : '') + (height < 30 ? ' line' : '')} style=${at(props)} data-id=${props.id} role="img" aria-label=${sayGhost(h)}>
    <i class="drain" style=${{ animationDuration: ms + 'ms' }} key=${h.expires}></i><p><span>${sayGhost(h)}</span></p>
  </div>`
})
