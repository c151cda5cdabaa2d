// The appointment types that patients can book, described in sentences, and the order in which their specialists are
// assigned.
import { html, useState } from '../lib/html.js'
import { get, newKey, patch, post, put as replace } from '../lib/api.js'
import { Field } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { colourOf } from './words.js'
import { Needs } from './needs.js'
import { Order, Plus, RecordForm, useDraft } from './record.js'
import { draftOf, mistakesIn, Questions, questionsOf } from './questions.js'
import { freshPage, Groups, PageFields, pageOf } from './typepage.js'
import { Check, Confirm, Office, State, Trouble, useAsk, useSend, Nothing } from './office.js'

// lasting returns the text for a length, in the largest unit that gives a whole number, or for how often something
// recurs, with key 'every'.
const lasting = (minutes, key = 'length') => {
  const [unit, n] =
    minutes % 1440 === 0 && minutes
      ? ['days', minutes / 1440]
      : minutes % 60 === 0 && minutes
        ? ['hours', minutes / 60]
        : ['minutes', minutes]
  return t(key + '.' + unit, { n })
}
export const sentences = x =>
  [
    t('type.says.length', { length: lasting(x.durationMinutes), step: lasting(x.slotStepMinutes, 'every') }),
    x.minNoticeMinutes > 0
      ? t('type.says.window', { from: lasting(x.minNoticeMinutes), days: t('length.days', { n: x.horizonDays }) })
      : t('type.says.horizon', { days: t('length.days', { n: x.horizonDays }) }),
    (x.bufferBeforeMinutes > 0 || x.bufferAfterMinutes > 0) &&
      t('type.says.buffers', { before: lasting(x.bufferBeforeMinutes), after: lasting(x.bufferAfterMinutes) }),
    x.capacity > 1 && t('type.says.group', { n: x.capacity }),
    x.cooldownMinutes > 0 ? t('type.says.cooldown', { length: lasting(x.cooldownMinutes) }) : t('type.says.nocooldown'),
  ].filter(Boolean)

const numbers = [
  'durationMinutes',
  'slotStepMinutes',
  'bufferBeforeMinutes',
  'bufferAfterMinutes',
  'minNoticeMinutes',
  'horizonDays',
  'cooldownMinutes',
  'capacity',
  'holdTtlSeconds',
  'maxHoldSeconds',
  'holdQuota',
]
// units lists the units in which the user can enter a field's length, as multiples of the stored unit. Other fields
// have one unit.
const units = {
  minNoticeMinutes: { min: 1, hours: 60, days: 1440 },
  cooldownMinutes: { min: 1, hours: 60, days: 1440 },
  maxHoldSeconds: { sec: 1, min: 60 },
}
// unitOf returns the largest unit in which the value is a whole number.
const unitOf = (name, value) => {
  const all = Object.entries(units[name] || {}).reverse()
  return value ? all.find(([, factor]) => value % factor === 0)?.[0] : all.at(-1)?.[0]
}
const fresh = {
  name: '',
  description: '',
  durationMinutes: 30,
  slotStepMinutes: 30,
  bufferBeforeMinutes: 0,
  bufferAfterMinutes: 0,
  minNoticeMinutes: 120,
  horizonDays: 60,
  cooldownMinutes: 1440,
  capacity: 1,
  holdTtlSeconds: 30,
  maxHoldSeconds: 900,
  holdQuota: 3,
  active: true,
  specialists: [],
  needs: [],
  ...freshPage,
}

