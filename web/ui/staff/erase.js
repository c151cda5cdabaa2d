// Erasing a person. The dialog shows what is erased, lists other people with the same phone number or email address,
// and asks for confirmation. Those people are not erased unless the user selects them. Erasing cannot be undone.
// Afterwards, the dialog shows the copies that remain.
import { html, useEffect, useState } from '../lib/html.js'
import { newKey, post } from '../lib/api.js'
import { Dialog } from '../lib/dialog.js'
import { Notice } from '../lib/notice.js'
import { list, t } from '../lib/i18n.js'
import { dayAndTime, write } from '../lib/time.js'
import { Failed, useChange } from './move.js'
import { failKey, who } from './words.js'

const ask = id => post('/v1/people/erase-plan', { appointmentId: id }, { tries: 3 }).then(x => x.erasure)

export function Erase({ desk, id, close }) {
  const [plan, setPlan] = useState(null),
    [failed, setFailed] = useState(null),
    [also, setAlso] = useState([]),
    [done, setDone] = useState(null)
  const bare = !desk.prefs.get().names
  const named = p => (bare ? who(desk, { patient: p }) : p.name)
  const described = p =>
    bare
      ? ''
      : [p.birthDate && t('person.born', { date: write('numeric', p.birthDate) }), p.phone, p.email]
          .filter(Boolean)
          .join(' · ')
  useEffect(() => {
    desk.call(() => ask(id)).then(setPlan, setFailed)
  }, [id])
  const change = useChange(async (body, key) => {
    setDone(await desk.call(() => post('/v1/people/erase', body, { key: key || newKey(), timeout: 120000 })))
  })
  const submit = e => {
    e.preventDefault()
    change.go({ appointmentId: id, also })
  }
  const toggle = x => setAlso(all => (all.includes(x) ? all.filter(y => y !== x) : [...all, x]))
  const first = plan?.people[0]
  if (done) {
    const { erased, remains } = done
    return html`
      <${Dialog} title=${t('erase.done')} close=${close}>
        <div class="stack">
          <p role="status">${t('erase.sum', { n: erased.appointments, entries: erased.auditEntries })}</p>
          ${
            remains.copies.length > 0 &&
            html`
              <${Notice}
                kind="warn"
                icon="alert"
                text="erase.copies"
                params=${{ n: remains.copies.length, list: list(remains.copies.slice(0, 5).map(c => c.name)) }}
              />
            `
          }
          ${
            remains.mailFiles.length > 0 &&
            html`
              <${Notice}
                kind="warn"
                icon="alert"
                text="erase.mails"
                params=${{ list: list(remains.mailFiles.slice(0, 5)) }}
              />
            `
          }
          <footer class="actions">
            <button type="button" class="btn primary" autofocus onClick=${() => close()}>${t('close')}</button>
          </footer>
        </div>
      </${Dialog}>
    `
  }
  return html`
    <${Dialog} title=${first ? t('erase.title', { name: named(first) }) : t('erase.do')} kind="person" close=${close}>
      <form class="stack history" onSubmit=${submit}>
        ${
          failed &&
          html`
            <${Notice} kind="danger" role="alert" text=${failKey(failed)} />
          `
        }
        ${
          !plan &&
          !failed &&
          html`
            <p class="muted" role="status">${t('office.loading')}</p>
          `
        }
        ${
          plan &&
          html`
            <p>${t('erase.what', { coming: plan.coming, past: plan.past, notes: plan.notes })}</p>
            ${
              plan.coming > 0 &&
              html`
                <${Notice} kind="warn" icon="alert" text="erase.coming" params=${{ n: plan.coming }} />
              `
            }
            <section>
              <h3>${t('erase.as')}</h3>
              <ul>
                ${plan.people.map(
                  (p, i) => html`
                    <li key=${i}>
                      <bdi>${named(p)}</bdi>
                      ${' '}
                      <span class="muted">${described(p)}</span>
                    </li>
                  `,
                )}
              </ul>
            </section>
            ${
              plan.sharing.length > 0 &&
              html`
                <fieldset class="choice">
                  <legend>${t('erase.sharing')}</legend>
                  <p class="hint">${t('erase.sharing.hint')}</p>
                  ${plan.sharing.map(
                    p => html`
                      <label class="check" key=${p.appointmentId}>
                        <input
                          type="checkbox"
                          checked=${also.includes(p.appointmentId)}
                          onChange=${() => toggle(p.appointmentId)}
                        />
                        <span>
                          <bdi>${named(p)}</bdi>
                          <small>
                            ${[described(p), t('person.n', { n: p.appointments }), dayAndTime(p.last)].filter(Boolean).join(' · ')}
                          </small>
                        </span>
                      </label>
                    `,
                  )}
                </fieldset>
              `
            }
            <p class="muted">${t('erase.log')}</p>
          `
        }
        <${Failed} desk=${desk} problem=${change.problem} a=${null} close=${close} />
        <footer class="actions">
          ${
            plan &&
            html`
              <button type="submit" class="btn solid" aria-disabled=${change.busy ? 'true' : undefined}>
                ${t(change.busy ? 'erase.doing' : also.length ? 'erase.these' : 'erase.do', { n: also.length + 1 })}
              </button>
            `
          }
          <button type="button" class="btn" autofocus onClick=${() => close()}>${t('office.keep')}</button>
        </footer>
      </form>
    </${Dialog}>
  `
}
