// "Pull the cable": the left phone goes offline, like a phone on a train, and then online again. The page counts the
// appointments before and after, by id, so that the numbers it shows are measured.
import { html, useState } from '../lib/html.js'
import { get } from '../lib/api.js'
import { t } from '../lib/i18n.js'
import { Icon } from '../lib/icons.js'
import { Notice } from '../lib/notice.js'
import { addDays, dateOf } from '../lib/time.js'

// booked returns the ids of all appointments on the days that the demo fills. Cancelled appointments are included,
// because they are not lost.
export async function booked() {
  const today = dateOf(Date.now()),
    ids = new Set()
  for (let cursor = ''; ;) {
    const page = await get('/v1/appointments', { from: addDays(today, -1), to: addDays(today, 60), limit: 500, cursor })
    page.appointments.forEach(a => ids.add(a.id))
    if (!(cursor = page.nextCursor)) return ids
  }
}
export const compared = (before, after) => ({
  before: before.size,
  there: [...before].filter(id => after.has(id)).length,
  more: [...after].filter(id => !before.has(id)).length,
})

const phone = () => document.querySelector('.demo-stage iframe').contentWindow

export function Cable() {
  const [state, setState] = useState({ phase: 'in' })
  const pull = async () => {
    const before = await booked().catch(() => null),
      there = phone()
    if (!before) return setState({ phase: 'failed' })
    const real = there.fetch
    there.fetch = () => Promise.reject(new there.TypeError('the cable is out'))
    there.dispatchEvent(new there.Event('offline'))
    setState({
      phase: 'out',
      before,
      plug: () => {
        there.fetch = real
        there.dispatchEvent(new there.Event('online'))
      },
    })
  }
  const plug = async () => {
    state.plug()
    const after = await booked().catch(() => null)
    setState(after ? { phase: 'done', ...compared(state.before, after) } : { phase: 'failed' })
  }
  const out = state.phase === 'out'
  return html`
    <section class="cable" aria-label=${t('demo.cable')}>
      <button type="button" class="btn" onClick=${out ? plug : pull}>
        <${Icon} name="offline" />
        ${t(out ? 'demo.cable.in' : 'demo.cable')}
      </button>
      <div role="status">
        ${
          out
            ? html`
                <span class="muted">${t('demo.cable.out', { n: state.before.size })}</span>
              `
            : state.phase === 'done'
              ? html`
                  <span data-lost=${state.before - state.there}>
                    ${t(state.there === state.before ? 'demo.cable.kept' : 'demo.cable.lost', state)}
                  </span>
                `
              : state.phase === 'failed'
                ? html`
                    <${Notice} kind="danger" text="demo.lost" />
                  `
                : html`
                    <span class="muted">${t('demo.cable.hint')}</span>
                  `
        }
      </div>
    </section>
  `
}
