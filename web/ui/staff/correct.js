// The dialog that corrects an appointment: the person, the note, the answers, and the type. It offers only types that
// fit at the appointment's time. For another type, the desk must move the appointment.
import { boot } from '../lib/boot.js'
import { html, useState } from '../lib/html.js'
import { Dialog } from '../lib/dialog.js'
import { Field } from '../lib/form.js'
import { Notice } from '../lib/notice.js'
import { useStore } from '../lib/store.js'
import { t } from '../lib/i18n.js'
import { dayAndTime } from '../lib/time.js'
import { Asks, answersOf, reanswered } from './asks.js'
import { fit } from './fit.js'
import { Failed, Tell, useChange } from './move.js'
import { PatientFields, blank, check, known } from './patient.js'
import { find } from './store.js'
import { offer } from './undo.js'
import { sayObstacle, specialistName, typeIn, typeName, who } from './words.js'

const keys = ['name', 'phone', 'email', 'birthDate', 'notes']

// typesAt returns the specialist's types, each with its obstacle at this time. Closed hours do not count, because the
// desk can book outside the hours.
function typesAt(desk, a) {
  const s = desk.store.get()
  return s.types
    .filter(
      x => x.id === a.appointmentTypeId || (x.active && x.specialists.some(p => p.specialistId === a.specialistId)),
    )
    .map(type => {
      const block =
        type.id === a.appointmentTypeId
          ? {}
          : fit(s, { typeId: type.id, specialistId: a.specialistId, start: a.start, moving: a.id })
      return { type, no: block.why && block.why !== 'closed' ? sayObstacle(desk, block) : '' }
    })
}

export function Correct({ desk, id, focus = 'name', close }) {
  const s = useStore(desk.store)
  const [a] = useState(() => find(desk.store.get(), id)),
    p = a.patient || {}
  const [draft, setDraft] = useState(() => ({
      ...blank,
      ...known({ ...p, name: p.name || '', sms: a.intake?.sms }),
      notes: p.notes || '',
    })),
    [errors, setErrors] = useState({})
  const [typeId, setType] = useState(a.appointmentTypeId),
    [notify, setNotify] = useState(true)
  const list = typesAt(desk, a),
    name = who(desk, a),
    asked = typeIn(s, a.appointmentTypeId)
  const [answers, setAnswers] = useState(() => answersOf(a))
  const change = useChange(async ({ patient, answers, sms, type }, key) => {
    let now = find(desk.store.get(), id) || a
    // Change the type last, because undo reverses only the last change.
    if (patient || answers || sms !== undefined) now = await desk.correct(now, { patient, answers, sms, notify })
    if (type)
      now = await desk.move(
        now,
        {
          slotStartDate: new Date(a.start).toISOString(),
          specialistId: a.specialistId,
          appointmentTypeId: type,
          notify,
          ignoreHours: true,
        },
        key,
      )
    if (type) offer(desk, 'correct.typed', { name, type: typeName(desk.store.get(), type) }, () => desk.undo(now))
    else desk.toast('correct.done', { name: now.patient?.name || name })
    close()
  })
  const submit = e => {
    e.preventDefault()
    const { errors: wrong, patient } = check(draft)
    setErrors(wrong)
    const first = Object.keys(wrong)[0]
    if (first) return document.getElementById('patient-' + first)?.focus()
    const edited = Object.fromEntries(
      keys.filter(k => (patient[k] || '') !== (p[k] || '')).map(k => [k, patient[k] || '']),
    )
    const any = Object.keys(edited).length > 0,
      told = reanswered(asked, answersOf(a), answers),
      other = Object.keys(told).length > 0,
      type = typeId !== a.appointmentTypeId && typeId,
      sms = boot.sms && draft.sms !== Boolean(a.intake?.sms)
    if (!any && !other && !sms && !type) return close()
    change.go({
      ...(any && { patient: edited }),
      ...(other && { answers: told }),
      ...(sms && { sms: draft.sms }),
      ...(type && { type }),
    })
  }
  return html`
    <${Dialog} title=${t('correct.title', { name })} close=${close}>
      <form class="stack" onSubmit=${submit} novalidate>
        <p class="fromto">
          <span>
            ${dayAndTime(a.start)},${' '}
            <bdi>${specialistName(s, a.specialistId)}</bdi>
          </span>
        </p>
        <${PatientFields} desk=${desk} draft=${draft} set=${setDraft} errors=${errors} focus=${focus} />
        <${Asks} type=${asked} answers=${answers} set=${setAnswers} errors=${errors} />
        ${
          list.length > 1 &&
          html`
            <${Field}
              id="correct-type"
              label=${t('book.type')}
              hint=${list.some(x => x.no) ? t('correct.type.hint') : undefined}
            >
              <select
                id="correct-type"
                value=${typeId}
                aria-describedby=${list.some(x => x.no) ? 'correct-type-hint' : undefined}
                onChange=${e => setType(e.currentTarget.value)}
              >
                ${list.map(
                  ({ type, no }) => html`
                    <option key=${type.id} value=${type.id} disabled=${Boolean(no)}>
                      ${type.name}, ${t('minutes.short', { n: type.durationMinutes })}${no && ` – ${no}`}
                    </option>
                  `,
                )}
              </select>
            </${Field}>
          `
        }
        ${
          change.problem?.errors?.length > 0
            ? html`
                <${Notice} kind="danger" role="alert" text="fail.validation_failed" />
              `
            : html`
                <${Failed} desk=${desk} problem=${change.problem} a=${a} close=${close} />
              `
        }
        <footer class="actions">
          <button type="submit" class="btn primary" aria-disabled=${change.busy ? 'true' : undefined}>
            ${t(change.busy ? 'correct.doing' : 'correct.do')}
          </button>
          <button type="button" class="btn" onClick=${() => close()}>${t('cancel')}</button>
          <${Tell} email=${draft.email} value=${notify} set=${setNotify} />
        </footer>
      </form>
    </${Dialog}>
  `
}
