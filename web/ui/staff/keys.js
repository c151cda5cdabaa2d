// API keys of programs. A key is shown once, when it is created. Afterwards, the page shows only its first
// characters.
import { html, useState } from '../lib/html.js'
import { del, get, post } from '../lib/api.js'
import { Dialog } from '../lib/dialog.js'
import { ErrorSummary, Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { Notice } from '../lib/notice.js'
import { t } from '../lib/i18n.js'
import { write, zone } from '../lib/time.js'
import { Copy } from './copy.js'
import { Busy, Confirm, listed, Office, Select, State, Trouble, useAsk, useSend, Nothing } from './office.js'

const scopes = ['agent', 'presence', 'metrics', 'admin']

function Add({ desk, close, done }) {
  const [form, setForm] = useState({ name: '', scope: 'agent', specialistId: '' }),
    [made, setMade] = useState(null)
  const sending = useSend(desk),
    e = sending.errors
  const people = useAsk(desk, () => get('/v1/specialists'))
  const submit = async event => {
    event.preventDefault()
    if (!form.name.trim()) return sending.refuse({ name: t('keys.name.err') })
    const answer = await sending.send(() =>
      post(
        '/v1/api-keys',
        {
          name: form.name.trim(),
          scope: form.scope,
          ...(form.scope === 'presence' && form.specialistId && { specialistId: form.specialistId }),
        },
        { tries: 1 },
      ),
    )
    if (answer) {
      setMade(answer)
      done()
    }
  }
  // The key is shown only once, so a press outside the dialog must not close it.
  if (made) {
    return html`
      <${Dialog}
        title=${t('keys.made')}
        close=${reason => {
          if (reason !== 'outside') close()
        }}
      >
        <div class="office-form">
          <${Notice} kind="warn" icon="alert" text="keys.once" />
          <${Copy} id="key" label=${made.apiKey.name} value=${made.key} code />
          <div class="actions">
            <button type="button" class="btn primary" onClick=${() => close()}>${t('keys.kept')}</button>
          </div>
        </div>
      </${Dialog}>
    `
  }
  return html`
    <${Dialog} title=${t('keys.add')} close=${close}>
      <form class="office-form" onSubmit=${submit} novalidate>
        <${ErrorSummary} errors=${listed(e)} n=${sending.n} />
        ${
          !Object.keys(e).length &&
          html`
            <${Trouble} problem=${sending.problem} />
          `
        }
        <${Field}
          id="name"
          label=${t('keys.name')}
          hint=${t('keys.name.hint')}
          error=${e.name}
          value=${form.name}
          input=${name => setForm(f => ({ ...f, name }))}
          maxlength="200"
          autofocus
          autocomplete="off"
        />
        <fieldset class="choice">
          <legend>${t('keys.scope')}</legend>
          ${scopes.map(
            scope => html`
              <label class="check" key=${scope}>
                <input
                  type="radio"
                  name="scope"
                  checked=${form.scope === scope}
                  onChange=${() => setForm(f => ({ ...f, scope }))}
                />
                <span>
                  ${t('scope.' + scope)}
                  <small>${t('scope.' + scope + '.hint')}</small>
                </span>
              </label>
            `,
          )}
        </fieldset>
        ${
          form.scope === 'presence' &&
          html`
            <${Field} id="specialistId" label=${t('keys.for')} error=${e.specialistId}>
              <${Select}
                id="specialistId"
                value=${form.specialistId}
                input=${specialistId => setForm(f => ({ ...f, specialistId }))}
                options=${[['', t('keys.for.all')], ...(people.data?.specialists || []).map(p => [p.id, p.name])]}
              />
            </${Field}>
          `
        }
        <div class="actions">
          <${Busy} busy=${sending.busy}>${t('keys.make')}</${Busy}>
          <button type="button" class="btn" onClick=${() => close()}>${t('office.cancel')}</button>
        </div>
      </form>
    </${Dialog}>
  `
}

export function Page({ desk }) {
  const [adding, setAdding] = useState(false),
    [ending, setEnding] = useState(null)
  const asked = useAsk(desk, async () => ({ ...(await get('/v1/api-keys')), ...(await get('/v1/specialists')) }))
  const names = Object.fromEntries((asked.data?.specialists || []).map(p => [p.id, p.name]))
  const keys = [...(asked.data?.apiKeys || [])].sort(
    (a, b) => Number(Boolean(a.revokedAt)) - Number(Boolean(b.revokedAt)) || (a.createdAt < b.createdAt ? 1 : -1),
  )
  const day = at => write('shortDay', at, zone)
  return html`
    <${Office}
      desk=${desk}
      name="keys"
      lead=${t('keys.lead')}
      ask=${asked}
      tools=${html`
        <button type="button" class="btn primary" onClick=${() => setAdding(true)}>
          <${Icon} name="plus" />
          ${t('keys.add')}
        </button>
      `}
    >
      ${
        keys.length
          ? html`
              <ul class="lines">
                ${keys.map(
                  k => html`
                    <li class="line" key=${k.id}>
                      <div class="line-main">
                        <p class="line-title">
                          <b>${k.name}</b>
                          ${' '}
                          <code class="command">${k.prefix}…</code>
                        </p>
                        <p class="line-facts">
                          ${
                            k.revokedAt
                              ? html`
                                  <${State}
                                    icon=${html`
                                      <${Icon} name="stop" />
                                    `}
                                  >
                                    ${t('keys.revoked', { when: day(k.revokedAt) })}
                                  </${State}>
                                `
                              : html`
                                  <${State}
                                    kind="ok"
                                    icon=${html`
                                      <${Icon} name="check" />
                                    `}
                                  >
                                    ${t('keys.active')}
                                  </${State}>
                                `
                          }
                          <span>
                            ${t('scope.' + k.scope)}${
                              k.specialistId &&
                              html`
                                :${' '}
                                <bdi>${names[k.specialistId] || k.specialistId}</bdi>
                              `
                            }
                          </span>
                          <span class="muted">${t('keys.since', { when: day(k.createdAt) })}</span>
                          <span class="muted">
                            ${k.lastUsedAt ? t('keys.used', { when: `${day(k.lastUsedAt)}, ${write('time', k.lastUsedAt, zone)}` }) : t('keys.unused')}
                          </span>
                        </p>
                      </div>
                      <div class="line-do">
                        ${
                          !k.revokedAt &&
                          html`
                            <button
                              type="button"
                              class="btn quiet"
                              aria-label=${t('keys.revoke') + ': ' + k.name}
                              onClick=${() => setEnding(k)}
                            >
                              ${t('keys.revoke')}
                            </button>
                          `
                        }
                      </div>
                    </li>
                  `,
                )}
              </ul>
            `
          : html`
              <${Nothing}
                icon="key"
                action=${html`
                  <button type="button" class="btn" onClick=${() => setAdding(true)}>${t('keys.add')}</button>
                `}
              >
                ${t('keys.none')}
              </${Nothing}>
            `
      }
      ${
        adding &&
        html`
          <${Add} desk=${desk} close=${() => setAdding(false)} done=${asked.again} />
        `
      }
      ${
        ending &&
        html`
          <${Confirm}
            desk=${desk}
            title=${t('keys.revoke.of', { name: ending.name })}
            text=${t('keys.revoke.text')}
            action=${t('keys.revoke')}
            close=${() => setEnding(null)}
            run=${async () => {
              await del('/v1/api-keys/' + ending.id)
              asked.again()
              desk.toast('office.done')
            }}
          />
        `
      }
    </${Office}>
  `
}
