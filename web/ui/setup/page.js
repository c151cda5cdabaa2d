// The first run, /setup#<token>: the clinic and its owner, the first times to book, and the link to hand out. Each
// screen saves when the owner leaves it. A reload returns to the screen that was open. The token is in the fragment,
// because the browser does not send the fragment to a server.
import { html, render, useEffect, useRef, useState } from '../lib/html.js'
import '../lib/deskicons.js'
import { boot } from '../lib/boot.js'
import { recall, remember } from '../lib/store.js'
import { get, post } from '../lib/api.js'
import { ready as words, t } from '../lib/i18n.js'
import { Language } from '../lib/language.js'
import { loadTypeface } from '../lib/typeface.js'
import { Trouble } from '../lib/trouble.js'
import { setZone } from '../lib/time.js'
import { ready as client } from '../lib/client.js'
import { Clinic } from './clinic.js'
import { First } from './first.js'
import { Mail } from './mail.js'
import { Ready } from './ready.js'

const screens = ['clinic', 'first', 'mail', 'ready']

function Frame({ step, children, wide }) {
  const n = screens.indexOf(step)
  return html`
    <div class=${'setup' + (wide ? ' wide' : '')}>
      <header class="setup-top">
        <p class="brand">
          <span class="mark" aria-hidden="true">H</span>
          Holdfast
        </p>
        ${
          n >= 0 &&
          html`
            <ol class="setup-steps">
              ${screens.map(
                (s, i) => html`
                  <li key=${s} class=${i < n ? 'done' : ''} aria-current=${i === n ? 'step' : undefined}>
                    <b aria-hidden="true">${i + 1}</b>
                    <span>${t('setup.' + s)}</span>
                  </li>
                `,
              )}
            </ol>
          `
        }
      </header>
      <main id="main">${children}</main>
      <footer class="setup-foot">
        <${Language} />
      </footer>
    </div>
  `
}

// Heading receives the focus when the next screen appears.
let first = true
export function Heading({ children }) {
  const ref = useRef()
  useEffect(() => {
    if (!first) {
      scrollTo(0, 0)
      ref.current.focus({ preventScroll: true })
    }
    first = false
    document.title = ref.current.textContent + ' – Holdfast'
  }, [])
  return html`
    <h1 tabindex="-1" ref=${ref}>${children}</h1>
  `
}

function End({ why, problem }) {
  return html`
    <${Frame}>
      <${Heading}>${t('setup.' + why)}</${Heading}>
      ${
        why === 'done'
          ? html`
              <p class="lead">${t('setup.done.lead')}</p>
              <div class="actions"><a class="btn primary big" href="/staff">${t('setup.signin')}</a></div>
            `
          : why === 'dead'
            ? html`
                <p class="lead">${t('setup.dead.lead')}</p>
                <p><code class="command">holdfast setup-url</code></p>
              `
            : html`
                <${Trouble} problem=${problem} />
                <div class="actions">
                  <button type="button" class="btn" onClick=${() => location.reload()}>${t('setup.again')}</button>
                </div>
              `
      }
    </${Frame}>
  `
}

const zoneHere = Intl.DateTimeFormat().resolvedOptions().timeZone

function Setup({ token, start }) {
  const [step, setStep] = useState(start)
  const [clinic, setClinic] = useState(boot.clinic)
  const go = next => {
    remember('setup', next)
    setStep(next)
  }
  const made = next => {
    setClinic(next)
    setZone(next.timezone)
    // The token no longer works, so remove it from the address.
    history.replaceState(null, '', location.pathname + location.search)
    go('first')
  }
  return html`
    <${Frame} step=${step} wide=${step !== 'clinic'}>
      ${
        step === 'clinic'
          ? html`
              <${Clinic} token=${token} zone=${zoneHere} done=${made} />
            `
          : step === 'first'
            ? html`
                <${First} clinic=${clinic} done=${() => go('mail')} />
              `
            : step === 'mail'
              ? html`
                  <${Mail} done=${() => go('ready')} />
                `
              : html`
                  <${Ready} clinic=${clinic} back=${() => go('first')} />
                `
      }
    </${Frame}>
  `
}

const root = document.getElementById('app')
const show = (why, problem) =>
  render(
    html`
      <${End} why=${why} problem=${problem} />
    `,
    root,
  )

async function open() {
  const token = location.hash.slice(1),
    kept = recall('setup')
  let me = null
  try {
    me = await get('/v1/auth/me')
  } catch (problem) {
    if (problem.code !== 'unauthorized') return show('trouble', problem)
  }
  // A new owner continues at the screen that was open. Any other visitor needs the link.
  if (me?.user.role === 'owner' && (kept || !boot.appointmentTypes.length)) {
    return render(
      html`
        <${Setup} start=${screens.includes(kept) && kept !== 'clinic' ? kept : 'first'} />
      `,
      root,
    )
  }
  try {
    await post('/v1/setup/check', { token }, { tries: 3 })
    render(
      html`
        <${Setup} token=${token} start="clinic" />
      `,
      root,
    )
  } catch (problem) {
    show(problem.status === 410 ? 'done' : problem.status === 401 ? 'dead' : 'trouble', problem)
  }
}
loadTypeface()
await Promise.all([words, client])
await open()
