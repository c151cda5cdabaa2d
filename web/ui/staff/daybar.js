// The bar above day, week and list: the date, the buttons to other dates, the views, and a new booking.
import { html } from '../lib/html.js'
import { Icon } from '../lib/icons.js'
import { t } from '../lib/i18n.js'
import { addDays, dateOf, time } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { useStore } from '../lib/store.js'
import { PickDate } from '../lib/typed.js'
import { Notice } from '../lib/notice.js'
import { NewsButton } from './newsbutton.js'
import { LinkState, Toolbar } from './shell.js'

export const today = () => dateOf(serverNow())
export const go = (...parts) => {
  location.hash = parts.map(encodeURIComponent).join('/')
}

// by is the number of days that an arrow button moves: 1, or 7 for the week. shift replaces it for months. extra comes
// after the dates.
export function DayBar({ desk, view, date, title, by = 1, shift, rest = [], book, extra }) {
  const to = day => go(view, day, ...rest),
    step = n => to(shift ? shift(n) : addDays(date, n * by)),
    unit = shift ? 'month' : by === 7 ? 'week' : 'day'
  const names = useStore(desk.prefs, p => p.names)
  return html`
    <${Toolbar} desk=${desk} title=${title} name=${view} kind=${extra ? 'picked' : ''}>
      <div class="dates">
        <button
          type="button"
          class="btn"
          onClick=${() => to(today())}
          aria-disabled=${date === today() ? 'true' : undefined}
        >
          ${t('day.today')}
        </button>
        <span class="pair">
          <button type="button" class="btn square" aria-label=${t(unit + '.before')} onClick=${() => step(-1)}>
            <${Icon} name="back" flip />
          </button>
          <button type="button" class="btn square" aria-label=${t(unit + '.after')} onClick=${() => step(1)}>
            <${Icon} name="next" flip />
          </button>
        </span>
        <span class="picker">
          <${PickDate} class="btn square" value=${date} pick=${to} />
        </span>
      </div>
      ${extra}
      <div class="tools">
        <${LinkState} desk=${desk} />
        <nav class="seg" aria-label=${t('view.title')}>
          ${['day', 'week', 'month', 'list'].map(
            v => html`
              <a key=${v} href=${'#' + v + '/' + date} aria-current=${v === view ? 'page' : undefined}>
                ${t('view.' + v)}
              </a>
            `,
          )}
        </nav>
        <${NewsButton} desk=${desk} />
        <button
          type="button"
          class="btn quiet finding"
          title=${t('find.title') + ' (+)'}
          onClick=${() => desk.open('find')}
        >
          <${Icon} name="find" />
          <span>${t('find.title')}</span>
        </button>
        <button
          type="button"
          class="btn quiet square"
          aria-label=${t('search.title')}
          title=${t('search.title') + ' (/)'}
          onClick=${() => desk.open('search')}
        >
          <${Icon} name="search" />
        </button>
        ${
          !names &&
          html`
            <button
              type="button"
              class="btn quiet square on"
              aria-label=${t('names.show')}
              title=${t('names.show')}
              onClick=${() => desk.prefs.set({ names: true })}
            >
              <${Icon} name="eyeoff" />
            </button>
          `
        }
        <button
          type="button"
          class="btn quiet square"
          aria-label=${t('set.title')}
          title=${t('set.title')}
          onClick=${() => desk.open('view')}
        >
          <${Icon} name="sliders" />
        </button>
        <button type="button" class="btn primary" onClick=${book}>
          <${Icon} name="plus" />
          <span>${t('book.new')}</span>
        </button>
      </div>
    </${Toolbar}>
  `
}

// Trouble shows why the board is not live. It shows nothing while the board is live.
export function Trouble({ desk }) {
  const link = useStore(desk.store, s => s.link),
    problem = useStore(desk.store, s => s.problem),
    asOf = useStore(desk.store, s => s.asOf)
  const again = () => desk.reload().catch(p => desk.patch({ problem: p }))
  if (link === 'replaced')
    return html`
      <${Notice} kind="warn" icon="info" role="status" text="replaced">
        <button type="button" class="btn" onClick=${desk.takeOver}>${t('replaced.do')}</button>
      </${Notice}>
    `
  if (link === 'offline' || problem?.status === 0)
    return html`
      <${Notice}
        kind="warn"
        icon="offline"
        role="status"
        text=${asOf ? 'board.offline' : 'offline.empty'}
        params=${{ clock: asOf && time(asOf) }}
      />
    `
  return (
    problem &&
    html`
      <${Notice} kind="danger" role="alert" text="board.failed">
        <button type="button" class="btn" onClick=${again}>${t('start.again')}</button>
      </${Notice}>
    `
  )
}
