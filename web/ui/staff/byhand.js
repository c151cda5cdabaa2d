// The form for appointments that the desk wrote on paper while the server was unreachable. A check shows the obstacles
// of each line; it counts the lines above as booked. Then the page books each line separately, under its own
// idempotency key, so that a second press does not book twice. A taken time can be overbooked, line by line, with a
// reason.
import { DateInput, TimeInput } from '../lib/typed.js'
import { html } from '../lib/html.js'
import { newKey, post } from '../lib/api.js'
import { Field } from '../lib/form.js'
import { list, t } from '../lib/i18n.js'
import { range } from '../lib/time.js'
import { createStore, useStore } from '../lib/store.js'
import { today } from './daybar.js'
import { Check, Office, State, Trouble, useSend } from './office.js'
import { startOf } from './when.js'

const blank = () => ({
  key: newKey(),
  time: '',
  specialistId: '',
  typeId: '',
  name: '',
  phone: '',
  notes: '',
  reason: '',
  verdict: null,
})
const some = n => Array.from({ length: n }, blank)
// typed keeps the entered lines while other pages are open. A booking that is running continues.
const typed = createStore({ date: '', rows: some(5), tell: false, busy: false, told: '' })
const setRows = next => typed.set(x => ({ ...x, rows: next(x.rows) }))

const marks = { free: ['ok', 'check'], closed: ['warn', 'alert'], booked: ['ok', 'check'] }
function say(v) {
  if (v.outcome === 'taken') {
    if (v.row) return t('byhand.line.taken', { n: v.line })
    if (v.reason === 'room') return t('byhand.room')
    return t('byhand.taken', {
      who: list((v.appointments || []).map(a => `${a.name} ${range(a.slotStartDate, a.slotEndDate)}`)),
    })
  }
  return t('byhand.' + v.outcome)
}