// Priorities lets the user set which specialist is assigned first. The user sets the order, and the server stores
// numbers.
function Priorities({ people, value, change }) {
  const rows = [...value].sort((a, b) => b.priority - a.priority || (a.specialistId < b.specialistId ? -1 : 1))
  const put = (id, priority) => change(value.map(x => (x.specialistId === id ? { ...x, priority } : x)))
  const swap = (i, by) => {
    const other = rows[i + by],
      row = rows[i]
    const next = other.priority === row.priority ? row.priority - by : other.priority
    change(
      value.map(x =>
        x === row
          ? { ...x, priority: next }
          : x === other
            ? { ...x, priority: other.priority === row.priority ? other.priority : row.priority }
            : x,
      ),
    )
    setTimeout(() => document.getElementById(`prio-${row.specialistId}-${by < 0 ? 'up' : 'down'}`)?.focus())
  }
  const name = id => people.find(p => p.id === id)?.name || id
  return html`
    <fieldset class="choice">
      <legend>${t('type.who')}</legend>
      <p class="hint">${t('type.who.hint')}</p>
      <ul class="prio">
        ${rows.map(
          (row, i) => html`
            <li key=${row.specialistId}>
              <${Check} checked input=${() => change(value.filter(x => x !== row))}>
                <bdi>${name(row.specialistId)}</bdi>
              </${Check}>
              <span class="prio-do">
                <input
                  type="number"
                  class="number"
                  aria-label=${t('type.priority', { name: name(row.specialistId) })}
                  value=${row.priority}
                  min="-1000"
                  max="1000"
                  onInput=${e => put(row.specialistId, Math.round(+e.currentTarget.value) || 0)}
                />
                <${Order}
                  id=${'prio-' + row.specialistId}
                  name=${name(row.specialistId)}
                  i=${i}
                  n=${rows.length}
                  move=${by => swap(i, by)}
                />
              </span>
            </li>
          `,
        )}
        ${people
          .filter(p => p.active && !value.some(x => x.specialistId === p.id))
          .map(
            p => html`
              <li key=${p.id}>
                <${Check}
                  checked=${false}
                  input=${() => change([...value, { specialistId: p.id, priority: rows.length ? rows.at(-1).priority : 10 }])}
                >
                  <bdi>${p.name}</bdi>
                </${Check}>
              </li>
            `,
          )}
      </ul>
    </fieldset>
  `
}

// Part is one section of the form.
const Part = ({ title, children }) => html`
  <section class="part">
    <h3>${title}</h3>
    ${children}
  </section>
`

