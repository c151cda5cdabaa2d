// The roster of a group session: the booked people, their attendance, and the people who are waiting for a place.
// The user opens, moves or removes each person separately. The last change can be undone here, because the dialog
// covers the board's own undo button.
import { html, useEffect, useMemo, useState } from '../lib/html.js'
import { serverNow } from '../lib/clock.js'
import { Dialog } from '../lib/dialog.js'
import { Field } from '../lib/form.js'
import { attendanceIcon } from '../lib/deskicons.js'
import { Icon } from '../lib/icons.js'
import { locale, t } from '../lib/i18n.js'
import { Notice } from '../lib/notice.js'
import { useStore } from '../lib/store.js'
import { dayAndTime, range, write } from '../lib/time.js'
import { headsIn, isFull } from './group.js'
import { useChange } from './move.js'
import { find } from './store.js'
import { offerAttendance, undoLast } from './undo.js'
import { attendances, failKey, specialistName, typeIn, typeName, who } from './words.js'

const byName = new Intl.Collator(locale)
const order = (a, b) => byName.compare(a.patient?.name || '', b.patient?.name || '') || (a.id < b.id ? -1 : 1)

// Said repeats the board's message and its button, because the user can't press a button below a dialog.
function Said({ desk }) {
  const toast = useStore(desk.store, s => s.toast),
    [now, set] = useState(() => performance.now())
  const until = toast ? toast.n + (toast.act?.ms || 6000) : 0
  useEffect(() => {
    const timer = setTimeout(() => set(performance.now()), Math.max(0, until - performance.now()) + 20)
    return () => clearTimeout(timer)
  }, [toast])
  const there = toast && now < until
  return html`
    <p class="said" role="status">
      ${
        there &&
        html`
          <span>${t(toast.key, toast.params)}</span>
          ${
            toast.act?.run &&
            html`
              <button type="button" class="btn" onClick=${() => toast.act.run()}>
                ${t(toast.act.key)}${
                  toast.act.kind === 'undo' &&
                  html`
                    ${' '}
                    <kbd aria-hidden="true">U</kbd>
                  `
                }
              </button>
            `
          }
        `
      }
    </p>
  `
}

function Head({ desk, a, first, mine, attend, open }) {
  const name = who(desk, a),
    names = desk.prefs.get().names,
    { phone, notes } = a.patient || {}
  const press = (x, label) => html`
    <button
      type="button"
      class="btn"
      aria-pressed=${String(a.attendance === x)}
      aria-label=${`${t('att.' + x)}: ${name}`}
      onClick=${() => attend(a, a.attendance === x ? 'expected' : x)}
    >
      <${Icon} name=${attendanceIcon[x]} />
      ${label}
    </button>
  `
  return html`
    <li data-head=${a.id}>
      <span class="attendee">
        <button type="button" class="textlink" autofocus=${first} onClick=${() => open('appointment', a)}>
          <bdi>${name}</bdi>
        </button>
        ${
          names &&
          phone &&
          html`
            <a href=${'tel:' + phone.replace(/[^\d+]/g, '')}><bdi>${phone}</bdi></a>
          `
        }
        ${
          !['expected', 'arrived', 'no_show'].includes(a.attendance) &&
          html`
            <span class="muted">
              <${Icon} name=${attendanceIcon[a.attendance]} />
              ${t('att.' + a.attendance)}
            </span>
          `
        }
        ${
          a.overbook &&
          html`
            <span class="flag">
              <${Icon} name="over" />
              ${t('card.overbook')}
            </span>
          `
        }${
          a.upstreamState === 'failed' &&
          html`
            <span class="flag">
              <${Icon} name="alert" />
              ${t('card.upstream')}
            </span>
          `
        }
        ${
          names &&
          notes &&
          html`
            <span class="muted"><bdi>${notes}</bdi></span>
          `
        }
      </span>
      ${
        mine &&
        html`
          <span class="does">
            ${press('arrived', t('att.arrived'))}${press('no_show', t('att.no_show'))}
            <button
              type="button"
              class="btn quiet"
              aria-label=${`${t('menu.move')}: ${name}`}
              onClick=${() => open('move', a)}
            >
              ${t('menu.move')}
            </button>
            <button
              type="button"
              class="btn quiet"
              aria-label=${`${t('roster.off')}: ${name}`}
              onClick=${() => open('cancel', a)}
            >
              ${t('roster.off')}
            </button>
          </span>
        `
      }
    </li>
  `
}

