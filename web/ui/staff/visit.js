// A group visit, several people one after the other: "a parent and two children". Each person has a separate
// appointment. The desk holds, books, moves and cancels them together.
import { html, useEffect, useState } from '../lib/html.js'
import { Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { t } from '../lib/i18n.js'
import { time } from '../lib/time.js'
import { birthFrom } from './patient.js'
import { typeName } from './words.js'

const most = 6
let count = 0

// useVisit stores the other people of a group visit.
export function useVisit() {
  const [others, setOthers] = useState([]),
    [errors, setErrors] = useState({})
  return {
    others,
    errors,
    add(typeId) {
      const id = ++count
      setOthers(list => [...list, { id, typeId, name: '', birthDate: '' }])
      setTimeout(() => document.getElementById('visitor-' + id)?.focus())
    },
    set: (id, change) => setOthers(list => list.map(x => (x.id === id ? { ...x, ...change } : x))),
    drop(id) {
      setOthers(list => list.filter(x => x.id !== id))
      setTimeout(() => document.getElementById('visitor-add')?.focus())
    },
    // check returns the other people in the server's format. If a field is wrong, it focuses the field and returns
    // undefined.
    check() {
      const wrong = {}
      for (const x of others) {
        if (!x.name.trim()) wrong['visitor-' + x.id] = t('field.name.err')
        if (birthFrom(x.birthDate) === null) wrong['visitor-born-' + x.id] = t('field.birthDate.err')
      }
      setErrors(wrong)
      const first = Object.keys(wrong)[0]
      if (first) return document.getElementById(first)?.focus()
      return others.map(x => ({
        appointmentTypeId: x.typeId,
        name: x.name.trim(),
        ...(birthFrom(x.birthDate) && { birthDate: birthFrom(x.birthDate) }),
      }))
    },
  }
}

// VisitFields shows the fields of each other person, and a button that adds a person. types are the types of the
// specialist, without group types.
export function VisitFields({ visit, types, typeId }) {
  const { others, errors } = visit
  return html`
    ${others.map(
      (x, i) => html`
        <fieldset class="patient visitor" key=${x.id}>
          <legend>${t('visit.person', { n: i + 2 })}</legend>
          <${Field}
            id=${'visitor-' + x.id}
            label=${t('visit.person', { n: i + 2 }) + ', ' + t('field.name')}
            value=${x.name}
            input=${name => visit.set(x.id, { name })}
            error=${errors['visitor-' + x.id]}
            autocomplete="off"
          />
          <div class="two">
            <${Field}
              id=${'visitor-born-' + x.id}
              label=${t('field.birthDate')}
              optional
              value=${x.birthDate}
              input=${birthDate => visit.set(x.id, { birthDate })}
              error=${errors['visitor-born-' + x.id]}
              autocomplete="off"
              inputmode="numeric"
            />
            <${Field} id=${'visitor-type-' + x.id} label=${t('book.type')}>
              <select
                id=${'visitor-type-' + x.id}
                value=${x.typeId}
                onChange=${e => visit.set(x.id, { typeId: e.currentTarget.value })}
              >
                ${types.map(
                  y => html`
                    <option key=${y.id} value=${y.id}>${y.name}</option>
                  `,
                )}
              </select>
            </${Field}>
          </div>
          <button type="button" class="textlink" onClick=${() => visit.drop(x.id)}>
            ${t('visit.drop', { n: i + 2 })}
          </button>
        </fieldset>
      `,
    )}
    ${
      others.length < most - 1 &&
      types.length > 0 &&
      html`
        <button
          type="button"
          id="visitor-add"
          class="btn"
          onClick=${() => visit.add(types.some(y => y.id === typeId) ? typeId : types[0].id)}
        >
          <${Icon} name="plus" />
          ${t('visit.add')}
        </button>
      `
    }
  `
}

// useVisitOf returns all appointments of the visit, in order of start. It returns an empty list if there is no visit,
// and null until the visit is loaded.
export function useVisitOf(desk, a) {
  const [list, setList] = useState(a?.visitId ? null : []),
    [problem, setProblem] = useState(null)
  useEffect(() => {
    if (!a?.visitId) return setList([])
    let here = true
    desk.visit(a.id).then(
      x => {
        if (here) {
          setList(x.filter(y => y.status === 'confirmed'))
          setProblem(null)
        }
      },
      failed => {
        if (here) setProblem(failed)
      },
    )
    return () => {
      here = false
    }
  }, [a?.id, a?.version])
  return { list, problem }
}

// VisitRow shows, in the dialog of an appointment, its number in the visit and the other people.
export function VisitRow({ desk, a, show }) {
  const { list: all } = useVisitOf(desk, a),
    s = desk.store.get() // a failure is ignored: the dialog works without the visit
  if (!all?.length)
    return html`
      <span class="muted">…</span>
    `
  return html`
    ${t('series.at', { at: all.findIndex(x => x.id === a.id) + 1, n: all.length })}${' '}
    <span class="muted">
      ${all
        .filter(x => x.id !== a.id)
        .map(
          (x, i) => html`
            ${i > 0 && ' · '}
            <button type="button" class="textlink" key=${x.id} onClick=${() => show(x)}>
              ${time(Date.parse(x.slotStartDate))}${' '}
              <bdi>${x.patient.name}</bdi>
              ,${' '}
              <bdi>${typeName(s, x.appointmentTypeId)}</bdi>
            </button>
          `,
        )}
    </span>
  `
}

// Whole asks whether the change applies to the whole visit or only to this appointment. It shows nothing for a visit of
// one person, or until the visit is loaded.
export function Whole({ all, whole, set }) {
  if (!all || all.length < 2) return null
  return html`
    <fieldset class="choice">
      <legend>${t('series.scope')}</legend>
      <label class="check">
        <input type="radio" name="scope" checked=${whole} onChange=${() => set(true)} />
        <span>${t('visit.all', { n: all.length })}</span>
      </label>
      <label class="check">
        <input type="radio" name="scope" checked=${!whole} onChange=${() => set(false)} />
        <span>${t('series.one')}</span>
      </label>
    </fieldset>
  `
}