// type is the type to edit. For a new type, copy is the type whose values it starts with, if any.
function Edit({ desk, type, copy, people: all, groups, close, done }) {
  const people = all.filter(p => p.kind !== 'resource'),
    rooms = all.filter(p => p.kind === 'resource')
  const start = {
    ...fresh,
    ...(type || copy || { specialists: people.filter(p => p.active).map(p => ({ specialistId: p.id, priority: 10 })) }),
  }
  const { form, put, sending, e } = useDraft(desk, {
    ...start,
    questions: draftOf(start.questions),
    ...(copy && { name: t('type.copied', { name: copy.name }) }),
    ...Object.fromEntries(numbers.map(n => [n, String(start[n] / (units[n]?.[unitOf(n, start[n])] || 1))])),
  })
  const [unit, setUnit] = useState(() => Object.fromEntries(Object.keys(units).map(n => [n, unitOf(n, start[n])])))
  const whole = Object.fromEntries(numbers.map(n => [n, Math.round(+form[n] * (units[n]?.[unit[n]] || 1))]))
  const fine = numbers.every(n => form[n].trim() !== '' && Number.isFinite(whole[n]))
  const number = (name, one, rest) => html`
    <${Field} id=${name} label=${t('type.' + name)} hint=${t('type.' + name + '.hint')} error=${e[name]} ...${rest}>
      <span class="unit">
        <input
          id=${name}
          inputmode="numeric"
          maxlength="6"
          value=${form[name]}
          aria-describedby=${name + '-hint' + (e[name] ? ' ' + name + '-error' : '')}
          aria-invalid=${e[name] ? 'true' : undefined}
          onInput=${x => put(name)(x.currentTarget.value)}
        />
        ${
          units[name]
            ? html`
                <select
                  aria-label=${t('type.unit', { name: t('type.' + name) })}
                  value=${unit[name]}
                  onChange=${x => setUnit({ ...unit, [name]: x.currentTarget.value })}
                >
                  ${Object.keys(units[name]).map(
                    u => html`
                      <option key=${u} value=${u}>${t('unit.' + u)}</option>
                    `,
                  )}
                </select>
              `
            : html`
                <span aria-hidden="true">${t('unit.' + one)}</span>
              `
        }
      </span>
    </${Field}>
  `
  const submit = async () => {
    const wrong = {}
    if (!form.name.trim()) wrong.name = t('type.name.err')
    for (const n of numbers)
      if (form[n].trim() === '' || !Number.isFinite(whole[n]) || whole[n] < 0) wrong[n] = t('type.number.err')
    const needs = form.needs.filter(group => group.length),
      questions = questionsOf(form.questions)
    if (needs.length && whole.capacity > 1) wrong.needs = t('needs.group.err')
    Object.assign(wrong, mistakesIn(questions))
    if (Object.keys(wrong).length) return sending.refuse(wrong)
    const body = {
      name: form.name.trim(),
      description: form.description.trim(),
      ...whole,
      active: form.active,
      specialists: form.specialists,
      needs,
      ...pageOf(form),
      questions,
    }
    const answer = await sending.send(() =>
      type ? patch('/v1/appointment-types/' + type.id, body) : post('/v1/appointment-types', body, { key: newKey() }),
    )
    if (answer) {
      done(answer.appointmentType)
      close()
    }
  }
  return html`
    <${RecordForm}
      wide
      long
      title=${type ? t('type.edit', { name: type.name }) : t('type.add')}
      sending=${sending}
      submit=${submit}
      close=${close}
    >
      <${Part} title=${t('type.part.name')}>
        <${Field}
          id="name"
          label=${t('type.name')}
          error=${e.name}
          value=${form.name}
          input=${put('name')}
          maxlength="200"
          autofocus
        />
        <${Field}
          id="description"
          label=${t('type.description')}
          optional
          error=${e.description}
          value=${form.description}
          input=${put('description')}
          rows="2"
          maxlength="1000"
        />
        <${Check} checked=${form.active} input=${put('active')} hint=${t('type.active.hint')}>
          ${t('type.active')}
        </${Check}>
      </${Part}>
      <${Part} title=${t('type.part.time')}>
        <div class="trio">
          ${number('durationMinutes', 'min')}${number('slotStepMinutes', 'min')}${number('capacity', 'seats')}
          ${number('bufferBeforeMinutes', 'min')}${number('bufferAfterMinutes', 'min')}
        </div>
      </${Part}>
      <${Part} title=${t('type.part.window')}>
        <div class="trio">
          ${number('minNoticeMinutes')}${number('horizonDays', 'days')}${number('cooldownMinutes')}
        </div>
        ${
          fine &&
          html`
            <div class="says" role="status">
              <p class="sr">${t('type.means')}</p>
              <ul class="plain">
                ${sentences({ ...form, ...whole }).map(
                  (s, i) => html`
                    <li key=${i}>${s}</li>
                  `,
                )}
              </ul>
            </div>
          `
        }
      </${Part}>
      <${Part} title=${t('type.part.who')}>
        <${Priorities} people=${people} value=${form.specialists} change=${put('specialists')} />
        <${Needs} rooms=${rooms} value=${form.needs} change=${put('needs')} errors=${e} />
      </${Part}>
      <${Part} title=${t('type.part.more')}>
        <${PageFields} form=${form} set=${put} errors=${e} groups=${groups} />
        <${Questions} list=${form.questions} change=${put('questions')} errors=${e} />
        <details>
          <summary>${t('type.holds')}</summary>
          <div class="trio">
            ${number('holdTtlSeconds', 'sec')}${number('maxHoldSeconds')}${number('holdQuota', 'holds')}
          </div>
        </details>
      </${Part}>
    </${RecordForm}>
  `
}

