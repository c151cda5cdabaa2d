// Sentences about the board, the same on the screen and for screen readers.
import { cannotSave, passing } from '../lib/api.js'
import { boot } from '../lib/boot.js'
import { list, t } from '../lib/i18n.js'
import { dateOf, dayAndTime, range, shortDate, time } from '../lib/time.js'
import { clock } from './day.js'
import { came, isFull } from './group.js'
import { freeUntil } from './layout.js'
import { shown } from './prefs.js'
import { placeName } from './where.js'

export const attendances = ['expected', 'arrived', 'in_progress', 'completed', 'no_show']
export const specialistName = (s, id) =>
  s.specialists.find(x => x.id === id)?.name || boot.specialists.find(x => x.id === id)?.name || id
export const typeIn = (s, id) => s.types.find(x => x.id === id) || boot.appointmentTypes.find(x => x.id === id)
export const typeName = (s, id) => typeIn(s, id)?.name || id
// captions returns the keys of a shortcut, as a keyboard for the page's language shows them.
const named = ['Ctrl', 'Shift', 'Enter', 'Del', 'Home', 'End', 'PgUp', 'PgDn']
export const captions = keys => keys.split(' ').map(key => (named.includes(key) ? t('key.' + key) : key))
// Each type has one of six colours: the clinic's choice, or the one for its position in the list.
const hues = ['kelp', 'ocean', 'plum', 'amber', 'rose', 'olive']
export function colourOf(s, id) {
  const at = s.types.findIndex(x => x.id === id),
    chosen = hues.indexOf(s.types[at]?.color)
  return 't' + ((chosen >= 0 ? chosen : Math.max(0, at) % 6) + 1)
}

export const who = (desk, a) =>
  a.busy && !a.of ? t('card.busy') : shown(desk.prefs.get(), a.patient?.name || '') || t('card.nobody')
export const closedWord = word =>
  ['closed', 'break', 'blocked', 'elsewhere'].includes(word) ? t('closed.' + word) : word

// "09:00 Lena Vogt, Check-up, 30 minutes, arrived". The visible text of the card comes first, in the same order, so
// that people who use voice control can name the card by what they see.
const attended = {},
  lasts = new Map()
export function sayAppointment(desk, a, at = time(a.start), visit = '') {
  if (a.busy) return [range(a.start, a.end), who(desk, a)].join(', ')
  return [
    `${at} ${who(desk, a)}`,
    visit,
    a.overbook && t('card.overbook'),
    a.upstreamState === 'failed' && t('card.upstream'),
    typeName(desk.store.get(), a.appointmentTypeId),
    placeName(a.place),
    minutesOf(Math.round((a.end - a.start) / 6e4)),
    (attended[a.attendance] ??= t('att.' + a.attendance)),
  ]
    .filter(Boolean)
    .join(', ')
}
// "09:00 Back school 6/8, full, 4 here, Lena Vogt, …, 60 minutes"
export function sayGroup(desk, g, at = time(g.start)) {
  const n = came(g),
    failed = g.heads.some(a => a.upstreamState === 'failed')
  return [
    `${at} ${typeName(desk.store.get(), g.typeId)} ${g.heads.length}/${g.capacity}`,
    isFull(g) && t('group.full'),
    failed && t('card.upstream'),
    n > 0 && t('group.came', { n }),
    ...g.heads.map(a => who(desk, a)),
    minutesOf(Math.round((g.end - g.start) / 6e4)),
  ]
    .filter(Boolean)
    .join(', ')
}
const minutesOf = n => lasts.get(n) || lasts.set(n, t('minutes', { n })).get(n)
export const sayGhost = h =>
  t(h.own ? 'ghost.own' : h.done ? 'ghost.done' : h.waits ? 'ghost.waits.' + h.waits : 'ghost')

// "10:15, Dr Haddad, free until 11:00"
export function sayStop(desk, column, stop, name, span) {
  const { item, closed } = stop
  if (item?.kind === 'ghost') return [range(item.of.start, item.of.end), name, sayGhost(item.of)].join(', ')
  if (item?.kind === 'group') return [sayGroup(desk, item.of), name].join(', ')
  if (item) return [sayAppointment(desk, item.of), name].join(', ')
  if (span)
    return [t('range', { from: clock(stop.at), to: clock(stop.at + span) }), name, t('cursor.chosen')].join(', ')
  const state = closed
    ? t('cursor.closed', { word: closedWord(closed.word), time: clock(Math.min(closed.to, stop.next)) })
    : t('cursor.free', { time: clock(freeUntil(column, stop)) })
  return [clock(stop.at), name, state].join(', ')
}

// The obstacle to a booking, in a sentence. fit.js finds it.
export function sayObstacle(desk, { why, by, word, specialistId, typeId, at }) {
  const s = desk.store.get()
  const key =
    why === 'closed' && word !== 'closed'
      ? word === 'break'
        ? 'break'
        : 'blocked'
      : why === 'serves' && !typeId
        ? 'none'
        : why
  return t('why.' + key, {
    who: specialistName(s, specialistId),
    type: typeName(s, typeId),
    word: word && closedWord(word),
    name: by && who(desk, by),
    time: by ? time(by.start) : at ? time(at) : '',
  })
}
export const sayList = list

// sayDays returns the text for a span from midnight to midnight as dates only, and '' for any other span. Both ends are
// milliseconds.
function sayDays(start, end) {
  const first = dateOf(start),
    last = dateOf(end - 1)
  if (dateOf(start - 1) === first || dateOf(end) === last) return ''
  return first === last ? shortDate(first) : t('over.span', { from: shortDate(first), to: shortDate(last) })
}

// saySpan returns the text for the start and end of a block or an absence: dates only for whole days. Another one that
// ends at midnight is shown as ending at 23:59.
export function saySpan(start, end) {
  const last = dateOf(end - 1) === dateOf(end) ? end : end - 6e4
  return (
    sayDays(start, end) ||
    t('range', { from: dayAndTime(start), to: dateOf(start) === dateOf(last) ? time(last) : dayAndTime(last) })
  )
}

// The server's refusals, as text keys of this page. A change without an answer may have been saved.
const said = ['slot_taken', 'slot_held', 'not_bookable', 'forbidden', 'not_found', 'rate_limited', 'validation_failed']
export function failKey(problem) {
  if (problem.code === 'version_mismatch') return 'fail.changed'
  if (problem.reason === 'cancelled') return 'fail.cancelled'
  if (cannotSave(problem)) return 'fail.storage'
  if (passing(problem)) return 'fail.unknown'
  return said.includes(problem.code) ? 'fail.' + problem.code : 'fail.other'
}