export function Page({ desk }) {
  const s = useStore(desk.store),
    sending = useSend(desk)
  const { date: day, rows, tell, busy, told } = useStore(typed),
    date = day || today()
  const people = s.specialists.filter(x => x.active && x.kind !== 'resource' && desk.reaches(x.id))
  const typesOf = id => s.types.filter(x => x.active && x.specialists.some(p => p.specialistId === id))
  const whole = r => {
    const specialistId = r.specialistId || people[0]?.id || '',
      types = typesOf(specialistId)
    return { ...r, specialistId, typeId: types.some(x => x.id === r.typeId) ? r.typeId : types[0]?.id || '' }
  }
  const filled = r => r.time || r.name.trim()
  const startOfRow = r => startOf({ date, time: r.time })
  const isBooked = r => r.verdict?.outcome === 'booked'
  const edit = (key, change) =>
    setRows(all =>
      all.map(r =>
        isBooked(r)
          ? r
          : r.key === key
            ? {
                ...r,
                ...change,
                key: 'reason' in change ? r.key : newKey(),
                verdict: 'reason' in change ? r.verdict : null,
              }
            : r,
      ),
    )
  const conclude = (key, verdict) => setRows(all => all.map(r => (r.key === key ? { ...r, verdict } : r)))

  async function check() {
    const open = rows.map((r, i) => ({ ...whole(r), line: i + 1 })).filter(r => filled(r) && !isBooked(r))
    const good = open.filter(r => r.name.trim() && startOfRow(r) && r.typeId)
    for (const r of open) if (!good.includes(r)) conclude(r.key, { outcome: 'missing' })
    if (!good.length) return
    const answer = await sending.send(() =>
      post(
        '/v1/downtime-kit/check',
        {
          rows: good.map(r => ({
            appointmentTypeId: r.typeId,
            specialistId: r.specialistId,
            slotStartDate: new Date(startOfRow(r)).toISOString(),
          })),
        },
        { tries: 3 },
      ),
    )
    if (!answer) return
    answer.rows.forEach((v, i) => conclude(good[i].key, { ...v, ...(v.row && { line: good[v.row - 1].line }) }))
    typed.set({
      told: t('byhand.checked', { n: good.length, free: answer.rows.filter(v => v.outcome === 'free').length }),
    })
  }
  async function book(row) {
    const r = whole(row),
      over = r.verdict?.outcome === 'taken'
    try {
      await desk.book(
        {
          appointmentTypeId: r.typeId,
          specialistId: r.specialistId,
          slotStartDate: new Date(startOfRow(r)).toISOString(),
          notify: tell,
          displace: false,
          patient: {
            name: r.name.trim(),
            ...(r.phone.trim() && { phone: r.phone.trim() }),
            ...(r.notes.trim() && { notes: r.notes.trim() }),
          },
          ...(over ? { overbook: { reason: r.reason.trim() } } : { ignoreHours: true }),
        },
        r.key,
      )
      conclude(r.key, { outcome: 'booked' })
    } catch (problem) {
      const why = { slot_taken: 'taken', slot_held: 'held' }[problem.code]
      conclude(r.key, why ? { outcome: why, appointments: [] } : { outcome: 'failed', why: problem.errors[0]?.message })
    }
  }
  const free = rows.filter(r => r.verdict?.outcome === 'free')
  // The fields are disabled while the lines are booked. Look up each line by its key anyway: a line that has changed
  // has a new key, and must be checked before it is booked.
  async function bookAll(lines) {
    if (busy || sending.busy) return
    typed.set({ busy: true })
    for (const { key } of lines) {
      const r = typed.get().rows.find(x => x.key === key)
      if (r && !isBooked(r)) await book(r)
    }
    typed.set({ busy: false })
  }
  const cell = (r, n, what, input) => html`
    <td>
      ${input({ 'aria-label': t('byhand.line', { n, what: t('byhand.' + what) }), disabled: busy || isBooked(r) })}
    </td>
  `
  const text = (r, n, what, type = 'text') =>
    cell(
      r,
      n,
      what,
      more => html`
        <input
          type=${type}
          ...${more}
          value=${r[what]}
          autocomplete="off"
          onInput=${e => edit(r.key, { [what]: e.currentTarget.value })}
        />
      `,
    )
  const time = (r, n) =>
    cell(
      r,
      n,
      'time',
      more => html`
        <${TimeInput} ...${more} value=${r.time} onInput=${e => edit(r.key, { time: e.currentTarget.value })} />
      `,
    )
  const pick = (r, n, what, field, options) =>
    cell(
      r,
      n,
      what,
      more => html`
        <select ...${more} value=${whole(r)[field]} onChange=${e => edit(r.key, { [field]: e.currentTarget.value })}>
          ${options.map(
            x => html`
              <option key=${x.id} value=${x.id}>${x.name}</option>
            `,
          )}
        </select>
      `,
    )
  const does = (r, n) => {
    const v = r.verdict,
      may = v && (['free', 'closed', 'failed'].includes(v.outcome) || (v.outcome === 'taken' && desk.may('overbook')))
    return html`
      <td>
        <div class="byhand-says">
          ${
            v &&
            html`
              <${State} kind=${marks[v.outcome]?.[0] || 'danger'} icon=${marks[v.outcome]?.[1] || 'alert'}>
                ${v.why || say(v)}
              </${State}>
            `
          }
          ${
            may &&
            v.outcome === 'taken' &&
            html`
              <input
                class="byhand-reason"
                aria-label=${t('byhand.reason', { n })}
                placeholder=${t('byhand.reason.short')}
                maxlength="500"
                disabled=${busy}
                value=${r.reason}
                onInput=${e => edit(r.key, { reason: e.currentTarget.value })}
              />
            `
          }
          ${
            may &&
            html`
              <button
                type="button"
                class="btn"
                aria-label=${t('byhand.line', { n, what: t(v.outcome === 'taken' ? 'byhand.over' : 'byhand.book') })}
                aria-disabled=${busy || (v.outcome === 'taken' && !r.reason.trim()) ? 'true' : undefined}
                onClick=${() => {
                  if (v.outcome !== 'taken' || r.reason.trim()) bookAll([r])
                }}
              >
                ${t(v.outcome === 'taken' ? 'byhand.over' : 'byhand.book')}
              </button>
            `
          }
        </div>
      </td>
    `
  }
  return html`
    <${Office} desk=${desk} name="byhand" lead=${t('byhand.lead')}>
      <form
        class="byhand"
        novalidate
        onSubmit=${e => {
          e.preventDefault()
          if (!sending.busy && !busy) check()
        }}
      >
        <${Field}
          id="byhand-date"
          label=${t('byhand.date')}
          as=${DateInput}
          disabled=${busy}
          value=${date}
          input=${x => {
            typed.set({ date: x })
            setRows(all => all.map(r => (isBooked(r) ? r : { ...r, key: newKey(), verdict: null })))
          }}
        />
        <${Trouble} problem=${sending.problem} />
        <div class="filerows" role="region" tabindex="0" aria-label=${t('byhand.lines')}>
          <table>
            <caption class="sr">${t('byhand.lines')}</caption>
            <thead>
              <tr>
                ${['time', 'who', 'type', 'name', 'phone', 'notes', 'says'].map(
                  x => html`
                    <th scope="col" key=${x}>${t('byhand.' + x)}</th>
                  `,
                )}
              </tr>
            </thead>
            <tbody>
              ${rows.map(
                (r, i) => html`
                  <tr key=${i}>
                    ${time(r, i + 1)}${pick(r, i + 1, 'who', 'specialistId', people)}${pick(r, i + 1, 'type', 'typeId', typesOf(whole(r).specialistId))}${text(r, i + 1, 'name')}${text(r, i + 1, 'phone', 'tel')}${text(r, i + 1, 'notes')}${does(r, i + 1)}
                  </tr>
                `,
              )}
            </tbody>
          </table>
        </div>
        <p class="sr" role="status">${told}</p>
        <${Check} id="byhand-tell" checked=${tell} input=${x => typed.set({ tell: x })}>${t('byhand.tell')}</${Check}>
        <div class="actions">
          <button type="submit" class="btn primary" aria-disabled=${sending.busy || busy ? 'true' : undefined}>
            ${t('byhand.check')}
          </button>
          ${
            free.length > 0 &&
            html`
              <button
                type="button"
                class="btn primary"
                aria-disabled=${busy ? 'true' : undefined}
                onClick=${() => bookAll(free)}
              >
                ${t('byhand.all', { n: free.length })}
              </button>
            `
          }
          <button type="button" class="btn" onClick=${() => setRows(x => [...x, ...some(5)])}>
            ${t('byhand.more')}
          </button>
          ${
            rows.some(isBooked) &&
            html`
              <button
                type="button"
                class="btn quiet"
                onClick=${() =>
                  setRows(x => {
                    const left = x.filter(r => !isBooked(r))
                    return left.length ? left : some(5)
                  })}
              >
                ${t('byhand.clear')}
              </button>
            `
          }
        </div>
      </form>
    </${Office}>
  `
}
