// The signed-in user's own account: the password, the second factor, the external calendar, and the browsers that are
// signed in.
import { html, useRef, useState } from '../lib/html.js'
import { del, get, post, put } from '../lib/api.js'
import { t } from '../lib/i18n.js'
import { path } from '../lib/qr.js'
import { useStore } from '../lib/store.js'
import { dayAndTime } from '../lib/time.js'
import { Copy } from './copy.js'
import { Elsewhere } from './elsewhere.js'
import { Feed } from './feed.js'
import { Language } from '../lib/language.js'
import { Busy, Confirm, Errors, listed, Office, State, useAsk, useSend } from './office.js'
import { Code, Secret } from './secret.js'

const least = 12

// Plate is one form of the page, with its error summary and its submit button.
function Plate({ title, lead, sending, ids, submit, action, children, danger }) {
  const errors = listed(sending.errors, ids)
  return html`
    <form
      class="plate setting own"
      novalidate
      onSubmit=${e => {
        e.preventDefault()
        submit()
      }}
    >
      <h2>${title}</h2>
      ${
        lead &&
        html`
          <p class="muted">${lead}</p>
        `
      }
      <${Errors} errors=${errors} n=${sending.n} problem=${sending.problem} />
      ${children}
      <div class="actions">
        ${
          danger
            ? html`
                <button type="submit" class="btn" aria-disabled=${sending.busy ? 'true' : undefined}>${action}</button>
              `
            : html`
                <${Busy} busy=${sending.busy}>${action}</${Busy}>
              `
        }
      </div>
    </form>
  `
}

function Password({ desk, done }) {
  const empty = { current: '', next: '' }
  const [form, setForm] = useState(empty),
    sending = useSend(desk),
    e = sending.errors
  const set = name => value => setForm(f => ({ ...f, [name]: value }))
  const submit = async () => {
    const wrong = {}
    if (!form.current) wrong.current = t('me.current.err')
    if ([...form.next].length < least) wrong.new = t('users.password.err', { n: least })
    if (Object.keys(wrong).length) return sending.refuse(wrong)
    if (!(await sending.send(() => post('/v1/auth/password', { current: form.current, new: form.next })))) return
    // Store the downtime plan again, so that the new password opens it.
    import('../staff/keep.js')
      .then(async x => {
        await x.signedIn(desk.store.get().me, form.next)
        await x.take(desk)
      })
      .catch(() => {})
    setForm(empty)
    desk.toast('me.password.done')
    done()
  }
  return html`
    <${Plate}
      title=${t('me.password')}
      lead=${t('me.password.lead')}
      sending=${sending}
      ids=${{ current: 'me-current', new: 'me-new' }}
      submit=${submit}
      action=${t('me.password.do')}
    >
      <input type="hidden" autocomplete="username" value=${desk.store.get().me.user.email} />
      <${Secret}
        id="me-current"
        label=${t('me.current')}
        error=${e.current}
        value=${form.current}
        input=${set('current')}
        autocomplete="current-password"
      />
      <${Secret}
        id="me-new"
        label=${t('users.password.new')}
        hint=${t('me.new.hint', { n: least })}
        error=${e.new}
        value=${form.next}
        input=${set('next')}
        autocomplete="new-password"
      />
    </${Plate}>
  `
}

// TwoSteps turns the second factor on or off. Before it turns it on, a code must prove that the app has the secret.
function TwoSteps({ desk, on, done }) {
  const empty = { code: '', password: '' }
  const [begun, setBegun] = useState(null),
    [form, setForm] = useState(empty),
    sending = useSend(desk),
    e = sending.errors
  const square = useRef(null)
  const set = name => value => setForm(f => ({ ...f, [name]: value }))
  const begin = async () => {
    const answer = await sending.send(() => post('/v1/auth/totp'))
    if (!answer) return
    square.current = path(answer.uri)
    setBegun(answer)
  }
  const finish = async change => {
    const wrong = {}
    if (!/^\d{6}$/.test(form.code.replace(/\s/g, ''))) wrong.code = t('me.code.err')
    if (!form.password) wrong.password = t('me.current.err')
    if (Object.keys(wrong).length) return sending.refuse(wrong)
    if (!(await sending.send(change))) return
    setBegun(null)
    setForm(empty)
    desk.toast(on ? 'me.totp.off' : 'me.totp.on')
    done()
  }
  const ids = { code: 'me-code', password: 'me-proof', secret: 'me-code', currentCode: 'me-code' }
  const fields = html`
    <div class="duo">
      <${Code}
        id="me-code"
        label=${t(on ? 'sign.code' : 'me.code')}
        error=${e.code}
        value=${form.code}
        input=${set('code')}
      />
      <${Secret}
        id="me-proof"
        label=${t('me.current')}
        error=${e.password}
        value=${form.password}
        input=${set('password')}
        autocomplete="current-password"
      />
    </div>
  `
  const state = html`
    <p>
      <${State} kind=${on ? 'ok' : 'warn'} icon=${on ? 'check' : 'alert'}>
        ${t(on ? 'me.totp.is' : 'me.totp.isnot')}
      </${State}>
    </p>
  `
  if (on)
    return html`
      <${Plate}
        title=${t('me.totp')}
        lead=${t('me.totp.lead')}
        sending=${sending}
        ids=${ids}
        danger
        submit=${() => finish(() => del('/v1/auth/totp', { password: form.password, code: form.code }))}
        action=${t('me.totp.end')}
      >
        ${state}${fields}
      </${Plate}>
    `
  if (!begun)
    return html`
      <${Plate}
        title=${t('me.totp')}
        lead=${t('me.totp.lead')}
        sending=${sending}
        submit=${begin}
        action=${t('me.totp.begin')}
      >
        ${state}
      </${Plate}>
    `
  const { size, d } = square.current
  return html`
    <${Plate}
      title=${t('me.totp')}
      lead=${t('me.totp.scan')}
      sending=${sending}
      ids=${ids}
      submit=${() => finish(() => put('/v1/auth/totp', { secret: begun.secret, code: form.code, password: form.password }))}
      action=${t('me.totp.do')}
    >
      <div class="scan">
        <svg class="qr" viewBox=${`0 0 ${size} ${size}`} role="img" aria-label=${t('me.totp.qr')}><path d=${d} /></svg>
      </div>
      <${Copy} id="me-secret" label=${t('me.totp.secret')} value=${begun.secret} code />
      ${fields}
    </${Plate}>
  `
}