// useWaiters loads the waiting people every 5 s and after every change of the group, because a change can lead to an
// offer.
function useWaiters(desk, { typeId, specialistId, start }, version) {
  const [list, set] = useState([])
  useEffect(() => {
    if (desk.role === 'specialist') return
    let here = true
    const mine = x =>
      x.appointmentTypeId === typeId &&
      Date.parse(x.slotStartDate) === start &&
      (!x.specialistIds.length || x.specialistIds.includes(specialistId))
    const ask = () =>
      desk.waiting().then(
        all => {
          if (here) set(all.filter(mine))
        },
        () => {},
      ) // ignore a failure: the roster works without the waiting people
    const timer = setInterval(() => {
      if (!document.hidden) ask()
    }, 5000)
    ask()
    return () => {
      here = false
      clearInterval(timer)
    }
  }, [version])
  return list
}

export function Roster({ desk, typeId, specialistId, start, id, close }) {
  const s = useStore(desk.store),
    here = { typeId, specialistId, start }
  useStore(desk.prefs)
  const cells = headsIn(s, here),
    heads = useMemo(() => [...cells].sort(order), [s.cells])
  const type = typeIn(s, typeId),
    g = { ...here, heads, capacity: type?.capacity || heads.length },
    full = isFull(g)
  const end = heads[0]?.end || start + (type?.durationMinutes || 0) * 6e4,
    mine = desk.reaches(specialistId),
    [problem, setProblem] = useState(null)
  const waiters = useWaiters(desk, here, heads.map(a => a.id).join())
  const attend = async (a, value) => {
    if (a.attendance === value) return
    setProblem(null)
    try {
      await desk.attend(find(desk.store.get(), a.id) || a, value)
      offerAttendance(desk, a, value)
    } catch (failed) {
      setProblem(failed)
    }
  }
  const open = (kind, a) => desk.open(kind, { id: a.id, back: { kind: 'roster', ...here, id: a.id } })
  const add = () => desk.open('book', { ...here, back: { kind: 'roster', ...here } })
  // The arrow keys choose a person. The keys of a card have the same effect here as on the board.
  const key = e => {
    const at = e.target.closest('[data-head]'),
      a = at && heads.find(x => x.id === at.dataset.head)
    if (!a || e.ctrlKey || e.metaKey || e.altKey) return
    const to = {
      ArrowDown: at.nextElementSibling,
      ArrowUp: at.previousElementSibling,
      Home: at.parentNode.firstElementChild,
      End: at.parentNode.lastElementChild,
    }
    let run = e.key in to && (() => to[e.key]?.querySelector('button').focus())
    if (!run && mine && e.key === 'Delete') run = () => open('cancel', a)
    if (!run && mine && desk.prefs.get().keys) {
      const value = attendances[+e.key - 1]
      run = value
        ? () => attend(a, value)
        : { m: () => open('move', a), e: () => open('correct', a), u: undoLast }[e.key.toLowerCase()]
    }
    if (!run) return
    e.preventDefault()
    run()
  }
  const chosen = heads.find(a => a.id === id) || heads[0]
  return html`
    <${Dialog}
      title=${html`
        <bdi>${typeName(s, typeId)}</bdi>
        ${' '}${t('roster.count', { n: heads.length, of: g.capacity })}
      `}
      wide
      close=${close}
    >
      <div class="stack roster">
        <p class="fromto">
          <span>${write('shortDay', start)}, ${range(start, end)}</span>
          <span class="muted">
            <bdi>${specialistName(s, specialistId)}</bdi>
            ${
              full &&
              html`
                , ${t('group.full')}
              `
            }
          </span>
        </p>
        ${
          problem &&
          html`
            <${Notice} kind="danger" role="alert" text=${failKey(problem)} />
          `
        }
        ${
          heads.length
            ? html`
                <ul class="way" aria-label=${t('roster.list')} onKeyDown=${key}>
                  ${heads.map(
                    a => html`
                      <${Head}
                        key=${a.id}
                        desk=${desk}
                        a=${a}
                        first=${a === chosen}
                        mine=${mine}
                        attend=${attend}
                        open=${open}
                      />
                    `,
                  )}
                </ul>
              `
            : html`
                <p class="muted">${t('roster.none')}</p>
              `
        }
        <${Said} desk=${desk} />
        ${
          waiters.length > 0 &&
          html`
            <section>
              <h3>${t('roster.waiting', { n: waiters.length })}</h3>
              <ul class="waiters">
                ${waiters.map(
                  x => html`
                    <li key=${x.id}>
                      <bdi>${who(desk, x)}</bdi>
                      ${
                        desk.prefs.get().names &&
                        x.patient.phone &&
                        html`
                          ${' '}
                          <a href=${'tel:' + x.patient.phone.replace(/[^\d+]/g, '')}><bdi>${x.patient.phone}</bdi></a>
                        `
                      }
                      ${
                        x.offers.some(o => o.status === 'open') &&
                        html`
                          ${' '}
                          <span class="muted">${t('roster.offered')}</span>
                        `
                      }
                    </li>
                  `,
                )}
              </ul>
            </section>
          `
        }
        <footer class="actions">
          ${
            mine &&
            full &&
            desk.role !== 'specialist' &&
            start > serverNow() &&
            html`
              <button
                type="button"
                class="btn primary"
                onClick=${() => desk.open('waitFor', { ...here, back: { kind: 'roster', ...here } })}
              >
                <${Icon} name="clock" />
                ${t('roster.wait')}
              </button>
            `
          }
          ${
            mine &&
            html`
              <button type="button" class=${'btn' + (full ? '' : ' primary')} autofocus=${!heads.length} onClick=${add}>
                <${Icon} name="plus" />
                ${t('roster.add')}
              </button>
            `
          }
          <button type="button" class="btn" onClick=${() => close()}>${t('close')}</button>
        </footer>
        ${
          mine &&
          heads.length > 0 &&
          desk.prefs.get().keys &&
          html`
            <p class="hint">${t('roster.hint')}</p>
          `
        }
      </div>
    </${Dialog}>
  `
}

