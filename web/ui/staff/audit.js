// The audit log as sentences, newest first. Filters select the entries about a patient or one appointment, and entries
// that contain certain words. #audit/appointment/<id> opens the log of one appointment.
import { html, useEffect, useState } from '../lib/html.js'
import { get } from '../lib/api.js'
import { Icon } from '../lib/icons.js'
import { Field } from '../lib/form.js'
import { DateInput } from '../lib/typed.js'
import { t } from '../lib/i18n.js'
import { dateOf, dayAndTime } from '../lib/time.js'
import { whoDid } from './changes.js'
import { saveCSV } from './csv.js'
import { described, usePeople } from './person.js'
import { Office, Select, Trouble, useAsk, Nothing } from './office.js'

const kinds = [
  '',
  'appointment.created',
  'appointment.rescheduled',
  'appointment.cancelled',
  'override.put',
  'block.created',
  'blocks.created',
  'weeklyhours.replaced',
  'specialist.changed',
  'appointmenttype.changed',
  'clinic.changed',
  'settings.changed',
  'user.signed_in',
  'user.sign_in_failed',
  'user.changed',
  'apikey.created',
  'person.noted',
  'person.erased',
  'appointments.imported',
  'appointments.exported',
]
const plain = value => (value == null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value))

// differences returns the fields that differ between two states of an object.
function differences(before, after) {
  const one =
    before && typeof before === 'object' && !Array.isArray(before) ? before : before == null ? {} : { '': before }
  const two = after && typeof after === 'object' && !Array.isArray(after) ? after : after == null ? {} : { '': after }
  return [...new Set([...Object.keys(one), ...Object.keys(two)])]
    .filter(k => plain(one[k]) !== plain(two[k]))
    .map(k => ({ field: k, before: plain(one[k]), after: plain(two[k]) }))
}

function words(e, names) {
  const [kind, id] = [e.subject.split(':')[0], e.subject.split(':').slice(1).join(':')]
  const what =
    names[id] ||
    (kind === 'clinic' || kind === 'settings'
      ? ''
      : t('audit.the.' + kind) === 'audit.the.' + kind
        ? e.subject
        : t('audit.the.' + kind))
  const text = t('audit.do.' + e.action, { what })
  return text.startsWith('audit.do.') ? t('audit.other', { action: e.action, what: e.subject }) : text
}
// Which shows the appointment's time and specialist, with a link to its day. The log contains no patient names.
function Which({ of: a, names }) {
  if (!a?.slotStartDate) return null
  const at = a.slotStartDate
  return html`
    ${' '}
    <a href=${'#day/' + dateOf(at)}>
      ${dayAndTime(at)},${' '}
      <bdi>${names[a.specialistId] || a.specialistId}</bdi>
    </a>
  `
}

// Patient is the filter by patient. It finds patients by a part of the name, the phone number or the date of birth.
function Patient({ desk, choose }) {
  const [q, setQ] = useState(''),
    found = usePeople(desk, q)
  return html`
    <div class="filter-patient">
      <${Field} id="patient" label=${t('audit.patient')} type="search" autocomplete="off" value=${q} input=${setQ} />
      ${
        found.length > 0 &&
        html`
          <ul class="merge" aria-label=${t('person.people')}>
            ${found.map(
              p => html`
                <li key=${p.appointmentId}>
                  <button type="button" class="textlink" onClick=${() => choose(p)}><bdi>${p.name}</bdi></button>
                  ${' '}
                  <span class="muted">${described(p)}</span>
                </li>
              `,
            )}
          </ul>
        `
      }
    </div>
  `
}

const save = rows =>
  saveCSV('audit', [
    ['at', 'actor', 'action', 'subject', 'reason', 'before', 'after'],
    ...rows.map(e => [e.at, whoDid(e), e.action, e.subject, e.reason, plain(e.before), plain(e.after)]),
  ])

