// The sign-in form, with a field for a one-time code if the account has a second factor. The same form is used on its
// own page and in the dialog that opens when a session has expired.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { boot } from '../lib/boot.js'
import { Dialog } from '../lib/dialog.js'
import { Field } from '../lib/form.js'
import { Notice } from '../lib/notice.js'
import { get, post } from '../lib/api.js'
import { t } from '../lib/i18n.js'
import { Language } from '../lib/language.js'
import { Code, Secret } from './secret.js'

// said maps the server's reasons to text keys.
const said = {
  wrong_password: 'sign.wrong',
  wrong_code: 'sign.code.wrong',
  sign_in_backoff: 'sign.wait',
  password_off: 'sign.password.off',
  openid_away: 'sign.with.away',
  openid_off: 'sign.with.off',
  openid_elsewhere: 'sign.with.elsewhere',
  openid_begin: 'sign.with.begin',
  openid_stranger: 'sign.with.stranger',
}
// After signing in with an identity provider, the server redirects here with the result in the query. Read the result
// once and remove it from the address.
const returned = new URLSearchParams(location.search).get('openid')
if (returned) history.replaceState(null, '', location.pathname + location.hash)

// SignInWith sends the browser to the identity provider, if the clinic has one. In a dialog it opens a new window, so
// that unsaved input is not lost.
function SignInWith({ apart, failed }) {
  const [busy, setBusy] = useState(false)
  if (!boot.signInWith) return null
  const go = async () => {
    if (busy) return
    setBusy(true)
    const other = apart && window.open('', '_blank')
    try {
      const { url } = await post('/v1/auth/openid', undefined, { tries: 1, timeout: 60000 })
      if (other) other.location = url
      else location.assign(url)
      if (apart) setBusy(false)
    } catch (problem) {
      other?.close()
      setBusy(false)
      failed(problem)
    }
  }
  return html`
    <div class="actions">
      <button type="button" class="btn" id="sign-with" aria-disabled=${busy ? 'true' : undefined} onClick=${go}>
        ${t(busy ? 'sign.with.going' : 'sign.with', { name: boot.signInWith })}
      </button>
    </div>
  `
}

// CodeForm asks for a one-time code. It appears after the identity provider has confirmed a user who has a second
// factor here.
function CodeForm({ done, failed }) {
  const [code, setCode] = useState(''),
    [busy, setBusy] = useState(false)
  const form = useRef()
  useEffect(() => {
    form.current?.elements['sign-code']?.focus()
  }, [])
  const submit = async e => {
    e.preventDefault()
    if (busy) return
    setBusy(true)
    try {
      done(await post('/v1/auth/openid/code', { code }))
    } catch (problem) {
      setBusy(false)
      setCode('')
      failed(problem)
      form.current?.elements['sign-code']?.focus()
    }
  }
  return html`
    <form class="sign" ref=${form} onSubmit=${submit} novalidate>
      <${Code} id="sign-code" value=${code} input=${setCode} />
      <div class="actions">
        <button type="submit" class="btn primary" aria-disabled=${busy ? 'true' : undefined}>
          ${t(busy ? 'sign.doing' : 'sign.do')}
        </button>
      </div>
    </form>
  `
}

