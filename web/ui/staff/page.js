// The console: sign-in, then one page at a time inside the shell. A page is one file that exports Page({desk, rest}),
// and one line of `pages`. `rest` is the part after the page's name in the address, as in #day/2026-11-23. A page
// without an icon is not in the navigation. The calendar is loaded from the start. A page without `Page` is exported by
// more.js, under its id.
import { html, render, useEffect, useState } from '../lib/html.js'
import '../lib/deskicons.js'
import { boot } from '../lib/boot.js'
import { ready as client } from '../lib/client.js'
import { ready as words, t } from '../lib/i18n.js'
import { loadTypeface } from '../lib/typeface.js'
import { useStore } from '../lib/store.js'
import { Notice } from '../lib/notice.js'
import { get, wait } from '../lib/api.js'
import { createDesk } from './desk.js'
import { Dialogs } from './dialogs.js'
import { createIdle, IdleWarning } from './idle.js'
import { SignInAgain, SignInPage } from './signin.js'
import { Shell, Toast } from './shell.js'
import { ownerPages } from './owner.js'
import { Page as Day } from './board.js'
import { Page as List } from './list.js'
import { Page as Month } from './month.js'
import { Page as Week } from './week.js'

const everybody = ['owner', 'reception', 'specialist']

export const pages = [
  { id: 'day', group: 'desk', icon: 'calendar', roles: everybody, covers: ['week', 'month', 'list'], Page: Day },
  { id: 'week', group: 'desk', roles: everybody, Page: Week },
  { id: 'month', group: 'desk', roles: everybody, Page: Month },
  { id: 'list', group: 'desk', roles: everybody, Page: List },
  ...ownerPages,
]

const route = () => {
  const [page, ...rest] = location.hash.slice(1).split('/').map(decodeURIComponent)
  return { page, rest }
}
export const go = (...parts) => {
  location.hash = parts.map(encodeURIComponent).join('/')
}

function Console({ desk, idle }) {
  const [at, setAt] = useState(route),
    [loaded, setLoaded] = useState(null)
  const locked = useStore(desk.store, s => s.locked),
    seconds = useStore(desk.store, s => s.idle)
  const mine = pages.filter(p => p.roles.includes(desk.role))
  const page = mine.find(p => p.id === at.page) || mine[0]
  useEffect(() => {
    const move = () => setAt(route())
    addEventListener('hashchange', move)
    return () => removeEventListener('hashchange', move)
  }, [])
  // On every page, the navigation shows how many bookings, callers and outbound calls wait for the desk. The board is
  // drawn before the console fetches these numbers.
  useEffect(() => {
    const ask = () => {
      if (!document.hidden)
        get('/v1/requests').then(
          x => desk.requests(x.requests),
          () => {},
        )
    }
    const count = async () => {
      if (document.hidden) return
      const number = (path, of) => get(path).then(of, () => 0)
      const [waitlist, queue, sessions] = await Promise.all([
        desk.front && number('/v1/waitlist', x => x.waiting.length),
        desk.front && number('/v1/queue-status?kind=all&limit=1', x => x.failed),
        number('/v1/sessions?status=requested&limit=200', x => x.sessions.length),
      ])
      desk.patch({ counts: { waitlist, queue, sessions } })
    }
    const timers = [setInterval(ask, 20000), setInterval(count, 30000)]
    desk.drawn.then(ask).then(() => timers.push(setTimeout(count, 3000)))
    return () => timers.forEach(clearInterval)
  }, [])
  useEffect(() => {
    if (page.Page) return
    let here = true
    const load = async () => {
      for (;;) {
        const more = await import('../staff/more.js').catch(() => null)
        if (!here) return
        if (more) return setLoaded({ id: page.id, Page: more[page.id] })
        await wait(1500)
      }
    }
    load()
    return () => {
      here = false
    }
  }, [page.id])
  const again = me => {
    idle.again(me)
    desk.signedIn(me)
  }
  const Page = page.Page || (loaded?.id === page.id && loaded.Page)
  return html`
    <${Shell} desk=${desk} pages=${mine} here=${page.id}>
      ${
        Page &&
        html`
          <${Page} key=${page.id} desk=${desk} rest=${at.page === page.id ? at.rest : []} />
        `
      }
    </${Shell}>
    <${Dialogs} desk=${desk} />
    <${Toast} desk=${desk} />
    ${
      seconds > 0 &&
      !locked &&
      html`
        <${IdleWarning} desk=${desk} idle=${idle} seconds=${seconds} />
      `
    }
    ${
      locked &&
      html`
        <${SignInAgain} desk=${desk} why=${locked} done=${again} />
      `
    }
  `
}

const root = document.getElementById('app')
function open(me) {
  const desk = createDesk(me),
    idle = createIdle(desk)
  desk.start().catch(problem => desk.patch({ problem }))
  idle.start()
  // The first screen needs neither the typeface nor the downtime plan.
  desk.drawn.then(() => {
    loadTypeface()
    setTimeout(() => import('../staff/keep.js').then(x => x.keep(desk)).catch(() => {}), 3000)
  })
  render(
    html`
      <${Console} desk=${desk} idle=${idle} />
    `,
    root,
  )
}

await Promise.all([words, client])
const me = boot.me || (await get('/v1/auth/me').catch(problem => problem))
if (me.user) open(me)
else if (me.code === 'unauthorized') {
  import('../staff/keep.js').then(x => x.ended()).catch(() => {})
  loadTypeface()
  render(
    html`
      <${SignInPage} done=${open} />
    `,
    root,
  )
} else {
  render(
    html`
      <div class="signin">
        <main>
          <${Notice} kind="danger" role="alert" text="start.failed">
            <button type="button" class="btn" onClick=${() => location.reload()}>${t('start.again')}</button>
          </${Notice}>
        </main>
      </div>
    `,
    root,
  )
}
