// The frame of the console: the navigation, and the bar on top of every page.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { boot } from '../lib/boot.js'
import { useStore } from '../lib/store.js'
import { Dialog } from '../lib/dialog.js'
import { Icon } from '../lib/icons.js'
import { t } from '../lib/i18n.js'
import { dateOf, near } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { Language } from './language.js'

const Brand = () => html`
  <p class="brand">
    ${
      boot.settings.logo
        ? html`
            <img src=${boot.settings.logo} alt="" />
          `
        : html`
            <span class="mark" aria-hidden="true">${[...boot.clinic.name][0] || 'H'}</span>
          `
    }
    <bdi>${boot.clinic.name}</bdi>
  </p>
`

// The pages come in groups. A page that this role can't use is not shown.
function Menu({ desk, pages, here, done }) {
  const groups = [...new Set(pages.filter(p => p.group !== 'me').map(p => p.group))]
  const { user } = useStore(desk.store, s => s.me),
    asked = useStore(desk.store, s => s.asked),
    plan = useStore(desk.store, s => s.plan)
  return html`
    <${Brand} />
    <nav aria-label=${t('nav.title')}>
      ${groups.map(
        group => html`
          <ul key=${group} aria-label=${t('nav.' + group)}>
            ${pages
              .filter(p => p.group === group && p.icon)
              .map(
                p => html`
                  <li key=${p.id}>
                    <a
                      href=${'#' + p.id}
                      aria-current=${p.id === here || p.covers?.includes(here) ? 'page' : undefined}
                      onClick=${done}
                    >
                      <${Icon} name=${p.icon} />
                      ${t('nav.' + p.id)}${
                        p.id === 'requests' &&
                        asked > 0 &&
                        html`
                          ${' '}
                          <span class="flag">${t('req.waiting', { n: asked })}</span>
                        `
                      }${
                        p.id === 'plan' &&
                        plan?.madeAt &&
                        html`
                          ${' '}
                          <small class="since">
                            ${t('plan.since', { when: near(Date.parse(plan.madeAt), dateOf(serverNow())) })}
                          </small>
                        `
                      }
                    </a>
                  </li>
                `,
              )}
          </ul>
        `,
      )}
    </nav>
    <div class="me">
      <p>
        <a href="#account" aria-current=${here === 'account' ? 'page' : undefined} onClick=${done}>
          <b><bdi>${user.name || user.email}</bdi></b>
          <span class="sr">, ${t('nav.account')}</span>
        </a>
        <span class="muted">${t('role.' + user.role)}</span>
      </p>
      <button type="button" class="btn quiet" onClick=${desk.signOut}>
        <${Icon} name="leave" flip />
        ${t('sign.out')}
      </button>
      <${Language} />
    </div>
  `
}

export function Shell({ desk, pages, here, children }) {
  const open = useStore(desk.store, s => s.menu)
  const close = () => desk.patch({ menu: false })
  return html`
    <div class="desk">
      <a
        class="skip"
        href="#main"
        onClick=${e => {
          e.preventDefault()
          document.querySelector('main h1')?.focus()
        }}
      >
        ${t('skip')}
      </a>
      <aside class="side"><${Menu} desk=${desk} pages=${pages} here=${here} /></aside>
      ${
        open &&
        html`
          <${Dialog} title=${t('nav.menu')} kind="drawer" close=${close}>
            <${Menu} desk=${desk} pages=${pages} here=${here} done=${close} />
          </${Dialog}>
        `
      }
      <main id="main">${children}</main>
    </div>
  `
}

// Toolbar is the first line of a page. It has the button for the navigation, for screens where the navigation is
// hidden.
let first = true
export function Toolbar({ desk, title, name, kind = '', children }) {
  const ref = useRef()
  useEffect(() => {
    if (!first) ref.current.focus({ preventScroll: true })
    first = false
  }, [name])
  useEffect(() => {
    document.title = [title, boot.clinic.name].filter(Boolean).join(' – ')
  }, [title])
  return html`
    <header class=${'toolbar ' + kind}>
      <button
        type="button"
        class="btn quiet square menu"
        aria-label=${t('nav.menu')}
        onClick=${() => desk.patch({ menu: true })}
      >
        <${Icon} name="menu" />
      </button>
      <h1 tabindex="-1" ref=${ref}>${title}</h1>
      ${children}
    </header>
  `
}

// LinkState shows whether the page is live.
export function LinkState({ desk }) {
  const link = useStore(desk.store, s => s.link),
    n = useStore(desk.store, bookingNow),
    plan = useStore(desk.store, s => s.plan)
  const word = t('live.' + (link || 'connecting'))
  return html`
    <p class="live" data-link=${link} role="status">
      <span class="dot" aria-hidden="true"></span>
      ${link === 'live' && n ? t('live.booking', { n }) : word}${
        link !== 'live' &&
        plan?.madeAt &&
        html`
          ${' '}
          <a href="/staff/plan">${t('plan.last')}</a>
        `
      }
    </p>
  `
}
const bookingNow = s =>
  Object.values(s.holds).reduce((n, all) => n + Object.values(all).filter(h => !h.own && !h.done).length, 0)

// Toast shows what has just happened, with a next step or an undo button. Errors stay until the user closes them. An
// undo button stays as long as the undo is possible.
export function Toast({ desk }) {
  const toast = useStore(desk.store, s => s.toast)
  const [gone, setGone] = useState(0)
  useEffect(() => {
    if (!toast || (toast.act && !toast.act.ms)) return
    const timer = setTimeout(() => setGone(toast.n), toast.act?.ms || 6000)
    return () => clearTimeout(timer)
  }, [toast])
  const there = toast && toast.n !== gone
  return html`
    <div class="toasts" role="status">
      ${
        there &&
        html`
          <div class=${'toast ' + (toast.act?.kind || '')} key=${toast.n}>
            <p>${t(toast.key, toast.params)}</p>
            ${
              toast.act?.run &&
              html`
                <button
                  type="button"
                  class="btn"
                  onClick=${() => {
                    setGone(toast.n)
                    toast.act.run()
                  }}
                >
                  ${t(toast.act.key)}${
                    toast.act.hint &&
                    html`
                      ${' '}
                      <kbd aria-hidden="true">${toast.act.hint}</kbd>
                    `
                  }
                </button>
              `
            }
            <button type="button" class="btn quiet square" aria-label=${t('close')} onClick=${() => setGone(toast.n)}>
              <${Icon} name="close" />
            </button>
          </div>
        `
      }
    </div>
  `
}
