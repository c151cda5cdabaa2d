// Recalls at the desk: a message to the patient, some months after an appointment, that it is time for the next visit.
import { html, useState } from '../lib/html.js'
import { get } from '../lib/api.js'
import { serverNow } from '../lib/clock.js'
import { Field } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { addMonths, recallMonths } from '../lib/months.js'
import { addDays, dateOf, shortDate } from '../lib/time.js'
import { DateInput } from '../lib/typed.js'
import { Failed, useChange } from './move.js'
import { useAsk } from './office.js'
import { specialistName, typeName, who } from './words.js'

export const isDue = a => Boolean(a.recallAt) && Date.parse(a.recallAt) > serverNow()
const day = a => shortDate(dateOf(a.recallAt))

// useRecall sets and withdraws the recall of an appointment. An empty date withdraws it.
function useRecall(desk, a, done) {
  return useChange(async ({ date }, key) => {
    const now = await (date ? desk.recall(a, date, key) : desk.dropRecall(a))
    desk.toast(date ? 'rc.done' : 'rc.dropped', { name: who(desk, a), date: date && day(now) })
    done?.()
  })
}

// RecallRow shows the recall of an appointment, and the buttons that set or withdraw it.
export function RecallRow({ desk, a, done, close }) {
  const [open, setOpen] = useState(false),
    [date, setDate] = useState('')
  const change = useRecall(desk, a, () => {
    setOpen(false)
    done?.()
  })
  const today = dateOf(serverNow()),
    of = dateOf(a.slotStartDate)
  const set = to => change.go({ date: to, was: a.recallAt || '' })
  if (isDue(a))
    return html`
      ${day(a)}${' '}
      <button type="button" class="textlink" onClick=${() => set('')}>${t('rc.drop')}</button>
      <${Failed} desk=${desk} problem=${change.problem} a=${a} close=${close} />
    `
  if (!a.patient?.email && !a.intake?.sms)
    return html`
      <span class="muted">${t('rc.nomail')}</span>
    `
  if (!open)
    return html`
      <button type="button" class="textlink" onClick=${() => setOpen(true)}>${t('rc.add')}</button>
    `
  return html`
    <form
      class="stack"
      onSubmit=${e => {
        e.preventDefault()
        if (date) set(date)
      }}
    >
      <span class="row">
        ${recallMonths
          .map(n => [n, addMonths(of, n)])
          .filter(([, to]) => to > today)
          .map(
            ([n, to], i) => html`
              <button key=${n} type="button" class="btn" autofocus=${i === 0} onClick=${() => set(to)}>
                ${t('rc.months', { n })}
              </button>
            `,
          )}
      </span>
      <${Field}
        id=${'recall-' + a.id}
        label=${t('rc.date')}
        as=${DateInput}
        min=${addDays(of > today ? of : today, 1)}
        value=${date}
        input=${setDate}
      />
      <button type="submit" class="btn">${t('rc.save')}</button>
      <${Failed} desk=${desk} problem=${change.problem} a=${a} close=${close} />
    </form>
  `
}

function Line({ desk, a, done }) {
  const s = desk.store.get(),
    change = useRecall(desk, a, done)
  return html`
    <li class="line">
      <div class="line-main">
        <p class="line-title">
          <b><bdi>${who(desk, a)}</bdi></b>
          ${' '}
          <bdi>${typeName(s, a.appointmentTypeId)}</bdi>
        </p>
        <p class="line-facts">
          <span>${day(a)}</span>
          <span><bdi>${specialistName(s, a.specialistId)}</bdi></span>
        </p>
        <${Failed} desk=${desk} problem=${change.problem} a=${a} close=${() => {}} />
      </div>
      <div class="line-do">
        <button
          type="button"
          class="btn quiet"
          aria-label=${`${t('rc.drop')}: ${who(desk, a)}`}
          onClick=${() => change.go({ date: '', id: a.id, was: a.recallAt })}
        >
          ${t('rc.drop')}
        </button>
      </div>
    </li>
  `
}

// Recalls lists the coming recalls, the next one first. Without any, it shows nothing.
export function Recalls({ desk }) {
  const ask = useAsk(desk, () => get('/v1/appointments', { recall: 'open', limit: 500 }))
  const list = (ask.data?.appointments || []).toSorted((a, b) => (a.recallAt < b.recallAt ? -1 : 1))
  if (!list.length) return null
  return html`
    <section class="recalls stack" aria-labelledby="recalls">
      <h2 id="recalls">${t('rc.list')}</h2>
      <p class="muted">${t('rc.lead')}</p>
      <ul class="lines">
        ${list.map(
          a => html`
            <${Line} key=${a.id} desk=${desk} a=${a} done=${ask.again} />
          `,
        )}
      </ul>
    </section>
  `
}
