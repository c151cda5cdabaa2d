// Days that differ from the weekly hours: closed, or with other hours. Specialists can change their own days.
import { DateInput } from '../lib/typed.js'
import { html, useState } from '../lib/html.js'
import { del, get, newKey, post } from '../lib/api.js'
import { serverNow } from '../lib/clock.js'
import { Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { list, t } from '../lib/i18n.js'
import { addDays, dateOf, daysBetween, shortDate, write } from '../lib/time.js'
import { clock, minutesOf } from './day.js'
import { faults, Windows } from './weekhours.js'
import { placeName } from './where.js'
import { Confirm, Office, SpecialistPick, State, Trouble, useAsk, useSend, Nothing } from './office.js'
import { Plus, Radios, RecordForm } from './record.js'

const most = 120

// grouped joins adjacent days that are closed for the same reason into one line: "24 to 31 December".
export function grouped(overrides) {
  const runs = []
  for (const o of [...overrides].sort((a, b) => (a.date < b.date ? -1 : 1))) {
    const last = runs.at(-1)
    if (last && last.closed && o.closed && last.reason === (o.reason || '') && addDays(last.to, 1) === o.date) {
      last.to = o.date
      last.ids.push(o.id)
    } else
      runs.push({
        from: o.date,
        to: o.date,
        ids: [o.id],
        closed: o.closed,
        hours: o.hours || [],
        reason: o.reason || '',
      })
  }
  return runs
}

function Add({ desk, person, close, done }) {
  const today = dateOf(serverNow(), person.timezone)
  const [form, setForm] = useState({
    from: today,
    to: today,
    closed: true,
    hours: [{ start: '09:00', end: '12:00' }],
    reason: '',
  })
  const put = name => value => setForm(f => ({ ...f, [name]: value }))
  const sending = useSend(desk)
  const booked = useAsk(
    desk,
    () =>
      form.from && form.to >= form.from && daysBetween(form.from, form.to) < most
        ? get('/v1/appointments', {
            from: form.from,
            to: addDays(form.to, 1),
            specialistId: person.id,
            status: 'confirmed',
            limit: 100,
          })
        : Promise.resolve({ appointments: [] }),
    form.from + form.to,
  )
  const days = form.from && form.to >= form.from ? daysBetween(form.from, form.to) + 1 : 0
  const submit = async () => {
    const wrong = {}
    if (!form.from) wrong.from = t('over.err.from')
    if (!form.to || form.to < form.from) wrong.to = t('over.err.to')
    else if (days > most) wrong.to = t('over.err.long', { n: most })
    if (!form.closed && (Object.keys(faults(form.hours)).length || !form.hours.length))
      wrong['over-0-start'] = t('hours.err.order')
    if (Object.keys(wrong).length) return sending.refuse(wrong)
    // Save the days one after the other. If the server refuses a day, the page shows the days before it, which are
    // saved.
    const all = async () => {
      for (let i = 0; i < days; i++) {
        await post(
          `/v1/specialists/${person.id}/overrides`,
          {
            date: addDays(form.from, i),
            closed: form.closed,
            ...(!form.closed && { hours: form.hours }),
            ...(form.reason.trim() && { reason: form.reason.trim() }),
          },
          { key: newKey() },
        )
      }
    }
    const ok = await sending.send(all)
    done(ok)
    if (ok) close()
  }
  const here = booked.data?.appointments || []
  return html`
    <${RecordForm}
      title=${t('over.add.title', { name: person.name })}
      sending=${sending}
      ids=${{ date: 'from' }}
      submit=${submit}
      action=${t('over.save', { n: days || 1 })}
      close=${close}
    >
      <div class="duo">
        <${Field}
          id="from"
          label=${t('over.from')}
          as=${DateInput}
          value=${form.from}
          error=${sending.errors.from}
          input=${from => setForm(f => ({ ...f, from, to: f.to < from ? from : f.to }))}
          min=${today}
        />
        <${Field}
          id="to"
          label=${t('over.to')}
          as=${DateInput}
          value=${form.to}
          error=${sending.errors.to}
          input=${put('to')}
          min=${form.from}
        />
      </div>
      <${Radios}
        name="closed"
        legend=${t('over.what')}
        value=${form.closed}
        input=${put('closed')}
        options=${[
          [true, t('over.closed')],
          [false, t('over.hours')],
        ]}
      />
      ${
        !form.closed &&
        html`
          <${Windows} id="over" name=${t('over.hours')} windows=${form.hours} change=${put('hours')} />
        `
      }
      <${Field}
        id="reason"
        label=${t('over.reason')}
        hint=${t('over.reason.hint')}
        optional
        value=${form.reason}
        input=${put('reason')}
        maxlength="200"
      />
      ${
        here.length > 0 &&
        html`
          <div class="kept">
            <p>${t('over.booked', { n: here.length })}</p>
            <ul class="plain">
              ${here.slice(0, 5).map(
                a => html`
                  <li key=${a.id}>
                    ${write('shortDay', a.slotStartDate, person.timezone)},${' '}${write('time', a.slotStartDate, person.timezone)}${' '}
                    <bdi>${a.patient?.name}</bdi>
                  </li>
                `,
              )}
            </ul>
          </div>
        `
      }
    </${RecordForm}>
  `
}

const windowOf = h =>
  [t('range', { from: clock(minutesOf(h.start)), to: clock(minutesOf(h.end)) }), placeName(h.place)]
    .filter(Boolean)
    .join(' ')

export function Page({ desk, rest }) {
  const [adding, setAdding] = useState(false),
    [dropping, setDropping] = useState(null),
    [past, setPast] = useState(false)
  const people = useAsk(desk, () => get('/v1/specialists'))
  const mine = (people.data?.specialists || []).filter(x => desk.reaches(x.id))
  const person = mine.find(x => x.id === rest[0]) || mine[0]
  const days = useAsk(
    desk,
    () => (person ? get(`/v1/specialists/${person.id}/overrides`) : Promise.resolve({ overrides: [] })),
    person?.id,
  )
  const today = person && dateOf(serverNow(), person.timezone)
  const runs = grouped(days.data?.overrides || []),
    shown = runs.filter(r => past || r.to >= today)
  const refresh = () => {
    days.again()
    desk.loadSchedule().catch(() => {})
  }
  const span = r =>
    r.from === r.to ? write('fullDay', r.from) : t('over.span', { from: shortDate(r.from), to: shortDate(r.to) })
  return html`
    <${Office}
      desk=${desk}
      name="overrides"
      lead=${t('over.lead')}
      ask=${people}
      tools=${
        person &&
        html`
          ${
            mine.length > 1 &&
            html`
              <${SpecialistPick}
                person=${person}
                people=${mine}
                input=${id => {
                  location.hash = 'overrides/' + encodeURIComponent(id)
                }}
              />
            `
          }
          <${Plus} primary label="over.add" onClick=${() => setAdding(true)} />
        `
      }
    >
      <${Trouble} problem=${days.problem} />
      ${
        shown.length
          ? html`
              <ul class="lines">
                ${shown.map(
                  r => html`
                    <li class="line" key=${r.ids[0]}>
                      <div class="line-main">
                        <p class="line-title dated"><b>${span(r)}</b></p>
                        <p class="line-facts">
                          ${
                            r.closed
                              ? html`
                                  <${State} icon="close">${t('over.off')}</${State}>
                                `
                              : html`
                                  <${State} kind="info" icon="clock">${list(r.hours.map(windowOf))}</${State}>
                                `
                          }
                          ${
                            r.ids.length > 1 &&
                            html`
                              <span class="muted">${t('over.days', { n: r.ids.length })}</span>
                            `
                          }${
                            r.reason &&
                            html`
                              <span>${r.reason}</span>
                            `
                          }
                        </p>
                      </div>
                      <div class="line-do">
                        <button
                          type="button"
                          class="btn quiet"
                          aria-label=${t('over.remove.of', { day: span(r) })}
                          onClick=${() => setDropping(r)}
                        >
                          <${Icon} name="trash" />
                          ${t('over.remove')}
                        </button>
                      </div>
                    </li>
                  `,
                )}
              </ul>
            `
          : days.data &&
            html`
              <${Nothing} icon="away" label="over.add" add=${() => setAdding(true)}>${t('over.none')}</${Nothing}>
            `
      }
      ${
        desk.role !== 'specialist' &&
        html`
          <p><a class="textlink" href="#away">${t('nav.away')}</a></p>
        `
      }
      ${
        runs.some(r => r.to < today) &&
        html`
          <p>
            <button type="button" class="textlink" onClick=${() => setPast(!past)}>
              ${t(past ? 'over.past.hide' : 'over.past')}
            </button>
          </p>
        `
      }
      ${
        adding &&
        html`
          <${Add}
            desk=${desk}
            person=${person}
            close=${() => setAdding(false)}
            done=${ok => {
              refresh()
              if (ok) desk.toast('over.added')
            }}
          />
        `
      }
      ${
        dropping &&
        html`
          <${Confirm}
            desk=${desk}
            title=${t('over.remove')}
            text=${t('over.remove.text', { day: span(dropping) })}
            action=${t('over.remove')}
            close=${() => setDropping(null)}
            run=${async () => {
              try {
                for (const id of dropping.ids)
                  await del('/v1/overrides/' + id).catch(problem => {
                    if (problem.status !== 404) throw problem // otherwise it has been deleted already
                  })
              } finally {
                refresh()
              }
              desk.toast('over.removed')
            }}
          />
        `
      }
    </${Office}>
  `
}
