// The settings for signing in with an identity provider. If the server refuses the owner's input, the page explains
// why.
import { html, useEffect, useState } from '../lib/html.js'
import { Field } from '../lib/form.js'
import { need, t } from '../lib/i18n.js'
import { Notice } from '../lib/notice.js'
import { Act, ChoiceForm, useChoice } from './choice.js'
import { Check, listed, Trouble } from './office.js'

const address = '/v1/settings/openid'
const draftOf = c => ({
  name: c?.name || '',
  issuer: c?.issuer || '',
  clientId: c?.clientId || '',
  secret: '',
  public: Boolean(c && !c.secretSet),
  domains: (c?.domains || []).join(', '),
  newRole: c?.newRole || '',
  ownersOnly: Boolean(c?.ownersOnly),
})
const bodyOf = d => ({
  name: d.name.trim(),
  issuer: d.issuer.trim(),
  clientId: d.clientId.trim(),
  secret: d.public ? '' : d.secret,
  public: d.public,
  domains: d.domains.split(/[\s,;]+/).filter(Boolean),
  newRole: d.newRole,
  ownersOnly: d.ownersOnly,
})
const ids = {
  name: 'openid-name',
  issuer: 'openid-issuer',
  clientId: 'openid-client',
  secret: 'openid-secret',
  domains: 'openid-domains',
  newRole: 'openid-new',
}

export function OpenID({ desk }) {
  const choice = useChoice(desk, { address, name: 'openId', words: 'openid', load: () => need('openid') })
  const [draft, setDraft] = useState(draftOf())
  const { saving } = choice,
    chosen = choice.data?.chosen
  useEffect(() => {
    setDraft(draftOf(chosen))
  }, [JSON.stringify(chosen)])
  if (!choice.data)
    return html`
      <${Trouble} problem=${choice.problem} />
    `
  const set = name => value => setDraft(d => ({ ...d, [name]: value }))
  const save = async e => {
    e.preventDefault()
    const missing = Object.fromEntries(
      ['name', 'issuer', 'clientId', 'domains'].filter(k => !draft[k].trim()).map(k => [k, t('openid.' + k + '.err')]),
    )
    if (Object.keys(missing).length) {
      saving.refuse(missing)
      return
    }
    await choice.save(bodyOf(draft), { timeout: 60000 })
  }
  const errors = listed(saving.errors, ids)
  const error = id => errors.find(e => e.id === id)?.message
  const found = saving.problem?.status === 422 && saving.problem.reason
  const kept =
    chosen?.secretSet &&
    chosen.secretReadable &&
    chosen.issuer === draft.issuer.trim() &&
    chosen.clientId === draft.clientId.trim()
  const { redirect } = choice.data
  return html`
    <${ChoiceForm}
      id="openid"
      words="openid"
      about=${
        redirect
          ? html`
              <p>
                ${t('openid.redirect')}
                <br />
                <code dir="ltr" id="openid-redirect">${redirect}</code>
              </p>
            `
          : html`
              <${Notice} kind="warn" icon="info" text="openid.noaddress" />
            `
      }
      isUnreadable=${chosen?.secretSet && !chosen.secretReadable}
      errors=${errors}
      n=${saving.n}
      problem=${!found && saving.problem}
      submit=${save}
      remove=${chosen && choice.remove}
      actions=${html`
        <${Act} type="submit" class="btn primary" busy=${saving.busy} doing="openid.looking" label="openid.save" />
      `}
    >
      <${Field}
        id="openid-name"
        label=${t('openid.name')}
        hint=${t('openid.name.hint')}
        error=${error('openid-name')}
        value=${draft.name}
        input=${set('name')}
        maxlength="40"
      />
      <${Field}
        id="openid-issuer"
        label=${t('openid.issuer')}
        hint=${t('openid.issuer.hint')}
        error=${error('openid-issuer')}
        value=${draft.issuer}
        input=${set('issuer')}
        maxlength="300"
        spellcheck="false"
        autocapitalize="none"
        dir="ltr"
        placeholder="https://accounts.google.com"
      />
      <div class="duo">
        <${Field}
          id="openid-client"
          label=${t('openid.clientId')}
          error=${error('openid-client')}
          value=${draft.clientId}
          input=${set('clientId')}
          maxlength="300"
          spellcheck="false"
          autocapitalize="none"
          dir="ltr"
        />
        ${
          !draft.public &&
          html`
            <${Field}
              id="openid-secret"
              label=${t('openid.secret')}
              hint=${t(kept ? 'openid.secret.kept' : 'openid.secret.hint')}
              error=${error('openid-secret')}
              type="password"
              value=${draft.secret}
              input=${set('secret')}
              maxlength="500"
              autocomplete="new-password"
              dir="ltr"
            />
          `
        }
      </div>
      <${Check} id="openid-public" checked=${draft.public} input=${set('public')}>${t('openid.public')}</${Check}>
      <${Field}
        id="openid-domains"
        label=${t('openid.domains')}
        hint=${t('openid.domains.hint')}
        error=${error('openid-domains')}
        value=${draft.domains}
        input=${set('domains')}
        maxlength="2000"
        spellcheck="false"
        autocapitalize="none"
        dir="ltr"
        placeholder="clinic.example.org"
      />
      <${Check}
        id="openid-new"
        checked=${draft.newRole === 'reception'}
        input=${on => set('newRole')(on ? 'reception' : '')}
        hint=${t('openid.new.hint')}
      >
        ${t('openid.new')}
      </${Check}>
      <${Check}
        id="openid-owners"
        checked=${draft.ownersOnly}
        input=${set('ownersOnly')}
        hint=${t('openid.owners.hint')}
      >
        ${t('openid.owners')}
      </${Check}>
      <div role="status">
        ${
          found &&
          html`
            <${Notice} kind="danger" icon="alert" text=${'openid.found.' + found} />
          `
        }
      </div>
    </${ChoiceForm}>
  `
}
