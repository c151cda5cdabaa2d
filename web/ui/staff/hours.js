// The weekly hours of one specialist, next to a preview of the resulting times and a list of the appointments outside
// them or at another place. Nothing changes before Save.
import { html, useEffect, useState } from '../lib/html.js'
import { get, put } from '../lib/api.js'
import { serverNow } from '../lib/clock.js'
import { Notice } from '../lib/notice.js'
import { t } from '../lib/i18n.js'
import { addDays, dateOf, write } from '../lib/time.js'
import { say } from '../lib/say.js'
import { outside } from './outside.js'
import { faulty, inOrder, WeekHours } from './weekhours.js'
import { hasPlaces } from './where.js'
import { changesClocks, Preview } from './preview.js'
import { Busy, Office, Select, SpecialistPick, Trouble, useAsk, useSend, Nothing } from './office.js'

async function booked(specialistId, from) {
  const list = []
  let cursor
  do {
    const page = await get('/v1/appointments', {
      from,
      to: addDays(from, 180),
      specialistId,
      status: 'confirmed',
      limit: 500,
      cursor,
    })
    list.push(...page.appointments)
    cursor = page.nextCursor
  } while (cursor && list.length < 5000)
  return list
}

function Editor({ desk, person, types }) {
  const path = `/v1/specialists/${person.id}`,
    today = dateOf(serverNow(), person.timezone)
  const asked = useAsk(
    desk,
    async () => {
      const [w, o, appointments] = await Promise.all([
        get(path + '/weekly-hours'),
        get(path + '/overrides'),
        booked(person.id, today),
      ])
      return { saved: inOrder(w.weeklyHours), overrides: o.overrides, appointments }
    },
    person.id,
  )
  const [hours, setHours] = useState(null)
  const serving = types.filter(x => x.specialists.some(s => s.specialistId === person.id))
  const [typeId, setType] = useState('')
  const sending = useSend(desk)
  useEffect(() => {
    if (asked.data) setHours(asked.data.saved)
  }, [asked.data?.saved])
  if (!hours || !asked.data)
    return asked.problem
      ? html`
          <${Trouble} problem=${asked.problem} />
        `
      : html`
          <p class="muted" role="status">${t('office.loading')}</p>
        `
  const changed = JSON.stringify(inOrder(hours)) !== JSON.stringify(asked.data.saved)
  const bad = faulty(hours),
    out = bad ? [] : outside(asked.data.appointments, hours, asked.data.overrides, person.timezone, types)
  const type = typeId || serving[0]?.id
  const shifts = Array.from({ length: 60 }, (_, i) => addDays(today, i)).filter(date =>
    changesClocks(date, person.timezone),
  )
  const ask = ({ from, to }) =>
    desk.call(() =>
      put(`${path}/weekly-hours?${new URLSearchParams({ dryRun: 'true', from, to, appointmentTypeId: type })}`, hours),
    )
  const save = async e => {
    e.preventDefault()
    if (bad) return document.querySelector('.window.bad input')?.focus()
    const answer = await sending.send(() => put(path + '/weekly-hours', inOrder(hours)))
    if (!answer) return
    asked.set({ ...asked.data, saved: inOrder(answer.weeklyHours) })
    desk.loadSchedule().catch(() => {})
    desk.toast('hours.saved', { name: person.name })
    say(t('hours.saved', { name: person.name }))
  }
  return html`
    <form class="beside" onSubmit=${save} novalidate>
      <div class="pile">
        <section class="plate">
          <h2>${t('hours.week')}</h2>
          <p class="muted">${t('hours.zone', { zone: person.timezone.replace(/_/g, ' ') })}</p>
          <${WeekHours} hours=${hours} change=${setHours} />
        </section>
        ${
          out.length > 0 &&
          html`
            <${Notice}
              kind="warn"
              icon="alert"
              text=${hasPlaces() ? 'hours.outside.places' : 'hours.outside'}
              params=${{ n: out.length }}
            >
              <ul class="plain">
                ${out.slice(0, 5).map(
                  a => html`
                    <li key=${a.id}>
                      ${write('shortDay', a.slotStartDate, person.timezone)},${' '}${write('time', a.slotStartDate, person.timezone)}${' '}
                      <bdi>${a.patient?.name}</bdi>
                    </li>
                  `,
                )}
              </ul>
            </${Notice}>
          `
        }
        ${shifts.map(
          date => html`
            <${Notice}
              key=${date}
              kind="info"
              icon="clock"
              text=${changesClocks(date, person.timezone) > 0 ? 'hours.forward' : 'hours.back'}
              params=${{ day: write('longDay', date) }}
            />
          `,
        )}
        <${Trouble} problem=${sending.problem} />
        <div class="actions savebar">
          <${Busy} busy=${sending.busy}>${t('hours.save')}</${Busy}>
          <button
            type="button"
            class="btn"
            aria-disabled=${changed ? undefined : 'true'}
            onClick=${() => setHours(asked.data.saved)}
          >
            ${t('office.undo')}
          </button>
          <span class="muted" role="status">${t(changed ? 'office.unsaved' : 'office.saved')}</span>
        </div>
      </div>
      <aside class="plate" aria-label=${t('preview.title')}>
        <h2>${t('preview.title')}</h2>
        ${
          serving.length > 1 &&
          html`
            <div class="field">
              <label for="preview-type">${t('hours.type')}</label>
              <${Select} id="preview-type" value=${type} input=${setType} options=${serving.map(x => [x.id, x.name])} />
            </div>
          `
        }
        ${
          !serving.length
            ? html`
                <p class="muted">
                  ${t('hours.notype', { name: person.name })}${' '}
                  <a href="#types">${t('nav.types')}</a>
                </p>
              `
            : bad
              ? html`
                  <p class="muted">${t('preview.unready')}</p>
                `
              : html`
                  <${Preview}
                    ask=${ask}
                    signature=${JSON.stringify([hours, type])}
                    from=${today}
                    zone=${person.timezone}
                  />
                `
        }
      </aside>
    </form>
  `
}

export function Page({ desk, rest }) {
  const lists = useAsk(desk, async () => ({
    ...(await get('/v1/specialists')),
    ...(await get('/v1/appointment-types')),
  }))
  const all = lists.data?.specialists || [],
    person = all.find(x => x.id === rest[0]) || all[0]
  return html`
    <${Office}
      desk=${desk}
      name="hours"
      ask=${lists}
      tools=${
        person &&
        html`
          <${SpecialistPick}
            person=${person}
            people=${all}
            input=${id => {
              location.hash = 'hours/' + encodeURIComponent(id)
            }}
          />
        `
      }
    >
      <p><a class="textlink" href="#specialists">${t('hours.all')}</a></p>
      ${
        person
          ? html`
              <${Editor} key=${person.id} desk=${desk} person=${person} types=${lists.data.appointmentTypes} />
            `
          : html`
              <${Nothing} icon="people">${t('people.none')}</${Nothing}>
            `
      }
    </${Office}>
  `
}
