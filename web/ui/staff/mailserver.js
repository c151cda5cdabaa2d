// The settings of the mail server, also used in the first run. If a test email was not sent, the page explains why.
import { html, useEffect, useState } from '../lib/html.js'
import { post } from '../lib/api.js'
import { Field } from '../lib/form.js'
import { need, t } from '../lib/i18n.js'
import { Notice } from '../lib/notice.js'
import { Act, ChoiceForm, useChoice } from './choice.js'
import { listed, Select, Trouble, useSend } from './office.js'

const address = '/v1/settings/mail-server'
const usual = { starttls: '587', tls: '465', none: '25' },
  ports = ['587', '465', '25', '2525']
// hintOf returns the text key of the hint about a common mistake in these values, or ''.
function hintOf({ host, port, encryption, user }) {
  const name = host.trim().toLowerCase()
  if (name.includes('@') || name.includes('/')) return 'mail.hint.name'
  if (/^(imap|pop3?)\./.test(name)) return 'mail.hint.reading'
  if (port === '465' && encryption === 'starttls') return 'mail.hint.465'
  if (port === '587' && encryption === 'tls') return 'mail.hint.587'
  if (encryption === 'none' && user.trim()) return 'mail.hint.clear'
  if (port === '25' && user.trim()) return 'mail.hint.25'
  if (/(^|\.)(gmail|googlemail|google)\.com$/.test(name)) return 'mail.hint.google'
  return /(^|\.)(office365|outlook|hotmail)\.com$/.test(name) ? 'mail.hint.microsoft' : ''
}
const draftOf = c => ({
  host: c?.host || '',
  port: String(c?.port || 587),
  encryption: c?.encryption || 'starttls',
  user: c?.user || '',
  password: '',
  from: c?.from || '',
})
const bodyOf = d => ({
  host: d.host.trim(),
  port: +d.port,
  encryption: d.encryption,
  user: d.user.trim(),
  password: d.password,
  from: d.from.trim(),
})

function Found({ result }) {
  if (!result) return null
  if (result.delivery === 'sent')
    return html`
      <${Notice} kind="ok" text="mail.sent" params=${{ to: result.to }} />
    `
  return html`
    <${Notice} kind="danger" icon="alert" text=${'mail.found.' + result.finding} params=${{ to: result.to }}>
      ${
        result.said &&
        html`
          <p class="said">
            ${t(result.finding === 'certificate_name' ? 'mail.names' : 'mail.said')}${' '}
            <code dir="ltr"><bdi>${result.said}</bdi></code>
          </p>
        `
      }
    </${Notice}>
  `
}