function SignInForm({ email: known = '', done, children }) {
  const [email, setEmail] = useState(known),
    [password, setPassword] = useState(''),
    [code, setCode] = useState('')
  const [asks, setAsks] = useState(false),
    [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState(null)
  const form = useRef()
  const focus = name => form.current?.elements['sign-' + name]?.focus()
  useEffect(() => {
    focus(known ? 'password' : 'email')
  }, [])
  useEffect(() => {
    if (asks) focus('code')
  }, [asks])

  async function submit(e) {
    e.preventDefault()
    if (busy) return
    if (!email.trim() || !password) return focus(email.trim() ? 'password' : 'email')
    setBusy(true)
    setProblem(null)
    try {
      const me = await post('/v1/auth/sign-in', { email: email.trim(), password, code })
      // Derive the key of the downtime plan from this password now, because the page does not store the password.
      import('../staff/keep.js').then(x => x.signedIn(me, password)).catch(() => {})
      done(me)
    } catch (failed) {
      setBusy(false)
      if (failed.reason === 'code_needed') return setAsks(true)
      setProblem(failed)
      if (failed.reason === 'wrong_code') {
        setCode('')
        focus('code')
      } else focus('password')
    }
  }
  const key = problem && (said[problem.reason] || (problem.status ? 'sign.failed' : 'sign.offline'))
  return html`
    <form class="sign" ref=${form} onSubmit=${submit} novalidate>
      ${
        problem &&
        html`
          <${Notice}
            kind="danger"
            role="alert"
            text=${key}
            params=${{ s: problem.retryAfter, name: boot.signInWith }}
          />
        `
      }
      <${Field}
        id="sign-email"
        label=${t('sign.email')}
        type="email"
        autocomplete="username"
        value=${email}
        input=${setEmail}
        readonly=${Boolean(known)}
        spellcheck="false"
        required
      />
      <${Secret}
        id="sign-password"
        label=${t('sign.password')}
        value=${password}
        input=${setPassword}
        autocomplete="current-password"
        required
      />
      ${
        asks &&
        html`
          <${Code} id="sign-code" value=${code} input=${setCode} />
        `
      }
      <div class="actions">
        <button type="submit" class="btn primary" aria-disabled=${busy ? 'true' : undefined}>
          ${t(busy ? 'sign.doing' : 'sign.do')}
        </button>
        ${children}
      </div>
    </form>
  `
}

export function SignInPage({ done }) {
  useEffect(() => {
    document.title = [t('sign.title'), boot.clinic.name].filter(Boolean).join(' – ')
  }, [])
  const { logo } = boot.settings
  const [problem, setProblem] = useState(returned && returned !== 'code' && { word: 'sign.with.' + returned })
  const [asks, setAsks] = useState(returned === 'code')
  const failed = problem => {
    if (problem.reason === 'openid_begin') setAsks(false)
    setProblem(problem)
  }
  return html`
    <div class="signin">
      <main>
        <p class="brand">
          ${
            logo
              ? html`
                  <img src=${logo} alt="" />
                `
              : html`
                  <span class="mark" aria-hidden="true">${[...boot.clinic.name][0] || 'H'}</span>
                `
          }
          <bdi>${boot.clinic.name}</bdi>
        </p>
        <h1>${t('sign.title')}</h1>
        ${
          problem &&
          html`
            <${Notice}
              kind="danger"
              role="alert"
              text=${problem.word || said[problem.reason] || (problem.status ? 'sign.failed' : 'sign.offline')}
              params=${{ s: problem.retryAfter, name: boot.signInWith || '' }}
            />
          `
        }
        ${
          asks
            ? html`
                <${CodeForm} done=${done} failed=${failed} />
              `
            : html`
                <${SignInForm} done=${done} />
                <${SignInWith} failed=${failed} />
              `
        }
        <p class="muted">${t('sign.forgot')}</p>
      </main>
      <${Language} />
    </div>
  `
}

// SignInAgain covers the console when the session has expired. All input stays in place, but other people cannot see
// it.
export function SignInAgain({ desk, why, done }) {
  const { user } = desk.store.get().me
  const [problem, setProblem] = useState(null)
  // If the user has signed in again in another window, this console continues.
  useEffect(() => {
    const look = () => {
      if (boot.signInWith && !document.hidden)
        get('/v1/auth/me').then(
          me => {
            if (me.user.id === user.id) done(me)
          },
          () => {},
        )
    }
    addEventListener('focus', look)
    return () => removeEventListener('focus', look)
  }, [])
  return html`
    <${Dialog} title=${t('sign.again')} veil close=${() => {}}>
      <p>${t(why === 'idle' ? 'sign.again.idle' : 'sign.again.why')}</p>
      <${SignInForm} email=${user.email} done=${done}>
        <button type="button" class="textlink" onClick=${desk.signOut}>${t('sign.other')}</button>
      </${SignInForm}>
      ${
        problem &&
        html`
          <${Notice}
            kind="danger"
            role="alert"
            text=${said[problem.reason] || 'sign.failed'}
            params=${{ name: boot.signInWith }}
          />
        `
      }
      <${SignInWith} apart failed=${setProblem} />
    </${Dialog}>
  `
}
