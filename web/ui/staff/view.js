// The settings for how this screen shows the day, and the list of keyboard shortcuts for the board.
import { html } from '../lib/html.js'
import { Dialog } from '../lib/dialog.js'
import { Icon } from '../lib/icons.js'
import { beep } from '../lib/beep.js'
import { useStore } from '../lib/store.js'
import { t } from '../lib/i18n.js'
import { captions } from './words.js'

const Switch = ({ on, set, label, hint }) => html`
  <label class="check">
    <input type="checkbox" role="switch" checked=${on} onChange=${e => set(e.currentTarget.checked)} />
    <span>
      ${label}${
        hint &&
        html`
          <small>${hint}</small>
        `
      }
    </span>
  </label>
`

export function View({ desk, close }) {
  const p = useStore(desk.prefs),
    s = useStore(desk.store)
  const people = s.specialists.filter(x => x.active && x.id !== desk.own)
  const toggle = id => on => desk.prefs.set({ hidden: on ? p.hidden.filter(x => x !== id) : [...p.hidden, id] })
  return html`
    <${Dialog} title=${t('set.title')} close=${close}>
      <div class="stack">
        <${Switch}
          label=${t('names.hide')}
          hint=${t('names.hint')}
          on=${!p.names}
          set=${on => desk.prefs.set({ names: !on })}
        />
        <${Switch}
          label=${t('set.sound')}
          hint=${t('set.sound.hint')}
          on=${p.sound}
          set=${on => {
            desk.prefs.set({ sound: on })
            if (on) beep()
          }}
        />
        <${Switch} label=${t('set.compact')} on=${p.compact} set=${on => desk.prefs.set({ compact: on })} />
        <${Switch}
          label=${t('set.keys')}
          hint=${t('set.keys.hint')}
          on=${p.keys}
          set=${on => desk.prefs.set({ keys: on })}
        />
        ${
          people.length > 1 &&
          html`
            <fieldset class="pickers">
              <legend>${t('set.columns')}</legend>
              ${people.map(
                x => html`
                  <label class="check" key=${x.id}>
                    <input
                      type="checkbox"
                      checked=${!p.hidden.includes(x.id)}
                      onChange=${e => toggle(x.id)(e.currentTarget.checked)}
                    />
                    <bdi>${x.name}</bdi>
                  </label>
                `,
              )}
            </fieldset>
          `
        }
        <footer class="actions">
          <button
            type="button"
            class="btn"
            onClick=${() => {
              close()
              setTimeout(() => print(), 50)
            }}
          >
            <${Icon} name="print" />
            ${t('set.print')}
          </button>
          <button type="button" class="btn" onClick=${() => desk.open('keys')}>${t('keys.title')}</button>
        </footer>
      </div>
    </${Dialog}>
  `
}

/** @type {any[]} */
const table = [
  [
    'keys.board',
    [
      ['↑ ↓', 'keys.step'],
      ['← →', 'keys.side'],
      ['PgUp PgDn', 'keys.hour'],
      ['Home End', 'keys.ends'],
      ['Enter', 'keys.enter'],
      ['Shift Enter', 'keys.menu'],
      ['Shift ↓', 'keys.range'],
      ['A … Z', 'keys.type'],
    ],
  ],
  [
    'keys.card',
    [
      ['1', 'att.expected'],
      ['2', 'att.arrived'],
      ['3', 'att.in_progress'],
      ['4', 'att.completed'],
      ['5', 'att.no_show'],
      ['M', 'menu.move'],
      ['E', 'menu.correct'],
      ['Del', 'menu.cancel'],
    ],
  ],
  [
    'keys.day',
    [
      [', .', 'keys.days'],
      ['0', 'day.today'],
      ['/', 'search.title'],
      ['+', 'find.title'],
      ['!', 'news.title'],
      ['Ctrl Z', 'keys.undo'],
      ['?', 'keys.title'],
    ],
  ],
]
export function Keys({ desk, close }) {
  const on = useStore(desk.prefs, p => p.keys)
  return html`
    <${Dialog} title=${t('keys.title')} wide close=${close}>
      <div class="keys">
        ${table.map(
          ([title, rows]) => html`
            <section key=${title}>
              <h3>${t(title)}</h3>
              <dl>
                ${rows.map(
                  ([keys, what]) => html`
                    <div key=${keys}>
                      <dt>
                        ${captions(keys).map(k =>
                          k === '…'
                            ? ' … '
                            : html`
                                <kbd>${k}</kbd>
                              `,
                        )}
                      </dt>
                      <dd>${t(what)}</dd>
                    </div>
                  `,
                )}
              </dl>
            </section>
          `,
        )}
      </div>
      <${Switch} label=${t('set.keys')} hint=${t('set.keys.hint')} on=${on} set=${keys => desk.prefs.set({ keys })} />
    </${Dialog}>
  `
}
