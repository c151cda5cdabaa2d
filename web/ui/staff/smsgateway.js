// The SMS gateway in the settings. For a preset, the form asks only for the account. For any other gateway, it shows
// the request as a template.
import { html, useEffect, useState } from '../lib/html.js'
import { boot } from '../lib/boot.js'
import { post } from '../lib/api.js'
import { Field } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { Notice } from '../lib/notice.js'
import { Act, ChoiceForm, useChoice } from './choice.js'
import { Select, Trouble, listed, useSend } from './office.js'
import { Placeholders } from './placeholders.js'

const address = '/v1/settings/sms-gateway'
const request = ['method', 'url', 'headers', 'body', 'success']
const fields = [...request, 'from', 'user', 'secret']
const ids = Object.fromEntries([...fields, 'to'].map(f => [f, 'sms-' + f]))
const other = { method: 'POST', url: '', headers: '', body: '{"to": "{to}", "text": "{text}"}', success: '' }
const presetOf = (presets, g) =>
  Object.keys(presets).find(name => request.every(f => presets[name][f] === g[f])) || 'other'

// Request shows the parts of the template. Their format is the same in every language.
const Request = ({ draft, set, error }) => {
  const part = (name, rest = {}) => html`
    <${Field}
      id=${ids[name]}
      label=${t('texts.' + name)}
      error=${error(ids[name])}
      value=${draft[name]}
      input=${set(name)}
      spellcheck="false"
      autocapitalize="none"
      dir="ltr"
      ...${rest}
    />
  `
  return html`
    <div class="duo request">
      <${Field} id="sms-method" label=${t('texts.method')} error=${error('sms-method')}>
        <${Select}
          id="sms-method"
          value=${draft.method}
          input=${set('method')}
          options=${['POST', 'PUT', 'GET'].map(m => [m, m])}
        />
      </${Field}>
      ${part('url', { type: 'url', maxlength: '1000', placeholder: 'https://gateway.example.org/send' })}
    </div>
    ${part('headers', { rows: 2, maxlength: '2000', optional: true, hint: t('texts.headers.hint'), placeholder: 'X-Api-Key: {secret}' })}
    ${draft.method !== 'GET' && part('body', { rows: 3, maxlength: '4000', hint: t('texts.body.hint') })}
    ${part('success', { maxlength: '200', optional: true, hint: t('texts.success.hint') })}
    <${Placeholders}
      names=${['to', 'number', 'text', 'from', 'user', 'secret', 'basic']}
      meaning=${x => 'texts.is.' + x}
    />
  `
}

