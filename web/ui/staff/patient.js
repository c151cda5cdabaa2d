// The fields for the patient of an appointment. The name field searches the appointments for known people. The arrow
// keys and Enter choose one, which also fills in the other details.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { boot } from '../lib/boot.js'
import { Field, dateFrom, looksLikeEmail, looksLikePhone } from '../lib/form.js'
import { locale, t } from '../lib/i18n.js'
import { write } from '../lib/time.js'
import { About } from './about.js'

export const blank = { name: '', phone: '', email: '', birthDate: '', notes: '', sms: false }

// birthFrom reads a birth date typed in one field: in the order of the country or with the year first, with any
// separator or none: 31 3 1980, 31.03.1980, 31031980, 1980-03-31.
const order = new Intl.DateTimeFormat(locale, { year: 'numeric', month: '2-digit', day: '2-digit' })
  .formatToParts(new Date(0))
  .map(p => p.type)
  .filter(p => ['day', 'month', 'year'].includes(p))
export function birthFrom(text) {
  let parts = text.match(/\d+/g) || []
  if (!parts.length) return text.trim() ? null : ''
  if (parts.length === 1 && parts[0].length === 8) {
    const sizes = order.map(p => (p === 'year' ? 4 : 2))
    parts = sizes.map((n, i) =>
      parts[0].substr(
        sizes.slice(0, i).reduce((a, b) => a + b, 0),
        n,
      ),
    )
  }
  if (parts.length !== 3) return null
  const names = parts[0].length === 4 ? ['year', 'month', 'day'] : order
  return dateFrom(Object.fromEntries(names.map((name, i) => [name, parts[i]])))
}
const spelled = date => (date ? write('numeric', date) : '')
// known converts a person of an earlier appointment to a draft of the form.
export const known = p => ({
  name: p.name,
  phone: p.phone || '',
  email: p.email || '',
  birthDate: spelled(p.birthDate),
  sms: Boolean(p.sms),
})

// peopleIn converts appointments to people. Two appointments are of the same person if the name and the birth date are
// the same. Without a birth date, the name and the phone number or email address must be the same. The details come
// from the newest appointment.
function peopleIn(appointments) {
  const people = new Map()
  for (const a of [...appointments].sort((x, y) => (y.slotStartDate < x.slotStartDate ? -1 : 1))) {
    const p = a.patient
    if (!p?.name) continue
    const key = [p.name.toLowerCase(), p.birthDate || p.phone || p.email || ''].join('|')
    if (!people.has(key)) people.set(key, { ...p, sms: a.intake?.sms, key, last: a.slotStartDate, of: a.id })
  }
  return [...people.values()]
}

// ranked sorts the people that match. People whose name begins with the typed text come first. An email address matches
// only if it begins with the typed text.
const plain = text => (text || '').normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
function ranked(people, q) {
  const typed = plain(q),
    digits = q.replace(/\D/g, '')
  const rank = p => {
    const name = plain(p.name)
    if (name.startsWith(typed)) return 0
    if (name.split(/[\s-]+/).some(w => w.startsWith(typed))) return 1
    if (plain(p.email).startsWith(typed) || (digits.length > 2 && (p.phone || '').replace(/\D/g, '').includes(digits)))
      return 2
    return name.includes(typed) && typed.length > 2 ? 3 : 9
  }
  return people
    .map(p => [rank(p), p])
    .filter(([r]) => r < 9)
    .sort((a, b) => a[0] - b[0])
    .map(([, p]) => p)
}

// check returns the patient in the server's format, and the errors by field.
export function check(draft) {
  const errors = {},
    birthDate = birthFrom(draft.birthDate)
  if (!draft.name.trim()) errors.name = t('field.name.err')
  if (draft.phone.trim() && !looksLikePhone(draft.phone)) errors.phone = t('field.phone.err')
  if (draft.email.trim() && !looksLikeEmail(draft.email)) errors.email = t('field.email.err')
  if (birthDate === null) errors.birthDate = t('field.birthDate.err')
  const patient = { name: draft.name.trim() }
  for (const key of ['phone', 'email', 'notes']) if (draft[key].trim()) patient[key] = draft[key].trim()
  if (birthDate) patient.birthDate = birthDate
  return { errors, patient }
}