export function Page({ desk, rest }) {
  const [filter, setFilter] = useState({ from: '', to: '', action: '', actor: '', q: '' })
  const [who, setWho] = useState(null), // the chosen patient
    [only, setOnly] = useState(rest[0] === 'appointment' ? rest[1] : ''),
    [typed, setTyped] = useState('')
  useEffect(() => {
    if (rest[0] === 'appointment') pick(rest[1])
  }, [rest.join('/')])
  useEffect(() => {
    const timer = setTimeout(() => put('q')(typed.trim()), 300)
    return () => clearTimeout(timer)
  }, [typed])
  const pick = id => {
    setWho(null)
    setOnly(id)
  }
  const choose = p => {
    setOnly('')
    setWho(p)
  }
  const question = { ...filter, personOf: who?.appointmentId || '', appointmentId: only, limit: 100 }
  const [more, setMore] = useState({ rows: [], cursor: null, problem: null, busy: false })
  const lists = useAsk(desk, async () => ({
    ...(await get('/v1/users')),
    ...(await get('/v1/specialists')),
    ...(await get('/v1/appointment-types')),
    ...(await get('/v1/api-keys')),
  }))
  const page = useAsk(desk, () => desk.searchLog(question), JSON.stringify(question))
  useEffect(() => {
    setMore({ rows: [], cursor: page.data?.nextCursor, problem: null, busy: false })
  }, [page.data])
  const d = lists.data
  const names = d
    ? Object.fromEntries([
        ...d.users.map(u => [u.id, u.name]),
        ...d.specialists.map(s => [s.id, s.name]),
        ...d.appointmentTypes.map(x => [x.id, x.name]),
        ...d.apiKeys.map(k => [k.id, k.name]),
      ])
    : {}
  const rows = [...(page.data?.audit || []), ...more.rows]
  const next = async () => {
    setMore(m => ({ ...m, busy: true }))
    try {
      const answer = await desk.searchLog({ ...question, cursor: more.cursor })
      setMore(m => ({ rows: [...m.rows, ...answer.audit], cursor: answer.nextCursor, problem: null, busy: false }))
    } catch (problem) {
      setMore(m => ({ ...m, problem, busy: false }))
    }
  }
  const put = name => value => setFilter(f => ({ ...f, [name]: value }))
  return html`
    <${Office}
      desk=${desk}
      name="audit"
      lead=${t('audit.lead')}
      ask=${lists}
      tools=${html`
        <button
          type="button"
          class="btn"
          aria-disabled=${rows.length ? undefined : 'true'}
          onClick=${() => rows.length && save(rows)}
        >
          <${Icon} name="down" />
          ${t('audit.csv')}
        </button>
      `}
    >
      <form class="filters" role="search" onSubmit=${e => e.preventDefault()}>
        <${Field} id="words" label=${t('audit.words')} type="search" maxlength="200" value=${typed} input=${setTyped} />
        ${
          !who &&
          !only &&
          html`
            <${Patient} desk=${desk} choose=${choose} />
          `
        }
        <${Field}
          id="from"
          label=${t('over.from')}
          as=${DateInput}
          placeholder=${t('audit.anyday')}
          value=${filter.from}
          input=${put('from')}
        />
        <${Field}
          id="to"
          label=${t('over.to')}
          as=${DateInput}
          placeholder=${t('audit.anyday')}
          value=${filter.to}
          input=${put('to')}
        />
        <${Field} id="action" label=${t('audit.action')}>
          <${Select}
            id="action"
            value=${filter.action}
            input=${put('action')}
            options=${kinds.map(k => [k, k ? t('audit.kind.' + k) : t('audit.all')])}
          />
        </${Field}>
        <${Field} id="actor" label=${t('audit.who')}>
          <${Select}
            id="actor"
            value=${filter.actor}
            input=${put('actor')}
            options=${[['', t('audit.anyone')], ...(d?.users || []).map(u => ['user:' + u.id, u.name])]}
          />
        </${Field}>
      </form>
      ${
        (who || only) &&
        html`
          <p class="filter-chosen" role="status">
            ${
              who
                ? html`
                    ${t('audit.of.patient')}${' '}
                    <b><bdi>${who.name}</bdi></b>
                  `
                : t('audit.of.appointment')
            }
            ${' '}
            <button type="button" class="btn quiet" onClick=${() => pick('')}>
              <${Icon} name="close" />
              ${t('audit.of.drop')}
            </button>
          </p>
        `
      }
      <${Trouble} problem=${page.problem || more.problem} />
      ${
        rows.length
          ? html`
              <ul class="lines log">
                ${rows.map(e => {
                  const changes = differences(e.before, e.after)
                  return html`
                    <li class="line" key=${e.id}>
                      <div class="line-main">
                        <p>
                          <span class="muted when">${dayAndTime(e.at)}</span>
                          ${' '}
                          <b><bdi>${whoDid(e)}</bdi></b>
                          ${' '}${words(e, names)}
                          <${Which} of=${e.after || e.before} names=${names} />
                          ${
                            !only &&
                            e.subject.startsWith('appointment:') &&
                            html`
                              ${' '}
                              <button type="button" class="textlink" onClick=${() => pick(e.subject.slice(12))}>
                                ${t('audit.of.this')}
                              </button>
                            `
                          }
                        </p>
                        ${
                          e.reason &&
                          html`
                            <p class="line-why">${t('audit.reason', { reason: e.reason })}</p>
                          `
                        }
                        ${
                          changes.length > 0 &&
                          html`
                            <details>
                              <summary>${t('audit.changes', { n: changes.length })}</summary>
                              <div
                                class="scroll"
                                tabindex="0"
                                role="region"
                                aria-label=${t('audit.changes', { n: changes.length })}
                              >
                                <table class="grid-table">
                                  <thead>
                                    <tr>
                                      <th scope="col">${t('audit.field')}</th>
                                      <th scope="col">${t('audit.before')}</th>
                                      <th scope="col">${t('audit.after')}</th>
                                    </tr>
                                  </thead>
                                  <tbody>
                                    ${changes.map(
                                      c => html`
                                        <tr key=${c.field}>
                                          <th scope="row">${c.field || '–'}</th>
                                          <td><code>${c.before || '–'}</code></td>
                                          <td><code>${c.after || '–'}</code></td>
                                        </tr>
                                      `,
                                    )}
                                  </tbody>
                                </table>
                              </div>
                            </details>
                          `
                        }
                      </div>
                    </li>
                  `
                })}
              </ul>
            `
          : page.data &&
            html`
              <${Nothing} icon="log">${t('audit.none')}</${Nothing}>
            `
      }
      ${
        more.cursor &&
        html`
          <p>
            <button type="button" class="btn" aria-disabled=${more.busy ? 'true' : undefined} onClick=${next}>
              ${t('audit.more')}
            </button>
          </p>
        `
      }
    </${Office}>
  `
}
