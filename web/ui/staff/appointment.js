// One appointment: its details and the actions on it.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { Icon } from '../lib/icons.js'
import { attendanceIcon } from '../lib/deskicons.js'
import { Notice } from '../lib/notice.js'
import { useStore } from '../lib/store.js'
import { t } from '../lib/i18n.js'
import { dateOf, dayAndTime, range, write } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { refused } from './acts.js'
import { Changes } from './changes.js'
import { go } from './daybar.js'
import { History } from './history.js'
import { Intake } from './intake.js'
import { Pane } from './pane.js'
import { RecallRow } from './recall.js'
import { SeriesRow } from './series.js'
import { appointmentOf, find } from './store.js'
import { VisitRow } from './visit.js'
import { placeName } from './where.js'
import { attendances, colourOf, failKey, specialistName, typeName, who } from './words.js'

// Attendance is one group of radios, so that the arrow keys and a single press can both change it.
function Attendance({ desk, a, name }) {
  const set = async value => {
    try {
      await desk.attend(find(desk.store.get(), a.id) || a, value)
    } catch (problem) {
      refused(desk, a, problem)
    }
  }
  return html`
    <fieldset class="attendance">
      <legend class="sr">${t('att.title')}</legend>
      ${attendances.map(
        (x, i) => html`
          <label key=${x}>
            <input
              type="radio"
              name=${name}
              value=${x}
              checked=${a.attendance === x}
              autofocus=${a.attendance === x}
              onChange=${() => set(x)}
            />
            <span class="face">
              <${Icon} name=${attendanceIcon[x]} />
              ${t('att.' + x)}
              <kbd aria-hidden="true">${i + 1}</kbd>
            </span>
          </label>
        `,
      )}
    </fieldset>
  `
}

function CopyLink({ url }) {
  const [said, setSaid] = useState(false),
    ref = useRef()
  if (!url) return null
  const copy = async () => {
    // A plain-HTTP address has no clipboard API. Then select the text, so that the person can copy it.
    try {
      await navigator.clipboard.writeText(url)
      setSaid(true)
    } catch {
      ref.current.hidden = false
      ref.current.select()
    }
  }
  return html`
    <button type="button" class="textlink" onClick=${copy}>${t(said ? 'manage.copied' : 'card.copy')}</button>
    <input class="copied" ref=${ref} hidden readonly value=${url} aria-label=${t('card.copy')} />
  `
}

const fields = 'input:not([type=radio]), textarea, select'

// stateOf returns the state to show for a message about an appointment. An email that was only written to a file was
// not sent. A reminder and a recall are queued from the start, but are sent on their day; a cancelled appointment has
// no reminder.
const stateOf = (d, a) => {
  if (d.channel === 'email' && d.state === 'delivered' && d.detail) return 'filed'
  if (d.state !== 'queued' || (d.notice !== 'reminder' && d.notice !== 'recall')) return d.state
  return d.notice === 'reminder' && a.status === 'cancelled' ? 'not_needed' : 'scheduled'
}

const toldLine = (d, a) =>
  t('told.line', {
    what: word('notice.', d.notice),
    by: word('channel.', d.channel),
    state: word('delivery.', stateOf(d, a)),
  })