const ids = ['name', 'phone', 'email']

// WaitFor adds a person to the waiting list for exactly this time.
export function WaitFor({ desk, typeId, specialistId, start, close }) {
  const s = desk.store.get(),
    [draft, setDraft] = useState({ name: '', phone: '', email: '' })
  const change = useChange(async (patient, key) => {
    await desk.wait(
      typeId,
      { slotStartDate: new Date(start).toISOString(), specialistIds: [specialistId], patient },
      key,
    )
    desk.toast('roster.waits', { name: patient.name })
    close()
  })
  const errors = Object.fromEntries(
    (change.problem?.errors || []).map(x => [x.field.replace('patient.', ''), x.message]),
  )
  const other = change.problem && !ids.some(x => errors[x])
  const field = (key, type) => html`
    <${Field}
      id=${'wait-' + key}
      label=${t('field.' + key)}
      type=${type}
      optional=${key === 'email'}
      value=${draft[key]}
      input=${value => setDraft(d => ({ ...d, [key]: value }))}
      error=${errors[key]}
      maxlength="80"
      autofocus=${key === 'name'}
    />
  `
  const submit = e => {
    e.preventDefault()
    change.go(draft)
  }
  return html`
    <${Dialog} title=${t('roster.wait')} close=${close}>
      <form class="stack" onSubmit=${submit} novalidate>
        <p class="fromto">
          <span>
            ${dayAndTime(start)},${' '}
            <bdi>${specialistName(s, specialistId)}</bdi>
          </span>
          <span class="muted"><bdi>${typeName(s, typeId)}</bdi></span>
        </p>
        ${field('name', 'text')}${field('phone', 'tel')}${field('email', 'email')}
        <p class="hint">${t('roster.wait.hint')}</p>
        ${
          other &&
          html`
            <${Notice} kind="danger" role="alert" text=${failKey(change.problem)} />
          `
        }
        <footer class="actions">
          <button type="submit" class="btn primary" aria-disabled=${change.busy ? 'true' : undefined}>
            ${t('roster.wait.do')}
          </button>
          <button type="button" class="btn" onClick=${() => close()}>${t('cancel')}</button>
        </footer>
      </form>
    </${Dialog}>
  `
}
