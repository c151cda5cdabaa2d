// The API keys of programs. The page shows a key once, when it is created. Afterwards it shows only the first
// characters of the key.
import { html, useState } from '../lib/html.js'
import { del, get, post } from '../lib/api.js'
import { Dialog } from '../lib/dialog.js'
import { Field } from '../lib/form.js'
import { Notice } from '../lib/notice.js'
import { t } from '../lib/i18n.js'
import { write, zone } from '../lib/time.js'
import { Copy } from './copy.js'
import { Confirm, Office, Select, State, useAsk, Nothing } from './office.js'
import { Plus, Radios, RecordForm, useDraft } from './record.js'

const scopes = ['agent', 'presence', 'metrics', 'admin']

function Add({ desk, close, done }) {
  const { form, put, sending, e } = useDraft(desk, { name: '', scope: 'agent', specialistId: '' })
  const [made, setMade] = useState(null)
  const people = useAsk(desk, () => get('/v1/specialists'))
  const submit = async () => {
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
    <${RecordForm} title=${t('keys.add')} sending=${sending} submit=${submit} action=${t('keys.make')} close=${close}>
      <${Field}
        id="name"
        label=${t('keys.name')}
        hint=${t('keys.name.hint')}
        error=${e.name}
        value=${form.name}
        input=${put('name')}
        maxlength="200"
        autofocus
        autocomplete="off"
      />
      <${Radios}
        name="scope"
        legend=${t('keys.scope')}
        value=${form.scope}
        input=${put('scope')}
        options=${scopes.map(scope => [scope, t('scope.' + scope), t('scope.' + scope + '.hint')])}
      />
      ${
        form.scope === 'presence' &&
        html`
          <${Field} id="specialistId" label=${t('keys.for')} error=${e.specialistId}>
            <${Select}
              id="specialistId"
              value=${form.specialistId}
              input=${put('specialistId')}
              options=${[['', t('keys.for.all')], ...(people.data?.specialists || []).map(p => [p.id, p.name])]}
            />
          </${Field}>
        `
      }
    </${RecordForm}>
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
        <${Plus} primary label="keys.add" onClick=${() => setAdding(true)} />
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
                                  <${State} icon="stop">${t('keys.revoked', { when: day(k.revokedAt) })}</${State}>
                                `
                              : html`
                                  <${State} kind="ok" icon="check">${t('keys.active')}</${State}>
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
              <${Nothing} icon="key" label="keys.add" add=${() => setAdding(true)}>${t('keys.none')}</${Nothing}>
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