export function Appointment({ desk, id, close }) {
  const kept = useStore(desk.store, s => find(s, id)),
    was = useRef(kept),
    [cancelled, setCancelled] = useState(null) // a cancelled appointment, which the board does not show
  if (kept) was.current = kept
  const a = kept || cancelled || was.current
  const [deliveries, setDeliveries] = useState([]),
    [problem, setProblem] = useState(null)
  useEffect(() => {
    desk.fetch(id).then(
      raw => raw.status === 'cancelled' && setCancelled(appointmentOf(raw)),
      p => setProblem(p),
    )
    desk.deliveries(id).then(setDeliveries, () => {})
  }, [id])
  useEffect(() => {
    // The digit keys set the attendance, as on the board. A key that changes an appointment of the board, or that is
    // typed into a field, has no effect here.
    const key = e => {
      const value = attendances[+e.key - 1],
        now = find(desk.store.get(), id)
      if (!value || !now || !desk.reaches(now.specialistId) || !desk.prefs.get().keys) return
      if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.(fields)) return
      desk.attend(now, value).catch(p => refused(desk, now, p))
    }
    addEventListener('keydown', key)
    return () => removeEventListener('keydown', key)
  }, [id])
  if (!a)
    return html`
      <${Pane} title=${t('card.gone')} close=${close}><p>${t('card.gone.body')}</p></${Pane}>
    `
  const s = desk.store.get(),
    p = a.patient || {},
    mine = desk.reaches(a.specialistId) && kept
  const show = x => {
    close('leave')
    desk.patch({ reveal: x.id })
    go('day', dateOf(Date.parse(x.slotStartDate)))
  }
  const rows = [
    [
      'card.when',
      html`
        ${write('shortDay', a.start)}, ${range(a.start, a.end)}
        ${
          mine &&
          desk.front &&
          !a.visitId &&
          a.start > serverNow() &&
          html`
            <button type="button" class="textlink sooner" onClick=${() => desk.open('sooner', { id })}>
              ${t('sooner.open')}
            </button>
          `
        }
      `,
    ],
    [
      'card.with',
      html`
        <bdi>${specialistName(s, a.specialistId)}</bdi>
      `,
    ],
    placeName(a.place) && [
      'place.title',
      html`
        <bdi>${placeName(a.place)}</bdi>
      `,
    ],
    [
      'card.type',
      html`
        <span class=${'swatch ' + colourOf(s, a.appointmentTypeId)}></span>
        <bdi>${typeName(s, a.appointmentTypeId)}</bdi>
      `,
    ],
    mine &&
      a.seriesId && [
        'series.title',
        html`
          <${SeriesRow} desk=${desk} a=${a} show=${show} />
        `,
      ],
    mine &&
      a.visitId && [
        'visit.title',
        html`
          <${VisitRow} desk=${desk} a=${a} show=${show} />
        `,
      ],
    p.birthDate && ['card.born', write('numeric', p.birthDate)],
    p.phone && [
      'card.phone',
      html`
        <a href=${'tel:' + p.phone.replace(/[^\d+]/g, '')}><bdi>${p.phone}</bdi></a>
      `,
    ],
    p.email && [
      'card.email',
      html`
        <a href=${'mailto:' + p.email}><bdi>${p.email}</bdi></a>
      `,
    ],
    p.notes && [
      'card.notes',
      html`
        <span class="notes"><bdi>${p.notes}</bdi></span>
      `,
    ],
    a.intake && [
      'card.said',
      html`
        <${Intake} of=${a.intake} />
      `,
    ],
    mine && [
      'rc.title',
      html`
        <${RecallRow} desk=${desk} a=${a} close=${() => close('leave')} />
      `,
    ],
    a.overbook && ['card.overbook', a.overbookReason || t('card.overbook.why')],
    ['card.booked', t('card.booked.how', { when: dayAndTime(a.createdAt), how: word('source.', a.source) })],
    mine &&
      a.manageUrl && [
        'card.link',
        html`
          <${CopyLink} url=${a.manageUrl} />
        `,
      ],
    deliveries.length > 0 && [
      'card.told',
      html`
        <ul class="told">
          ${deliveries.map(
            d => html`
              <li key=${d.operationId}>${toldLine(d, a)}</li>
            `,
          )}
        </ul>
      `,
    ],
  ].filter(Boolean)
  return html`
    <${Pane}
      title=${html`
        <bdi>${p.name || who(desk, a)}</bdi>
      `}
      kind="detail"
      close=${close}
    >
      ${
        !kept &&
        html`
          <${Notice}
            kind="warn"
            icon="info"
            role="status"
            text=${cancelled ? 'card.cancelled.body' : 'card.gone.body'}
          />
        `
      }
      ${
        problem &&
        html`
          <${Notice} kind="danger" role="alert" text=${failKey(problem)} />
        `
      }
      ${
        a.upstreamState === 'failed' &&
        html`
          <${Notice} kind="danger" text="card.upstream.why" />
        `
      }
      ${
        mine &&
        html`
          <${Attendance} desk=${desk} a=${a} name="attendance" />
        `
      }
      <dl class="facts">
        ${rows.map(
          ([key, value]) => html`
            <div key=${key}>
              <dt>${t(key)}</dt>
              <dd>${value}</dd>
            </div>
          `,
        )}
      </dl>
      ${
        mine &&
        html`
          <${History} desk=${desk} id=${id} version=${a.version} close=${() => close('leave')} />
        `
      }
      ${
        desk.reaches(a.specialistId) &&
        html`
          <${Changes}
            key=${cancelled ? 'cancelled' : 'there'}
            desk=${desk}
            id=${id}
            version=${a.version}
            open=${Boolean(cancelled)}
            close=${() => close('leave')}
          />
        `
      }
      ${
        mine &&
        html`
          <footer class="actions">
            <button type="button" class="btn" onClick=${() => desk.open('move', { id })}>
              <${Icon} name="change" />
              ${t('menu.move')}
            </button>
            <button type="button" class="btn" onClick=${() => desk.open('correct', { id })}>
              <${Icon} name="note" />
              ${t('menu.correct')}
            </button>
            <button
              type="button"
              class="btn"
              onClick=${() => desk.open('book', { name: p.name, copy: { ...p, sms: a.intake?.sms }, of: id, specialistId: a.specialistId, typeId: a.appointmentTypeId })}
            >
              <${Icon} name="plus" />
              ${t('card.again')}
            </button>
            <button type="button" class="btn danger end" onClick=${() => desk.open('cancel', { id })}>
              ${t('menu.cancel')}
            </button>
          </footer>
        `
      }
    </${Pane}>
  `
}
// word returns the text for a key that the server sends. A key without a text is shown unchanged, because the server
// can be newer than this page.
const word = (prefix, key) => (t(prefix + key) === prefix + key ? key : t(prefix + key))