// The browser and the system of a user agent, by their usual names. The order matters: the user agents of Edge and
// Opera contain "Chrome", and Chrome's contains "Safari".
const browsers = [
  ['Edge', /Edg/],
  ['Opera', /OPR\//],
  ['Firefox', /Firefox|FxiOS/],
  ['Chrome', /Chrome|CriOS/],
  ['Safari', /Safari/],
]
const systems = [
  ['iPhone', /iPhone/],
  ['iPad', /iPad/],
  ['Android', /Android/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X/],
  ['ChromeOS', /CrOS/],
  ['Linux', /Linux/],
]
const named = (list, text) => list.find(([, is]) => is.test(text))?.[0]
function deviceOf(userAgent) {
  const browser = named(browsers, userAgent),
    system = named(systems, userAgent)
  return browser && system
    ? t('me.device', { browser, system })
    : browser || system || userAgent.slice(0, 60) || t('me.device.unknown')
}

function SignIns({ desk, asked }) {
  const [ending, setEnding] = useState(null)
  const list = asked.data.signIns,
    others = list.filter(x => !x.current)
  const end = async x => {
    try {
      await del('/v1/auth/sign-ins' + (x ? '/' + x.id : ''))
    } catch (problem) {
      if (problem.status !== 404) throw problem
    }
    desk.toast(x ? 'me.ended' : 'me.ended.all')
    asked.again()
  }
  return html`
    <section class="plate setting" aria-labelledby="me-devices">
      <h2 id="me-devices">${t('me.devices')}</h2>
      <p class="muted">${t('me.devices.lead')}</p>
      <ul class="lines inner">
        ${list.map(
          x => html`
            <li class="line" key=${x.id}>
              <div class="line-main">
                <p class="line-title">
                  <b><bdi>${deviceOf(x.userAgent)}</bdi></b>
                </p>
                <p class="line-facts">
                  ${
                    x.current &&
                    html`
                      <${State} kind="ok" icon="check">${t('me.this')}</${State}>
                    `
                  }
                  <span class="muted">${t('me.since', { when: dayAndTime(x.createdAt) })}</span>
                  <span class="muted">${t('users.last', { when: dayAndTime(x.lastSeenAt) })}</span>
                </p>
              </div>
              ${
                !x.current &&
                html`
                  <div class="line-do">
                    <button
                      type="button"
                      class="btn"
                      aria-label=${`${t('me.end')}: ${deviceOf(x.userAgent)}, ${dayAndTime(x.createdAt)}`}
                      onClick=${() => setEnding(x)}
                    >
                      ${t('me.end')}
                    </button>
                  </div>
                `
              }
            </li>
          `,
        )}
      </ul>
      ${
        others.length > 0 &&
        html`
          <div class="actions">
            <button type="button" class="btn" onClick=${() => setEnding({})}>
              ${t('me.end.all', { n: others.length })}
            </button>
          </div>
        `
      }
      ${
        ending &&
        html`
          <${Confirm}
            desk=${desk}
            title=${t(ending.id ? 'me.end' : 'me.end.others')}
            text=${ending.id ? t('me.end.text', { device: deviceOf(ending.userAgent) }) : t('me.end.all.text')}
            action=${t('me.end')}
            close=${() => setEnding(null)}
            run=${() => end(ending.id ? ending : null)}
          />
        `
      }
    </section>
  `
}

export function Page({ desk }) {
  const { user } = useStore(desk.store, s => s.me)
  const asked = useAsk(desk, () => get('/v1/auth/sign-ins'))
  // A new password or second factor signs out all other browsers, so fetch the list again. /v1/auth/me returns whether
  // a second factor is on.
  const done = () => {
    asked.again()
    desk
      .call(() => get('/v1/auth/me'))
      .then(
        me => desk.patch({ me }),
        () => {},
      )
  }
  return html`
    <${Office}
      desk=${desk}
      name="account"
      form
      lead=${t('me.lead', { name: user.name || user.email, email: user.email })}
      ask=${asked}
    >
      <section class="plate">
        <h2>${t('language')}</h2>
        <${Language} />
      </section>
      <${Password} desk=${desk} done=${done} />
      <${TwoSteps} desk=${desk} on=${user.totp} key=${String(user.totp)} done=${done} />
      ${
        user.specialistId &&
        html`
          <${Feed} desk=${desk} specialistId=${user.specialistId} />
          <${Elsewhere} desk=${desk} specialistId=${user.specialistId} />
        `
      }
      ${
        asked.data &&
        html`
          <${SignIns} desk=${desk} asked=${asked} />
        `
      }
    </${Office}>
  `
}
