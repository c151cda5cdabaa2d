// The first screen: the clinic and its owner.
import { html, useState } from '../lib/html.js'
import { boot } from '../lib/boot.js'
import { recall, remember } from '../lib/store.js'
import { post } from '../lib/api.js'
import { lang, languages, t } from '../lib/i18n.js'
import { translate } from '../lib/mistake.js'
import { ErrorSummary, Field, looksLikeEmail } from '../lib/form.js'
import { Trouble } from '../lib/trouble.js'
import { Heading } from './page.js'

const zones = here => {
  const all = Intl.supportedValuesOf ? Intl.supportedValuesOf('timeZone') : []
  return [...new Set([here, 'UTC', ...all])].filter(Boolean).sort()
}
const least = 12
// If the server was started with a public address, the form does not ask for it.
const asksAddress = boot.address.from !== 'start'
const looksLikeOrigin = text => {
  try {
    return /^https?:$/.test(new URL(text.trim()).protocol)
  } catch {
    return false
  }
}
// ids maps the server's field names to the ids of this form.
const ids = {
  baseUrl: 'address',
  'clinic.name': 'clinic',
  'clinic.timezone': 'zone',
  'clinic.locale': 'lang',
  'owner.name': 'name',
  'owner.email': 'email',
  'owner.password': 'password',
}

export function Clinic({ token, zone, done }) {
  const [form, setForm] = useState({
    clinic: '',
    zone: zone || 'UTC',
    lang: languages[lang] ? lang : 'en',
    address: location.origin,
    name: '',
    email: '',
    ...recall('setup.form'),
    password: '',
  })
  const [errors, setErrors] = useState([]),
    [tries, setTries] = useState(0)
  const [seen, setSeen] = useState(false),
    [busy, setBusy] = useState(false),
    [problem, setProblem] = useState(null)
  const [list] = useState(() => zones(zone))
  const put = name => value => {
    const next = { ...form, [name]: value }
    setForm(next)
    const { password, ...kept } = next
    remember('setup.form', kept)
  }
  const found = () =>
    [
      !form.clinic.trim() && { id: 'clinic', message: t('setup.clinic.name.err') },
      asksAddress && !looksLikeOrigin(form.address) && { id: 'address', message: t('setup.address.err') },
      !form.name.trim() && { id: 'name', message: t('setup.name.err') },
      !looksLikeEmail(form.email) && { id: 'email', message: t('field.email.err') },
      [...form.password].length < least && { id: 'password', message: t('setup.password.err', { n: least }) },
    ].filter(Boolean)
  const error = id => errors.find(e => e.id === id)?.message

  async function submit(e) {
    e.preventDefault()
    if (busy) return
    const wrong = found()
    setErrors(wrong)
    setTries(tries + 1)
    setProblem(null)
    if (wrong.length) return
    setBusy(true)
    const clinic = { name: form.clinic.trim(), timezone: form.zone, locale: form.lang }
    try {
      await post('/v1/setup', {
        token,
        clinic,
        ...(asksAddress && { baseUrl: form.address.trim() }),
        owner: { name: form.name.trim(), email: form.email.trim(), password: form.password },
      })
      boot.address = asksAddress ? { url: new URL(form.address.trim()).origin, from: 'settings' } : boot.address
      done(clinic)
    } catch (failed) {
      setBusy(false)
      const there = translate(failed)
        .errors.map(x => ({ id: ids[x.field], message: x.message }))
        .filter(x => x.id)
      setErrors(there)
      setTries(n => n + 1)
      if (!there.length) setProblem(failed)
    }
  }
  return html`
    <${Heading}>${t('setup.clinic.title')}</${Heading}>
    <p class="lead">${t('setup.clinic.lead')}</p>
    <form onSubmit=${submit} novalidate>
      <${ErrorSummary} errors=${errors} n=${tries} />
      <${Trouble}
        problem=${problem}
        text=${problem?.status === 410 ? 'setup.gone' : problem?.status === 401 && 'setup.late'}
      />
      <${Field}
        id="clinic"
        label=${t('setup.clinic.name')}
        error=${error('clinic')}
        value=${form.clinic}
        input=${put('clinic')}
        autocomplete="organization"
        maxlength="200"
      />
      <div class="duo">
        <${Field} id="zone" label=${t('setup.zone')} hint=${t('setup.zone.hint')} error=${error('zone')}>
          <select
            id="zone"
            aria-describedby="zone-hint"
            value=${form.zone}
            onChange=${e => put('zone')(e.currentTarget.value)}
          >
            ${list.map(
              z => html`
                <option key=${z} value=${z} selected=${z === form.zone}>${z.replace(/_/g, ' ')}</option>
              `,
            )}
          </select>
        </${Field}>
        <${Field} id="lang" label=${t('setup.lang')} hint=${t('setup.lang.hint')} error=${error('lang')}>
          <select
            id="lang"
            aria-describedby="lang-hint"
            value=${form.lang}
            onChange=${e => put('lang')(e.currentTarget.value)}
          >
            ${Object.entries(languages).map(
              ([tag, name]) => html`
                <option key=${tag} value=${tag} selected=${tag === form.lang}>${name}</option>
              `,
            )}
          </select>
        </${Field}>
      </div>
      ${
        asksAddress &&
        html`
          <${Field}
            id="address"
            label=${t('setup.address')}
            hint=${t('setup.address.hint')}
            error=${error('address')}
            type="url"
            value=${form.address}
            input=${put('address')}
            maxlength="300"
            spellcheck="false"
            autocapitalize="off"
          />
        `
      }
      <fieldset class="owner">
        <legend><h2>${t('setup.owner')}</h2></legend>
        <p class="hint">${t('setup.owner.hint')}</p>
        <${Field}
          id="name"
          label=${t('setup.name')}
          error=${error('name')}
          value=${form.name}
          input=${put('name')}
          autocomplete="name"
          maxlength="200"
        />
        <${Field}
          id="email"
          label=${t('field.email')}
          error=${error('email')}
          type="email"
          value=${form.email}
          input=${put('email')}
          autocomplete="username"
          spellcheck="false"
        />
        <${Field}
          id="password"
          label=${t('setup.password')}
          hint=${t('setup.password.hint', { n: least })}
          error=${error('password')}
        >
          <span class="with">
            <input
              id="password"
              type=${seen ? 'text' : 'password'}
              autocomplete="new-password"
              aria-describedby=${'password-hint' + (error('password') ? ' password-error' : '')}
              aria-invalid=${error('password') ? 'true' : undefined}
              value=${form.password}
              spellcheck="false"
              autocapitalize="off"
              onInput=${e => put('password')(e.currentTarget.value)}
            />
            <button
              type="button"
              class="btn"
              aria-pressed=${seen ? 'true' : 'false'}
              aria-label=${t('setup.password.show')}
              onClick=${() => setSeen(!seen)}
            >
              ${t(seen ? 'setup.hide' : 'setup.show')}
            </button>
          </span>
        </${Field}>
      </fieldset>
      <div class="actions">
        <button type="submit" class="btn primary big" aria-disabled=${busy ? 'true' : undefined}>
          ${t(busy ? 'setup.saving' : 'continue')}
        </button>
      </div>
    </form>
  `
}
