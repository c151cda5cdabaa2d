// Import and export: the clinic file, and appointments as a spreadsheet. For an import, the server first checks the
// file, and the page shows what would change before anything is written.
import { DateInput } from '../lib/typed.js'
import { html, useRef, useState } from '../lib/html.js'
import { newKey, post } from '../lib/api.js'
import { Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { Notice } from '../lib/notice.js'
import { lang, list, t } from '../lib/i18n.js'
import { addDays, dateOf, dayAndTime } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { useStore } from '../lib/store.js'
import { separator } from './csv.js'
import { textOf } from './textfile.js'
import { specialistName, typeName } from './words.js'
import { reloadNext, Office, State, Trouble, useSend } from './office.js'

const most = 200 // the number of rows that the page shows; the file can have more
const slow = { timeout: 90000 }

// isWorkbook reports whether a text is the content of a file of Excel or OpenOffice: a zip archive or, before 2007, a
// compound file.
const isWorkbook = text => /^(PK\x03\x04|\xd0\xcf\x11\xe0)/.test(text)
export function save(name, text, type = 'text/csv') {
  const url = URL.createObjectURL(
    new Blob([type === 'text/csv' ? '\ufeff' + text.replace(/^\ufeff/, '') : text], { type }),
  )
  Object.assign(document.createElement('a'), { href: url, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(url), 60000)
}

// Choose is a button that asks for a file. The user can choose the same file twice in a row.
function Choose({ id, label, accept, read }) {
  const ref = useRef()
  const chosen = e => {
    const [file] = e.currentTarget.files
    if (file) read(file)
    e.currentTarget.value = ''
  }
  return html`
    <button type="button" class="btn" onClick=${() => ref.current.click()}>
      <${Icon} name="up" />
      ${label}
    </button>
    <input id=${id} type="file" ref=${ref} hidden accept=${accept} aria-label=${label} onChange=${chosen} />
  `
}

// Mistakes lists the server's errors, each with its place in the file. If the page has no text for an error, it shows
// the server's English sentence, because the place alone does not explain the error.
const Mistakes = ({ errors, problem }) =>
  Object.keys(errors).length > 0 &&
  html`
    <div role="alert">
      <${Notice} kind="danger" text="data.mistakes" params=${{ n: Object.keys(errors).length }} />
      <ul class="mistakes">
        ${Object.entries(errors)
          .slice(0, 50)
          .map(
            ([field, message]) => html`
              <li key=${field}>
                <code dir="ltr">${field}</code>
                ${' '}${
                  message === t('bad.other')
                    ? html`
                        <bdi lang="en">${problem.errors.find(e => e.field === field).detail}</bdi>
                      `
                    : message
                }
              </li>
            `,
          )}
      </ul>
    </div>
  `

function ClinicFile({ desk }) {
  const [file, setFile] = useState(null),
    [done, setDone] = useState(null),
    sending = useSend(desk)
  const read = async chosen => {
    setFile(null)
    setDone(null)
    let body
    try {
      body = JSON.parse(await textOf(chosen))
    } catch (wrong) {
      return sending.refuse({ [chosen.name]: t('data.clinic.json', { why: wrong.message }) })
    }
    const answer = await sending.send(() => post('/v1/import/plan', body, { tries: 2, ...slow }))
    if (answer) setFile({ name: chosen.name, body, plan: answer.import, key: newKey() })
  }
  const run = async () => {
    const answer = await sending.send(() => post('/v1/import', file.body, { key: file.key, ...slow }))
    if (!answer) return
    setDone(answer.imported)
    setFile(null)
    desk.loadSchedule?.()
    reloadNext()
  }
  const of = change => [...file.plan.specialists, ...file.plan.appointmentTypes].filter(x => x.change === change)
  const line = change =>
    of(change).length > 0 &&
    html`
      <li>
        <b>${t('data.change.' + change, { n: of(change).length })}</b>
        ${' '}
        <bdi>
          ${list(
            of(change)
              .slice(0, 12)
              .map(x => x.name || x.id),
          )}
        </bdi>
        ${of(change).length > 12 && ' …'}
      </li>
    `
  return html`
    <section class="plate setting" aria-labelledby="data-clinic">
      <h2 id="data-clinic">${t('data.clinic')}</h2>
      <p class="muted">${t('data.clinic.lead')}</p>
      <div class="actions">
        <a class="btn" href="/v1/export" download="clinic.json">
          <${Icon} name="down" />
          ${t('data.clinic.out')}
        </a>
        <${Choose} id="clinic-file" label=${t('data.clinic.in')} accept=".json,application/json" read=${read} />
      </div>
      <${Mistakes} errors=${sending.errors} problem=${sending.problem} />
      ${
        !Object.keys(sending.errors).length &&
        html`
          <${Trouble} problem=${sending.problem} />
        `
      }
      <div role="status">
        ${
          done &&
          html`
            <${Notice}
              kind="ok"
              text="data.clinic.done"
              params=${{ people: done.specialists, types: done.appointmentTypes }}
            />
          `
        }
        ${
          file &&
          html`
            <p>
              <b><bdi>${file.name}</bdi></b>
            </p>
            <ul class="plain">
              ${
                file.plan.clinic === 'changed' &&
                html`
                  <li>${t('data.clinic.changes')}</li>
                `
              }${line('new')}${line('changed')}${line('same')}
            </ul>
          `
        }
      </div>
      ${
        file &&
        html`
          <div class="actions">
            <button type="button" class="btn primary" aria-disabled=${sending.busy ? 'true' : undefined} onClick=${run}>
              ${t(sending.busy ? 'office.saving' : 'data.clinic.do')}
            </button>
            <button type="button" class="btn" onClick=${() => setFile(null)}>${t('office.cancel')}</button>
          </div>
        `
      }
    </section>
  `
}

// said returns the page's text for a problem. If the page has no text for the code, it returns the server's message.
const known = [
  'missing',
  'unknown',
  'ambiguous',
  'invalid',
  'gap',
  'not_served',
  'inactive',
  'overlap',
  'overlap_line',
  'full',
  'held',
  'no_room',
  'no_question',
  'twice',
  'too_many',
  'past',
  'outside_hours',
  'override_closed',
]
const columns = [
  'id',
  'appointmentType',
  'specialist',
  'start',
  'date',
  'time',
  'status',
  'attendance',
  'name',
  'email',
  'phone',
  'birthDate',
  'notes',
  'answers',
]
const said = p =>
  [
    columns.includes(p.column) ? t('sheet.column.' + p.column) : p.column,
    known.includes(p.code) ? t('sheet.' + p.code, { value: p.value || '' }) : p.message,
  ]
    .filter(Boolean)
    .join(': ')
const marks = { book: ['ok', 'check'], there: ['', 'check'], skipped: ['', 'close'], refused: ['danger', 'alert'] }

function Rows({ s, plan }) {
  const [all, setAll] = useState(plan.refused === 0)
  const rows = plan.rows.filter(r => all || r.outcome === 'refused' || r.warnings.length)
  return html`
    <div class="filerows" role="region" tabindex="0" aria-label=${t('sheet.rows')}>
      <table>
        <caption class="sr">${t('sheet.rows')}</caption>
        <thead>
          <tr>
            <th scope="col">${t('sheet.line')}</th>
            <th scope="col">${t('sheet.what')}</th>
            <th scope="col">${t('sheet.who')}</th>
            <th scope="col">${t('sheet.why')}</th>
          </tr>
        </thead>
        <tbody>
          ${rows.slice(0, most).map(
            r => html`
              <tr key=${r.line} class=${r.outcome}>
                <th scope="row">${r.line}</th>
                <td>
                  <${State} kind=${marks[r.outcome][0]} icon=${marks[r.outcome][1]}>
                    ${t('sheet.is.' + r.outcome)}
                  </${State}>
                </td>
                <td>
                  <bdi>${r.name || '–'}</bdi>
                  ${
                    r.slotStartDate &&
                    html`
                      <small>${dayAndTime(Date.parse(r.slotStartDate))}</small>
                    `
                  }
                  <small>
                    ${[r.appointmentTypeId && typeName(s, r.appointmentTypeId), r.specialistId && specialistName(s, r.specialistId)].filter(Boolean).join(', ')}
                  </small>
                </td>
                <td>
                  ${r.problems.map(
                    (p, i) => html`
                      <p key=${i}>${said(p)}</p>
                    `,
                  )}${r.warnings.map(
                    (p, i) => html`
                      <p key=${'w' + i} class="muted">${said(p)}</p>
                    `,
                  )}
                </td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
    ${
      rows.length > most &&
      html`
        <p class="muted">${t('sheet.more', { n: rows.length - most })}</p>
      `
    }
    ${
      rows.length < plan.rows.length &&
      html`
        <p>
          <button type="button" class="textlink" onClick=${() => setAll(true)}>
            ${t('sheet.all', { n: plan.rows.length })}
          </button>
        </p>
      `
    }
  `
}

function Appointments({ desk }) {
  const today = dateOf(serverNow()),
    s = useStore(desk.store)
  const [range, setRange] = useState({ from: today, to: addDays(today, 90) }),
    [file, setFile] = useState(null),
    [done, setDone] = useState(null),
    sending = useSend(desk)
  const plan = csv => post('/v1/import/appointments-plan?lang=' + lang, { csv }, { tries: 2, ...slow })
  const read = async chosen => {
    setFile(null)
    setDone(null)
    const csv = await textOf(chosen)
    if (isWorkbook(csv)) return sending.refuse({ [chosen.name]: t('data.sheet.workbook') })
    const answer = await sending.send(() => plan(csv))
    if (answer) setFile({ name: chosen.name, csv, plan: answer.import, key: newKey() })
  }
  const run = async () => {
    const answer = await sending.send(() =>
      post('/v1/import/appointments', { csv: file.csv, onlyGood: file.plan.refused > 0 }, { key: file.key, ...slow }),
    )
    if (!answer) return
    setDone(answer.imported)
    // After the import, the page shows only the refused rows of the file.
    const left = answer.imported.refused > 0 && (await plan(file.csv).catch(() => null))
    setFile(f => (left ? { ...f, plan: left.import, over: true } : null))
  }
  const p = file?.plan,
    good = range.from && range.to && range.from <= range.to
  return html`
    <section class="plate setting" aria-labelledby="data-sheet">
      <h2 id="data-sheet">${t('data.sheet')}</h2>
      <p class="muted">${t('data.sheet.lead')}</p>
      <div class="duo">
        <${Field}
          id="export-from"
          label=${t('data.from')}
          as=${DateInput}
          value=${range.from}
          input=${from => setRange(r => ({ ...r, from }))}
        />
        <${Field}
          id="export-to"
          label=${t('data.to')}
          as=${DateInput}
          value=${range.to}
          error=${good ? undefined : t('data.to.err')}
          input=${to => setRange(r => ({ ...r, to }))}
        />
      </div>
      <div class="actions">
        ${
          good &&
          html`
            <a
              class="btn"
              download
              href=${`/v1/export/appointments?from=${range.from}&to=${addDays(range.to, 1)}&lang=${lang}`}
            >
              <${Icon} name="down" />
              ${t('data.sheet.out')}
            </a>
          `
        }
      </div>
      <h3>${t('data.sheet.in.title')}</h3>
      <p class="muted">${t('data.sheet.how')}</p>
      <div class="actions">
        <${Choose} id="sheet-file" label=${t('data.sheet.in')} accept=".csv,.txt,.tsv,text/csv" read=${read} />
        <button type="button" class="btn quiet" onClick=${() => save('appointments-example.csv', example(s, today))}>
          ${t('data.sheet.example')}
        </button>
      </div>
      <${Mistakes} errors=${sending.errors} problem=${sending.problem} />
      ${
        !Object.keys(sending.errors).length &&
        html`
          <${Trouble} problem=${sending.problem} />
        `
      }
      <div role="status">
        ${
          sending.busy &&
          html`
            <p class="muted">${t('data.reading')}</p>
          `
        }
        ${
          done &&
          html`
            <${Notice}
              kind=${done.refused ? 'warn' : 'ok'}
              icon=${done.refused ? 'alert' : undefined}
              text="data.sheet.done"
              params=${done}
            />
          `
        }
        ${
          p &&
          html`
            <p>
              <b><bdi>${file.name}</bdi></b>
            </p>
            ${
              !file.over &&
              html`
                <p>${t('data.sheet.plan', p)}</p>
              `
            }
            ${
              p.ignored.length > 0 &&
              html`
                <p class="muted">${t('data.sheet.ignored', { list: list(p.ignored) })}</p>
              `
            }
          `
        }
      </div>
      ${
        p &&
        html`
          <${Rows}
            key=${file.over ? 'over' : file.key}
            s=${s}
            plan=${file.over ? { ...p, rows: p.rows.filter(r => r.outcome === 'refused') } : p}
          />
          <div class="actions">
            ${
              !file.over &&
              p.book > 0 &&
              html`
                <button
                  type="button"
                  class="btn primary"
                  aria-disabled=${sending.busy ? 'true' : undefined}
                  onClick=${run}
                >
                  ${t(sending.busy ? 'office.saving' : p.refused ? 'data.sheet.good' : 'data.sheet.do', { n: p.book })}
                </button>
              `
            }
            ${
              p.refusedCsv &&
              html`
                <button type="button" class="btn" onClick=${() => save('not-imported.csv', p.refusedCsv)}>
                  <${Icon} name="down" />
                  ${t('data.sheet.refused', { n: p.refused })}
                </button>
              `
            }
            <button
              type="button"
              class="btn"
              onClick=${() => {
                setFile(null)
                setDone(null)
              }}
            >
              ${t(file.over ? 'close' : 'office.cancel')}
            </button>
          </div>
        `
      }
    </section>
  `
}

// example returns the text of a file for the user to fill in, with the clinic's own names and one valid row.
function example(s, today) {
  const type = s.types[0]?.name || '',
    who = s.specialists[0]?.name || ''
  const cell = x => (/[",;\n]/.test(x) ? '"' + x.replaceAll('"', '""') + '"' : x)
  return (
    [
      ['name', 'birthDate', 'phone', 'email', 'appointmentType', 'specialist', 'date', 'time', 'notes'],
      ['Lena Vogt', '1991-12-01', '030 1112233', 'lena@example.org', type, who, addDays(today, 7), '09:00', ''],
    ]
      .map(row => row.map(cell).join(separator))
      .join('\r\n') + '\r\n'
  )
}

export const Page = ({ desk }) => html`
  <${Office} form desk=${desk} name="data" lead=${t('data.lead')}>
    <${Appointments} desk=${desk} />
    <${ClinicFile} desk=${desk} />
  </${Office}>
`
