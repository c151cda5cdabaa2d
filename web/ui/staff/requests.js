// The patients' bookings that wait for a confirmation, by the patient's email link or by the desk on this page.
import { html, useEffect, useState } from '../lib/html.js'
import { get, newKey, post } from '../lib/api.js'
import { t } from '../lib/i18n.js'
import { useStore } from '../lib/store.js'
import { dayAndTime } from '../lib/time.js'
import { Intake } from './intake.js'
import { placeName } from './where.js'
import { specialistName, typeName } from './words.js'
import { Propose } from './propose.js'
import { Confirm, Office, State, Trouble, useAsk, useSend, Nothing } from './office.js'

const load = () => get('/v1/requests')

function Line({ s, r, confirm, decline, propose }) {
  const { name, email, phone } = r.patient
  return html`
    <li class="line">
      <div class="line-main">
        <p class="line-title">
          <b><bdi>${name}</bdi></b>
          ${' '}${dayAndTime(r.slotStartDate)}
        </p>
        <p class="line-facts">
          ${
            r.obstacle
              ? html`
                  <${State} kind="danger" icon="alert">
                    ${t('req.obstacle', {
                      why: t('explain.' + r.obstacle, { who: specialistName(s, r.specialistId), time: '' }),
                    })}
                  </${State}>
                `
              : html`
                  <${State} kind="warn" icon="clock">${t('req.until', { when: dayAndTime(r.expiresAt) })}</${State}>
                `
          }
          <span><bdi>${typeName(s, r.appointmentTypeId)}</bdi></span>
          <span><bdi>${specialistName(s, r.specialistId)}</bdi></span>
          ${
            placeName(r.place) &&
            html`
              <span><bdi>${placeName(r.place)}</bdi></span>
            `
          }
          ${
            phone &&
            html`
              <span><bdi>${phone}</bdi></span>
            `
          }${
            email &&
            html`
              <span><bdi>${email}</bdi></span>
            `
          }
          <span class="muted">
            ${
              r.wantedStartDate
                ? t('req.proposed', { when: dayAndTime(r.wantedStartDate) })
                : t(r.approval ? 'req.approval' : r.byMail ? 'req.mail' : 'req.nomail')
            }
          </span>
        </p>
        <${Intake} of=${r.intake} />
      </div>
      <div class="line-do">
        <button type="button" class="btn" aria-label=${`${t('req.confirm')}: ${name}`} onClick=${confirm}>
          ${t('req.confirm')}
        </button>
        <button type="button" class="btn" aria-label=${`${t('req.propose')}: ${name}`} onClick=${propose}>
          ${t('req.propose')}
        </button>
        <button type="button" class="btn quiet" aria-label=${`${t('req.decline')}: ${name}`} onClick=${decline}>
          ${t('req.decline')}
        </button>
      </div>
    </li>
  `
}

export function Page({ desk }) {
  const s = useStore(desk.store),
    [asking, setAsking] = useState(null),
    [proposing, setProposing] = useState(null)
  const open = useAsk(desk, load),
    sending = useSend(desk)
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) open.again()
    }, 5000)
    return () => clearInterval(timer)
  }, [])
  useEffect(() => {
    if (open.data) desk.requests(open.data.requests)
  }, [open.data])
  const act = (r, what) => async () => {
    try {
      const seen = what === 'confirm' ? { slotStartDate: r.slotStartDate } : {}
      await post(`/v1/requests/${r.id}/${what}`, seen, { key: newKey() })
      desk.toast('req.done.' + what)
    } catch (problem) {
      if (![404, 410, 412].includes(problem.status)) throw problem
      desk.toast(problem.status === 412 ? 'req.changed' : 'req.gone')
    }
    open.again()
  }
  const list = open.data?.requests || []
  return html`
    <${Office} desk=${desk} name="requests" lead=${t('req.lead')} ask=${open}>
      <${Trouble} problem=${sending.problem} />
      ${
        list.length
          ? html`
              <ul class="lines">
                ${list.map(
                  r => html`
                    <${Line}
                      key=${r.id}
                      s=${s}
                      r=${r}
                      confirm=${() => sending.send(act(r, 'confirm'))}
                      decline=${() => setAsking(r)}
                      propose=${() => setProposing(r)}
                    />
                  `,
                )}
              </ul>
            `
          : html`
              <${Nothing} icon="check">${t('req.none')}</${Nothing}>
            `
      }
      ${
        proposing &&
        html`
          <${Propose}
            desk=${desk}
            r=${proposing}
            close=${() => {
              setProposing(null)
              open.again()
            }}
          />
        `
      }
      ${
        asking &&
        html`
          <${Confirm}
            desk=${desk}
            title=${t('req.decline')}
            text=${t('req.decline.text')}
            action=${t('req.decline')}
            close=${() => setAsking(null)}
            run=${act(asking, 'decline')}
          />
        `
      }
    </${Office}>
  `
}
