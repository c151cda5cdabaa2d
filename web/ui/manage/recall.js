// The recall: a message, some months after the appointment, that it is time for the next visit.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { boot } from '../lib/boot.js'
import { del, newKey, post } from '../lib/api.js'
import { serverNow } from '../lib/clock.js'
import { Field } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { addMonths, recallMonths } from '../lib/months.js'
import { Notice } from '../lib/notice.js'
import { say } from '../lib/say.js'
import { addDays, dateOf, write } from '../lib/time.js'

// Recall lets the patient ask for a recall once the appointment has started, and withdraw it.
export function Recall({ a, started, path, options, done, fail }) {
  const [busy, setBusy] = useState(''),
    [other, setOther] = useState('')
  const key = useRef(newKey()),
    told = useRef(),
    pressed = useRef(false)
  const due = a.recallAt && Date.parse(a.recallAt) > serverNow()
  useEffect(() => {
    // The button had the focus and is gone.
    if (pressed.current) told.current?.focus()
    pressed.current = false
  }, [due])
  const set = async date => {
    if (busy) return
    setBusy(date || 'drop')
    try {
      const { appointment } = await (date
        ? post(path, { date }, { ...options, key: key.current })
        : del(path, null, options))
      pressed.current = true
      if (!date) say(t('recall.dropped'))
      done(appointment)
    } catch (problem) {
      fail(problem)
    }
    key.current = newKey()
    setBusy('')
  }
  if (due)
    return html`
      <${Notice}
        kind="ok"
        role="status"
        tabIndex="-1"
        innerRef=${told}
        text="recall.done"
        params=${{ date: write('fullDay', a.recallAt) }}
      >
        <button type="button" class="btn" aria-disabled=${busy ? 'true' : undefined} onClick=${() => set('')}>
          ${t('recall.drop')}${busy && '…'}
        </button>
      </${Notice}>
    `
  if (!boot.recall || !started || a.status === 'cancelled' || (!a.patient?.email && !a.intake?.sms)) return null
  const today = dateOf(serverNow())
  return html`
    <section class="recall" aria-labelledby="recall">
      <h2 id="recall" tabindex="-1" ref=${told}>${t('recall.title')}</h2>
      <p>${t('recall.lead')}</p>
      <div class="row">
        ${recallMonths
          .map(n => [n, addMonths(dateOf(a.slotStartDate), n)])
          .filter(([, date]) => date > today)
          .map(
            ([n, date]) => html`
              <button
                key=${n}
                type="button"
                class="btn"
                aria-disabled=${busy ? 'true' : undefined}
                onClick=${() => set(date)}
              >
                ${t('recall.months', { n })}${busy === date && '…'}
              </button>
            `,
          )}
      </div>
      <form
        class="row"
        onSubmit=${e => {
          e.preventDefault()
          if (other) set(other)
        }}
      >
        <${Field}
          id="recall-date"
          label=${t('recall.date')}
          type="date"
          min=${addDays(today, 1)}
          value=${other}
          input=${setOther}
        />
        ${
          other &&
          html`
            <button type="submit" class="btn" aria-disabled=${busy ? 'true' : undefined}>${t('recall.do')}</button>
          `
        }
      </form>
    </section>
  `
}