// Name is a field that finds known patients. It calls choose with the patient that the user chooses.
export function Name({ desk, id = 'patient-name', value, input, choose, error, focus = false }) {
  const [people, setPeople] = useState([]),
    [at, setAt] = useState(-1),
    [open, setOpen] = useState(false)
  const asked = useRef(0),
    picked = useRef('')
  const q = value.trim()
  // If a key press opened the dialog, put the caret after the letter that it typed. WebKit moves the caret to the start
  // after the focus event.
  const focused = e => {
    const { currentTarget: field } = e
    if (field.value.length === 1) queueMicrotask(() => field.setSelectionRange(1, 1))
  }
  useEffect(() => {
    const mine = ++asked.current
    if (q.length < 2 || q === picked.current) {
      setPeople([])
      return
    }
    const timer = setTimeout(() => {
      desk.search({ q }).then(
        list => {
          if (mine !== asked.current) return
          setPeople(ranked(peopleIn(list), q).slice(0, 6))
          setAt(-1)
        },
        () => {},
      )
    }, 120)
    return () => clearTimeout(timer)
  }, [q])
  const take = p => {
    picked.current = p.name.trim()
    setPeople([])
    setOpen(false)
    choose(p)
  }
  const shown = open && people.length > 0
  const key = e => {
    if (e.key === 'ArrowDown' && people.length) {
      setOpen(true)
      setAt((at + 1) % people.length)
    } else if (e.key === 'ArrowUp' && shown) setAt((at - 1 + people.length) % people.length)
    else if (e.key === 'Enter' && shown && at >= 0) take(people[at])
    else if (e.key === 'Escape' && shown) setOpen(false)
    else return
    e.preventDefault()
    e.stopPropagation()
  }
  return html`
    <${Field} id=${id} label=${t('field.name')} error=${error}>
      <span class="combo">
        <input
          id=${id}
          name=${id}
          autofocus=${focus}
          autocomplete="off"
          spellcheck="false"
          value=${value}
          role="combobox"
          aria-expanded=${shown ? 'true' : 'false'}
          aria-controls="patient-list"
          aria-autocomplete="list"
          aria-activedescendant=${shown && at >= 0 ? 'person-' + at : undefined}
          aria-invalid=${error ? 'true' : undefined}
          aria-describedby=${error ? id + '-error' : undefined}
          onInput=${e => {
            setOpen(true)
            input(e.currentTarget.value)
          }}
          onFocus=${focused}
          onKeyDown=${key}
          onBlur=${() => setOpen(false)}
        />
        <ul id="patient-list" role="listbox" aria-label=${t('book.known')} hidden=${!shown}>
          ${people.map(
            (p, i) => html`
              <li
                key=${p.key}
                id=${'person-' + i}
                role="option"
                aria-selected=${i === at ? 'true' : 'false'}
                onMouseDown=${e => {
                  e.preventDefault()
                  take(p)
                }}
              >
                <b><bdi>${p.name}</bdi></b>
                <span>
                  ${[p.birthDate && t('person.born', { date: write('numeric', p.birthDate) }), p.phone, p.email].filter(Boolean).join(' · ')}
                </span>
              </li>
            `,
          )}
        </ul>
      </span>
      <p class="sr" role="status">${shown ? t('book.found', { n: people.length }) : ''}</p>
    </${Field}>
  `
}

// TextMessages is the checkbox for the patient's consent to text messages. It is shown only if the server sends text
// messages.
function TextMessages({ draft, set }) {
  if (!boot.sms) return null
  const no = !draft.phone.trim()
  return html`
    <label class="check">
      <input
        type="checkbox"
        id="patient-sms"
        checked=${draft.sms && !no}
        disabled=${no}
        onChange=${e => set({ ...draft, sms: e.currentTarget.checked })}
      />
      <span>
        ${t('book.sms')}${
          no &&
          html`
            ${' '}
            <small class="muted">${t('book.sms.nophone')}</small>
          `
        }
      </span>
    </label>
  `
}
// agrees reports whether the patient agrees to text messages.
export const agrees = draft => Boolean(boot.sms && draft.sms && draft.phone.trim())

export function PatientFields({ desk, draft, set, errors, focus = 'name' }) {
  const field = key => value => set({ ...draft, [key]: value })
  const text = (key, more) => html`
    <${Field}
      id=${'patient-' + key}
      label=${t('field.' + key)}
      optional
      value=${draft[key]}
      input=${field(key)}
      error=${errors[key]}
      autocomplete="off"
      autofocus=${focus === key}
      ...${more}
    />
  `
  return html`
    <fieldset class="patient">
      <legend>${t('book.patient')}</legend>
      <${Name}
        desk=${desk}
        value=${draft.name}
        input=${name => set({ ...draft, name, of: '' })}
        error=${errors.name}
        focus=${focus === 'name'}
        choose=${p => set({ ...draft, ...known(p), of: p.of })}
      />
      <${About} desk=${desk} id=${draft.of} />
      <div class="two">
        ${text('phone', { type: 'tel' })}${text('birthDate', { inputmode: 'numeric', placeholder: spelled('1980-03-31'), onBlur: () => set({ ...draft, birthDate: spelled(birthFrom(draft.birthDate)) || draft.birthDate }) })}
      </div>
      <${TextMessages} draft=${draft} set=${set} />
      ${text('email', { type: 'email' })}${text('notes', { rows: 2, label: t('book.notes') })}
    </fieldset>
  `
}