export function SmsGateway({ desk }) {
  const choice = useChoice(desk, {
    address,
    name: 'smsGateway',
    words: 'texts',
    changed: x => {
      boot.sms = Boolean(x.given || x.chosen)
    },
  })
  const [draft, setDraft] = useState(null),
    [preset, setPreset] = useState('other'),
    [to, setTo] = useState(''),
    [result, setResult] = useState(null)
  const { data, saving } = choice,
    trying = useSend(desk),
    chosen = data?.chosen
  useEffect(() => {
    if (!data) return
    const names = Object.keys(data.presets)
    setPreset(chosen ? presetOf(data.presets, chosen) : names[0])
    setDraft({ from: '', user: '', ...(chosen || data.presets[names[0]]), secret: '' })
  }, [JSON.stringify(data && [data.presets, chosen])])
  if (!draft)
    return html`
      <${Trouble} problem=${choice.problem} />
    `
  const set = name => value => {
    setResult(null)
    setDraft(d => ({ ...d, [name]: value }))
  }
  const choose = name => {
    setPreset(name)
    setResult(null)
    saving.clear()
    trying.clear()
    setDraft(d => ({ ...d, ...(data.presets[name] || other), user: '', secret: '' }))
  }
  const body = () => Object.fromEntries(fields.map(f => [f, draft[f]]))
  const clear = () => {
    saving.clear()
    trying.clear()
    setResult(null)
  }
  const save = e => {
    e.preventDefault()
    clear()
    return choice.save(body())
  }
  const test = async () => {
    if (!to.trim()) return trying.refuse({ to: t('texts.to.err') })
    clear()
    const answer = await trying.send(() => post(address + '/test', { ...body(), to }, { tries: 1, timeout: 60000 }))
    if (answer) setResult({ ...answer, to })
  }
  const remove = () => {
    clear()
    return choice.remove()
  }
  const errors = listed({ ...saving.errors, ...trying.errors }, ids)
  const error = id => errors.find(e => e.id === id)?.message
  // The server uses the stored secret only if the request and the user are unchanged.
  const same = chosen && [...request, 'user'].filter(f => f !== 'success').every(f => chosen[f] === draft[f])
  const kept = same && chosen.secretSet && chosen.secretReadable
  const template = request.map(f => draft[f]).join(' '),
    needs = name => preset === 'other' || template.includes(`{${name}}`) || template.includes('{basic}')
  const wrongRequest = request.some(f => error(ids[f]))
  return html`
    <${ChoiceForm}
      id="sms-gateway"
      words="texts"
      about=${
        data.given &&
        html`
          <${Notice} kind="info" text="texts.given" params=${{ host: data.given.host }} />
        `
      }
      isUnreadable=${chosen?.secretSet && !chosen.secretReadable}
      errors=${errors}
      n=${saving.n + trying.n}
      problem=${saving.problem || trying.problem}
      submit=${save}
      remove=${chosen && remove}
      removeWord="mail.remove"
      actions=${html`
        <${Act} type="submit" class="btn primary" busy=${saving.busy} doing="office.saving" label="office.save" />
      `}
    >
      <${Field} id="sms-preset" label=${t('texts.preset')}>
        <${Select}
          id="sms-preset"
          value=${preset}
          input=${choose}
          options=${[...Object.keys(data.presets).map(x => [x, x[0].toUpperCase() + x.slice(1)]), ['other', t('texts.preset.other')]]}
        />
      </${Field}>
      <div class="duo">
        ${
          needs('user') &&
          html`
            <${Field}
              id="sms-user"
              label=${t(preset === 'other' ? 'texts.user' : 'texts.account')}
              optional=${preset === 'other'}
              error=${error('sms-user')}
              value=${draft.user}
              input=${set('user')}
              maxlength="200"
              spellcheck="false"
              autocapitalize="none"
              autocomplete="off"
              dir="ltr"
            />
          `
        }
        <${Field}
          id="sms-secret"
          label=${t('texts.secret')}
          hint=${t(kept ? 'texts.secret.kept' : 'mail.password.hint')}
          optional=${preset === 'other'}
          error=${error('sms-secret')}
          type="password"
          value=${draft.secret}
          input=${set('secret')}
          maxlength="500"
          autocomplete="new-password"
          dir="ltr"
        />
      </div>
      <${Field}
        id="sms-from"
        label=${t('mail.from')}
        hint=${t('texts.from.hint')}
        optional=${preset === 'other'}
        error=${error('sms-from')}
        value=${draft.from}
        input=${set('from')}
        maxlength="40"
        spellcheck="false"
        dir="ltr"
      />
      ${
        preset === 'other'
          ? html`
              <${Request} draft=${draft} set=${set} error=${error} />
            `
          : html`
              <details open=${wrongRequest}>
                <summary>${t('texts.request')}</summary>
                <${Request} draft=${draft} set=${set} error=${error} />
              </details>
            `
      }
      <div role="status">
        ${
          result &&
          html`
            <${Notice}
              kind=${result.delivery === 'sent' ? 'ok' : 'danger'}
              icon=${result.delivery === 'sent' ? undefined : 'alert'}
              text=${'texts.test.' + result.delivery}
              params=${{ to: result.to, why: result.error || '' }}
            >
              ${
                result.said &&
                html`
                  <p class="said">
                    ${t('texts.said')}${' '}
                    <code dir="ltr"><bdi>${result.said}</bdi></code>
                  </p>
                `
              }
            </${Notice}>
          `
        }
      </div>
      <div class="trial">
        <${Field}
          id="sms-to"
          label=${t('texts.to')}
          error=${error('sms-to')}
          type="tel"
          value=${to}
          input=${setTo}
          maxlength="40"
          placeholder="+49 170 1234567"
          dir="ltr"
        />
        <${Act} type="button" id="sms-try" busy=${trying.busy} doing="mail.trying" label="texts.try" onClick=${test} />
      </div>
    </${ChoiceForm}>
  `
}
