// The frame of the console: the navigation, and the bar on top of every page.
import { html, useEffect, useLayoutEffect, useRef, useState } from '../lib/html.js'
import { boot } from '../lib/boot.js'
import { useStore } from '../lib/store.js'
import { Dialog } from '../lib/dialog.js'
import { Icon } from '../lib/icons.js'
import { t } from '../lib/i18n.js'
import { dateOf, near } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { Disc } from '../lib/disc.js'
import { captions } from './words.js'

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

// waits returns how many items of a page wait for the desk. The navigation shows the number.
const waits = (s, id) => (id === 'requests' ? s.asked : s.counts?.[id]) || 0

function Link({ desk, page, here, done }) {
  const n = useStore(desk.store, s => waits(s, page.id)),
    plan = useStore(desk.store, s => page.id === 'plan' && s.plan)
  const since = plan?.madeAt && t('plan.since', { when: near(Date.parse(plan.madeAt), dateOf(serverNow())) })
  return html`
    <li>
      <a
        href=${'#' + page.id}
        title=${since ? `${t('nav.plan')}, ${since}` : t('nav.' + page.id)}
        aria-current=${page.id === here || page.covers?.includes(here) ? 'page' : undefined}
        onClick=${done}
      >
        <${Icon} name=${page.icon} />
        <span class="nav-name">${t('nav.' + page.id)}</span>
        ${
          n > 0 &&
          html`
            <span class="flag">
              <span aria-hidden="true">${n > 99 ? '99+' : n}</span>
              <span class="sr">${', ' + t(page.id === 'requests' ? 'req.waiting' : 'nav.waits', { n })}</span>
            </span>
          `
        }
        ${
          since &&
          html`
            <span class="sr">${', ' + since}</span>
          `
        }
      </a>
    </li>
  `
}

// Me shows the signed-in user, with a link to the account and the sign-out button.
function Me({ desk, here, done }) {
  const { user } = useStore(desk.store, s => s.me)
  return html`
    <div class="me">
      <a href="#account" aria-current=${here === 'account' ? 'page' : undefined} onClick=${done}>
        <${Disc} name=${user.name || user.email} />
        <span class="nav-name">
          <b><bdi>${user.name || user.email}</bdi></b>
          <span class="muted">${t('role.' + user.role)}</span>
          <span class="sr">, ${t('nav.account')}</span>
        </span>
      </a>
      <button
        type="button"
        class="btn quiet square"
        aria-label=${t('sign.out')}
        title=${t('sign.out')}
        onClick=${desk.signOut}
      >
        <${Icon} name="leave" flip />
      </button>
    </div>
  `
}

// Menu lists the pages in groups. It does not show a page that the user's role can't use.
function Menu({ desk, pages, here, done }) {
  const groups = [...new Set(pages.filter(p => p.group !== 'me').map(p => p.group))]
  return html`
    <${Brand} />
    <${Me} desk=${desk} here=${here} done=${done} />
    <nav aria-label=${t('nav.title')}>
      ${groups.map(
        group => html`
          <div key=${group} class="nav-group">
            <p class="nav-head" aria-hidden="true">${t('nav.' + group)}</p>
            <ul aria-label=${t('nav.' + group)}>
              ${pages
                .filter(p => p.group === group && p.icon)
                .map(
                  p => html`
                    <${Link} key=${p.id} desk=${desk} page=${p} here=${here} done=${done} />
                  `,
                )}
            </ul>
          </div>
        `,
      )}
    </nav>
  `
}

// Fold is the button that reduces the navigation to its icons, or shows the names again.
function Fold({ desk, slim }) {
  const label = t(slim ? 'nav.wide' : 'nav.slim')
  return html`
    <button
      type="button"
      class="btn quiet fold"
      aria-pressed=${slim ? 'true' : 'false'}
      title=${label}
      onClick=${() => desk.prefs.set({ slim: !slim })}
    >
      <${Icon} name="fold" flip />
      <span class="nav-name">${label}</span>
    </button>
  `
}

export function Shell({ desk, pages, here, children }) {
  const open = useStore(desk.store, s => s.menu),
    slim = useStore(desk.prefs, p => p.slim)
  const close = () => desk.patch({ menu: false })
  return html`
    <div class=${'desk' + (slim ? ' slim' : '')}>
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
      <aside class="side">
        <${Menu} desk=${desk} pages=${pages} here=${here} />
        <${Fold} desk=${desk} slim=${slim} />
      </aside>
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

// Toolbar is the first line of a page. On screens where the navigation is hidden, it has the button that opens it.
let first = true
export function Toolbar({ desk, title, name, kind = '', children }) {
  const ref = useRef()
  // Use a layout effect, so that the heading never takes the focus from what the user has chosen on the new page.
  useLayoutEffect(() => {
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

// LinkState shows whether the page receives live updates.
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
// bookingNow counts the times that someone is booking. A client's hold lasts at most 10 minutes. The holds of requests
// and offers last for hours, so they do not count.
const bookingNow = s =>
  Object.values(s.holds)
    .flatMap(all => Object.values(all))
    .filter(h => !h.own && !h.done && h.expires - h.seen < 3600e3).length

// Toast shows what has just happened, with a next step or an undo button. An error stays until the user closes it. An
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
                      <kbd aria-hidden="true">${captions(toast.act.hint).join(' ')}</kbd>
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