export function Page({ desk }) {
  const [editing, setEditing] = useState(null),
    [leaving, setLeaving] = useState(null),
    [grouping, setGrouping] = useState(false)
  const lists = useAsk(desk, async () => {
    const [a, b, c] = await Promise.all([get('/v1/specialists'), get('/v1/appointment-types'), get('/v1/settings')])
    return { ...a, ...b, groups: c.settings.typeGroups || [] }
  })
  const groups = lists.data?.groups || [],
    types = lists.data?.appointmentTypes || [],
    people = lists.data?.specialists || []
  const refresh = () => {
    lists.again()
    desk.loadSchedule().catch(() => {})
  }
  const name = id => people.find(p => p.id === id)?.name || id
  const sending = useSend(desk)
  const restore = async x => {
    if (!(await sending.send(() => patch('/v1/appointment-types/' + x.id, { active: true })))) return
    refresh()
    desk.toast('people.restored', { name: x.name })
  }
  const move = async (i, by) => {
    const ids = types.map(x => x.id),
      other = ids[i + by]
    ids.splice(i + by, 1, ids[i])
    ids.splice(i, 1, other)
    if (await sending.send(() => replace('/v1/appointment-types/order', { ids }))) {
      await lists.again()
      desk.loadSchedule().catch(() => {})
      document.getElementById(`move-${types[i].id}-${by < 0 ? 'up' : 'down'}`)?.focus()
    }
  }
  return html`
    <${Office}
      desk=${desk}
      name="types"
      lead=${t('type.lead')}
      ask=${lists}
      tools=${html`
        <button type="button" class="btn" onClick=${() => setGrouping(true)}>${t('group.title')}</button>
        <${Plus} primary label="type.add" onClick=${() => setEditing({})} />
      `}
    >
      <${Trouble} problem=${sending.problem} />
      ${
        types.length
          ? html`
              <ul class="lines">
                ${types.map(
                  (x, i) => html`
                    <li class=${'line edged ' + colourOf({ types }, x.id)} key=${x.id}>
                      <div class="line-main">
                        <p class="line-title">
                          <b>${x.name}</b>
                          ${
                            x.group &&
                            html`
                              ${' '}
                              <span class="muted">${groups.find(g => g.id === x.group)?.name}</span>
                            `
                          }${
                            x.deskOnly &&
                            html`
                              ${' '}
                              <${State} icon="person">${t('page.desk.short')}</${State}>
                            `
                          }${
                            !x.active &&
                            html`
                              ${' '}
                              <${State} icon="stop">${t('people.off')}</${State}>
                            `
                          }
                        </p>
                        <p class="line-why">${sentences(x).slice(0, 2).join(' ')}</p>
                        <p class="line-facts">
                          ${
                            x.specialists.length
                              ? x.specialists.map(
                                  s => html`
                                    <span key=${s.specialistId}>
                                      <bdi>${name(s.specialistId)}</bdi>
                                      ${' '}
                                      <span class="muted">${t('type.prio', { n: s.priority })}</span>
                                    </span>
                                  `,
                                )
                              : html`
                                  <${State} kind="warn" icon="alert">${t('type.nobody')}</${State}>
                                `
                          }
                        </p>
                      </div>
                      <div class="line-do">
                        <button
                          type="button"
                          class="btn"
                          aria-label=${t('type.edit', { name: x.name })}
                          onClick=${() => setEditing(x)}
                        >
                          ${t('office.edit')}
                        </button>
                        <button
                          type="button"
                          class="btn quiet"
                          aria-label=${t('type.copy.of', { name: x.name })}
                          onClick=${() => setEditing({ copy: x })}
                        >
                          ${t('type.copy')}
                        </button>
                        <button
                          type="button"
                          class="btn quiet"
                          aria-label=${t(x.active ? 'type.archive.of' : 'people.restore.of', { name: x.name })}
                          onClick=${() => (x.active ? setLeaving(x) : restore(x))}
                        >
                          ${t(x.active ? 'type.archive' : 'people.restore')}
                        </button>
                        <${Order}
                          id=${'move-' + x.id}
                          name=${x.name}
                          i=${i}
                          n=${types.length}
                          move=${by => move(i, by)}
                        />
                      </div>
                    </li>
                  `,
                )}
              </ul>
            `
          : html`
              <${Nothing} icon="list" label="type.add" add=${() => setEditing({})}>${t('type.none')}</${Nothing}>
            `
      }
      ${
        editing &&
        html`
          <${Edit}
            desk=${desk}
            people=${people}
            groups=${groups}
            type=${editing.id ? editing : null}
            copy=${editing.copy}
            close=${() => setEditing(null)}
            done=${x => {
              refresh()
              desk.toast('office.saved.named', { name: x.name })
            }}
          />
        `
      }
      ${
        grouping &&
        html`
          <${Groups}
            desk=${desk}
            groups=${groups}
            close=${() => setGrouping(false)}
            done=${() => {
              refresh()
              desk.toast('office.done')
            }}
          />
        `
      }
      ${
        leaving &&
        html`
          <${Confirm}
            desk=${desk}
            title=${t('type.archive.of', { name: leaving.name })}
            text=${t('type.archive.text')}
            action=${t('type.archive')}
            close=${() => setLeaving(null)}
            run=${async () => {
              await patch('/v1/appointment-types/' + leaving.id, { active: false })
              refresh()
              desk.toast('office.done')
            }}
          />
        `
      }
    </${Office}>
  `
}
