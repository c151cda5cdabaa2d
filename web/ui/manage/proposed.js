// The new time that the clinic proposes on the page of an appointment.
import { html, useRef, useState } from '../lib/html.js'
import { boot, nameOf } from '../lib/boot.js'
import { t } from '../lib/i18n.js'
import { newKey } from '../lib/api.js'
import { Icon } from '../lib/icons.js'
import { Notice } from '../lib/notice.js'
import { say } from '../lib/say.js'
import { range, write } from '../lib/time.js'
import { Name, PhoneLink } from '../book/shell.js'

// Proposed shows the time that the clinic holds because the specialist is away. The patient accepts it, or asks for a
// call: send(what, key) sends accept or decline. The buttons below offer other times and the cancellation.
export function Proposed({ send, proposal, set, done, fail }) {
  const [busy, setBusy] = useState(''),
    keys = useRef({ accept: newKey(), decline: newKey() })
  const act = async what => {
    if (busy) return
    setBusy(what)
    try {
      const answer = await send(what, keys.current[what])
      if (answer.appointment) return done(answer.appointment)
      set(answer.proposal)
      say(t('propose.declined'))
    } catch (problem) {
      if (problem.status === 410) set({ ...proposal, status: problem.reason || 'lapsed' })
      else fail(problem)
    }
    setBusy('')
  }
  if (proposal.status !== 'open')
    return html`
      <${Notice}
        kind="warn"
        role="status"
        text=${proposal.status === 'declined' ? 'propose.declined' : 'propose.over'}
        params=${{
          phone: html`
            <${PhoneLink} />
          `,
        }}
      />
    `
  return html`
    <section class="notice info propose" aria-labelledby="propose">
      <div>
        <h2 id="propose">${t('propose.title')}</h2>
        <p>${t('propose.text')}</p>
        <p class="propose-time">
          <b>${write('longDay', proposal.slotStartDate)}, ${range(proposal.slotStartDate, proposal.slotEndDate)}</b>
          <br />
          <${Name} of=${nameOf(proposal.specialistId)} />
          ${' '}${boot.places.length > 1 ? boot.places.find(x => x.id === proposal.place)?.name : ''}
        </p>
        <p class="muted">
          ${t('propose.until', { until: `${write('shortDay', proposal.expiresAt)}, ${write('time', proposal.expiresAt)}` })}
        </p>
        <div class="row">
          <button
            type="button"
            class="btn primary big"
            aria-disabled=${busy ? 'true' : undefined}
            onClick=${() => act('accept')}
          >
            <${Icon} name="check" />
            ${t('propose.accept')}${busy === 'accept' && '…'}
          </button>
          <button type="button" class="btn" aria-disabled=${busy ? 'true' : undefined} onClick=${() => act('decline')}>
            ${t('propose.decline')}
          </button>
        </div>
      </div>
    </section>
  `
}
