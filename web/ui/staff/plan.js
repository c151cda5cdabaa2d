// The downtime plan: the age of the plan in this browser, a button to update it, a paper copy, and the link to the form
// for handwritten bookings.
import { html, useState } from '../lib/html.js'
import { Icon } from '../lib/icons.js'
import { lang, t } from '../lib/i18n.js'
import { Notice } from '../lib/notice.js'
import { dayAndTime } from '../lib/time.js'
import { useStore } from '../lib/store.js'
import { canKeep } from '../lib/vault.js'
import { Office, Trouble } from './office.js'

export function Page({ desk }) {
  const plan = useStore(desk.store, s => s.plan),
    [busy, setBusy] = useState(false),
    [problem, setProblem] = useState(null)
  const now = async () => {
    setBusy(true)
    setProblem(null)
    try {
      const { take } = await import('../staff/keep.js')
      await desk.call(() => take(desk))
      if (desk.store.get().plan?.kept) desk.toast('plan.taken')
    } catch (failed) {
      setProblem(failed)
    }
    setBusy(false)
  }
  const kit = format => '/v1/downtime-kit?' + new URLSearchParams({ format, lang: lang.slice(0, 2) })
  return html`
    <${Office} form desk=${desk} name="plan" lead=${t('plan.lead')}>
      <section class="plate setting" aria-label=${t('nav.plan')}>
        ${
          plan?.madeAt
            ? html`
                <${Notice} kind="ok" text="plan.kept" params=${{ when: dayAndTime(Date.parse(plan.madeAt)) }} />
              `
            : html`
                <${Notice} kind="warn" icon="alert" text=${canKeep() ? 'plan.later' : 'plan.insecure'} />
              `
        }
        <${Trouble} problem=${problem} />
        ${
          canKeep() &&
          html`
            <div class="actions">
              <button type="button" class="btn" aria-disabled=${busy ? 'true' : undefined} onClick=${now}>
                ${t('plan.now')}
              </button>
              ${
                plan?.madeAt &&
                html`
                  <a class="btn" href="/staff/plan" target="_blank" rel="noopener">${t('plan.try')}</a>
                `
              }
            </div>
          `
        }
      </section>
      <section class="plate setting" aria-labelledby="plan-paper">
        <h2 id="plan-paper">${t('plan.paper')}</h2>
        <p class="muted">${t('plan.paper.lead')}</p>
        <div class="actions">
          <a class="btn" href=${kit('html')} target="_blank" rel="noopener">
            <${Icon} name="print" />
            ${t('plan.html')}
          </a>
          <a class="btn" href=${kit('csv')} download>
            <${Icon} name="down" />
            ${t('plan.csv')}
          </a>
        </div>
      </section>
      <section class="plate setting" aria-labelledby="plan-after">
        <h2 id="plan-after">${t('plan.after')}</h2>
        <p class="muted">${t('plan.after.lead')}</p>
        <div class="actions"><a class="btn" href="#byhand">${t('plan.enter')}</a></div>
      </section>
    </${Office}>
  `
}