export function MailServer({ desk, saved }) {
  const choice = useChoice(desk, { address, name: 'mailServer', words: 'mail', load: () => need('mail') })
  const [draft, setDraft] = useState(draftOf()),
    [result, setResult] = useState(null)
  const { saving } = choice,
    trying = useSend(desk)
  const chosen = choice.data?.chosen
  useEffect(() => {
    setDraft(draftOf(chosen))
  }, [JSON.stringify(chosen)])
  if (!choice.data)
    return html`
      <${Trouble} problem=${choice.problem} />
    `
  const set = name => value => {
    setResult(null)
    setDraft(d => ({ ...d, [name]: value, ...(name === 'encryption' && { port: usual[value] }) }))
  }
  const wrong = () => ({ ...(!draft.host.trim() && { host: t('mail.host.err') }) })
  const run = async send => {
    const mistakes = wrong()
    if (Object.keys(mistakes).length) {
      saving.refuse(mistakes)
      return
    }
    saving.clear()
    trying.clear()
    return send()
  }
  const test = async () => {
    setResult(null)
    const answer = await run(() =>
      trying.send(() => post(address + '/test', bodyOf(draft), { tries: 1, timeout: 60000 })),
    )
    if (answer) setResult(answer)
  }
  const save = async e => {
    e.preventDefault()
    if (!(await run(() => choice.save(bodyOf(draft))))) return
    setResult(null)
    saved?.()
  }
  const remove = async () => {
    if (await choice.remove()) setResult(null)
  }
  const errors = listed(
    { ...saving.errors, ...trying.errors },
    {
      host: 'mail-host',
      port: 'mail-port',
      encryption: 'mail-encryption',
      user: 'mail-user',
      password: 'mail-password',
      from: 'mail-from',
    },
  )
  const error = id => errors.find(e => e.id === id)?.message
  const kept =
    chosen?.passwordSet &&
    chosen.passwordReadable &&
    chosen.host === draft.host.trim().toLowerCase() &&
    String(chosen.port) === draft.port &&
    chosen.encryption === draft.encryption &&
    chosen.user === draft.user.trim()
  const hint = hintOf(draft),
    { given, sender } = choice.data
  return html`
    <${ChoiceForm}
      id="mail-server"
      words="mail"
      about=${
        given &&
        html`
          <${Notice} kind="info" text="mail.given" params=${{ server: `${given.host}:${given.port}` }} />
        `
      }
      isUnreadable=${chosen?.passwordSet && !chosen.passwordReadable}
      errors=${errors}
      n=${saving.n + trying.n}
      problem=${saving.problem || trying.problem}
      submit=${save}
      remove=${chosen && remove}
      actions=${html`
        <${Act} type="submit" class="btn primary" busy=${saving.busy} doing="mail.saving" label="mail.save" />
        <${Act} type="button" id="mail-try" busy=${trying.busy} doing="mail.trying" label="mail.try" onClick=${test} />
      `}
    >
      <${Field}
        id="mail-host"
        label=${t('mail.host')}
        hint=${t('mail.host.hint')}
        error=${error('mail-host')}
        value=${draft.host}
        input=${set('host')}
        maxlength="253"
        spellcheck="false"
        autocapitalize="none"
        dir="ltr"
        placeholder="smtp.example.org"
      />
      <div class="duo">
        <${Field} id="mail-encryption" label=${t('mail.encryption')} error=${error('mail-encryption')}>
          <${Select}
            id="mail-encryption"
            value=${draft.encryption}
            input=${set('encryption')}
            options=${Object.keys(usual).map(k => [k, t('mail.encryption.' + k)])}
          />
        </${Field}>
        <${Field} id="mail-port" label=${t('mail.port')} error=${error('mail-port')}>
          <${Select} id="mail-port" value=${draft.port} input=${set('port')} options=${ports.map(p => [p, p])} />
        </${Field}>
      </div>
      <div class="duo">
        <${Field}
          id="mail-user"
          label=${t('mail.user')}
          hint=${t('mail.user.hint')}
          optional
          error=${error('mail-user')}
          value=${draft.user}
          input=${set('user')}
          maxlength="200"
          spellcheck="false"
          autocapitalize="none"
          autocomplete="off"
          dir="ltr"
        />
        <${Field}
          id="mail-password"
          label=${t('mail.password')}
          hint=${t(kept ? 'mail.password.kept' : 'mail.password.hint')}
          optional
          error=${error('mail-password')}
          type="password"
          value=${draft.password}
          input=${set('password')}
          maxlength="500"
          autocomplete="new-password"
          dir="ltr"
        />
      </div>
      <${Field}
        id="mail-from"
        label=${t('mail.from')}
        hint=${t('mail.from.hint')}
        optional
        error=${error('mail-from')}
        value=${draft.from}
        input=${set('from')}
        maxlength="300"
        spellcheck="false"
        dir="ltr"
        placeholder=${sender}
      />
      <div role="status">
        ${
          hint &&
          html`
            <${Notice} kind="warn" icon="info" text=${hint} />
          `
        }
        <${Found} result=${result} />
      </div>
    </${ChoiceForm}>
  `
}
