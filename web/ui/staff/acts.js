// The actions that keys, pointers and the menu run on the board. Most actions only open a dialog, and the dialog makes
// the change.
import { t } from '../lib/i18n.js'
import { time } from '../lib/time.js'
import { attendanceIcon } from '../lib/deskicons.js'
import { clock } from './day.js'
import { find } from './store.js'
import { offerAttendance, undoLast } from './undo.js'
import { attendances, failKey, sayGhost, typeName, who } from './words.js'

export function createActs(desk, grid) {
  const startOf = h => grid.instant(h.id, h.stop.at)
  const span = () => grid.cursor.store.get().span

  const attend = async (a, attendance) => {
    if (a.attendance === attendance) return
    try {
      await desk.attend(a, attendance)
      offerAttendance(desk, a, attendance)
    } catch (problem) {
      refused(desk, a, problem)
    }
  }
  const act = {
    attend,
    open() {
      const h = grid.cursor.here()
      if (!h) return
      if (h.stop.item?.kind === 'card') desk.open('appointment', { id: h.stop.item.id })
      else if (h.stop.item?.kind === 'group') act.roster(h.stop.item.of)
      else if (span()) grid.menu()
      else if (h.stop.item?.kind !== 'busy') act.book('')
    },
    roster: ({ typeId, specialistId, start }) => desk.open('roster', { typeId, specialistId, start }),
    // Each person in a group has agreed to the time of the session, so one key press must not change all of them.
    whole: () => desk.toast('group.whole'),
    book(name) {
      const h = grid.cursor.here(),
        at = h && startOf(h)
      if (!at) return desk.open('book', { name })
      if (!desk.reaches(at.specialistId)) return desk.toast('own.only')
      const there = h.stop.item?.of // a group session, or the ghost of a time that is being booked
      const wish = { name, start: there ? there.start : at.start, specialistId: at.specialistId, typeId: there?.typeId }
      const form = desk.form()
      if (form) form.pick(wish)
      else desk.open('book', wish)
    },
    menu: () => grid.menu(),
    move: a => own(a) && desk.open('move', { id: a.id }),
    cancel: a => own(a) && desk.open('cancel', { id: a.id }),
    correct: a => own(a) && desk.open('correct', { id: a.id }),
    undo: () => undoLast(),
    block() {
      const h = grid.cursor.here(),
        { specialistId, start } = startOf(h)
      if (!desk.reaches(specialistId)) return desk.toast('own.only')
      desk.open('block', { specialistId, start, minutes: span() || 60 })
    },
    why() {
      const { specialistId, start } = startOf(grid.cursor.here())
      desk.open('why', { specialistId, start })
    },
    day: by => grid.go(by),
    today: () => grid.go(0),
    search: () => desk.open('search'),
    keys: () => desk.open('keys'),
    news: () => desk.open('news'),
    find: () => desk.open('find'),
  }
  const own = a => {
    if (desk.reaches(a.specialistId)) return true
    desk.toast('own.only')
  }

  // blocksAt returns the blocks at the cursor. There can be several; each is deleted separately.
  const blocksAt = h =>
    desk.reaches(h.specialistId)
      ? desk.store
          .get()
          .hours[h.specialistId].blocks.filter(
            b => !b.source && h.column.closed.some(c => c.block === b.id && c.from <= h.stop.at && h.stop.at < c.to),
          )
      : []

  // items returns the menu's title and entries for the stop of the cursor.
  function items(h) {
    const { item, closed } = h.stop,
      from = clock(h.stop.at),
      to = clock(h.stop.at + span())
    if (item?.kind === 'card') {
      const a = item.of
      return {
        title: `${time(a.start)} ${who(desk, a)}`,
        items: [
          { label: t('menu.open'), icon: 'info', run: act.open, hint: '↵' },
          null,
          ...attendances.map((x, i) => ({
            label: t('att.' + x),
            icon: attendanceIcon[x],
            on: a.attendance === x,
            hint: String(i + 1),
            run: () => attend(a, x),
          })),
          null,
          { label: t('menu.move'), icon: 'change', hint: 'M', run: () => act.move(a) },
          { label: t('menu.correct'), icon: 'note', hint: 'E', run: () => act.correct(a) },
          { label: t('menu.cancel'), icon: 'close', danger: true, hint: 'Del', run: () => act.cancel(a) },
        ],
      }
    }
    if (item?.kind === 'group') {
      return {
        title: `${time(item.of.start)} ${typeName(desk.store.get(), item.of.typeId)}`,
        items: [
          { label: t('menu.open'), icon: 'people', run: act.open, hint: '↵' },
          { label: t('roster.add'), icon: 'plus', run: () => act.book('') },
          { label: t('menu.why'), icon: 'help', run: act.why },
        ],
      }
    }
    const title = item?.kind === 'ghost' ? sayGhost(item.of) : span() ? t('range', { from, to }) : from
    return {
      title,
      items: [
        item?.kind !== 'busy' && {
          label: t(item ? 'menu.take' : closed ? 'menu.book.closed' : 'menu.book'),
          icon: 'plus',
          run: () => act.book(''),
          hint: span() ? '' : '↵',
        },
        !item && !closed && { label: t('menu.block'), icon: 'stop', run: act.block },
        ...(item ? [] : blocksAt(h)).map(b => ({
          label: t('menu.block.drop', { from: time(b.start), to: time(b.end) }),
          icon: 'change',
          run: () => desk.open('dropBlock', { block: b }),
        })),
        ...(item ? [] : blocksAt(h))
          .slice(0, 1)
          .map(b => ({ label: t('way.title'), icon: 'people', run: () => desk.open('inTheWay', { id: b.id }) })),
        closed?.override && {
          label: t('menu.unblock'),
          icon: 'change',
          run: () => desk.open('unblock', { specialistId: h.specialistId, id: closed.override, date: h.date }),
        },
        { label: t('menu.why'), icon: 'help', run: act.why },
      ].filter(Boolean),
    }
  }

  return {
    act,
    items,
    // tapped handles a press at a minute of a column. id is the pressed card, if any. sign is the attendance that its
    // icon sets, if the icon was pressed.
    tapped(col, minute, id, sign) {
      if (grid.widen(col)) return
      grid.element().focus({ preventScroll: true })
      grid.hover.set(() => null) // a pane or dialog that opens can change the columns' width
      const a = id && find(desk.store.get(), id)
      const stop = id ? grid.look(col).items.find(i => i.id === id) : null
      grid.cursor.put(col, stop ? stop.from : Math.floor(minute / 15) * 15, id || '')
      if (a?.busy) return
      if (a && sign) return attend(a, sign)
      act.open()
    },
  }
}

// refused shows why the change of an appointment failed. If the page's version is outdated, the message offers to show
// the appointment.
export function refused(desk, a, problem) {
  const show = {
    key: 'toast.show',
    kind: 'bad',
    run: () =>
      desk.fetch(a.id).then(
        x => desk.open('appointment', { id: x.id }),
        () => {},
      ),
  }
  desk.toast(failKey(problem), {}, problem.code === 'version_mismatch' ? show : { kind: 'bad' })
}
