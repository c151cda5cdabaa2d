// A person's card: past and future appointments, the desk's notes about the person, and other spellings of the name.
// The API identifies the person by any of the person's appointments.
import { html, useEffect, useState } from '../lib/html.js'
import { Dialog } from '../lib/dialog.js'
import { Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { Notice } from '../lib/notice.js'
import { t } from '../lib/i18n.js'
import { dateOf, dayAndTime, shortDate, write } from '../lib/time.js'
import { Past } from './history.js'
import { Failed, useChange } from './move.js'
import { RecallRow, isDue } from './recall.js'
import { failKey, typeName, who } from './words.js'

const few = 8
export const described = p =>
  [p.birthDate && write('numeric', p.birthDate), p.phone, p.email].filter(Boolean).join(' · ')

// recallsOf returns the appointments with a coming recall or, if there are none, the latest one, so that the desk can add
// a recall to it.
function recallsOf(h) {
  const all = [...(h?.past || []), ...(h?.coming || [])].filter(a => a.status !== 'cancelled'),
    due = [...(h?.past || []), ...(h?.coming || [])].filter(isDue)
  return due.length ? due : all.slice(0, 1)
}

export function Person({ desk, id, close }) {
  const [h, setHistory] = useState(null),
    [failed, setFailed] = useState(null),
    [note, setNote] = useState(''),
    [merging, setMerging] = useState(false)
  const load = () => desk.history(id).then(setHistory, setFailed)
  useEffect(() => {
    load()
  }, [id])
  const change = useChange(async ({ run }, key) => {
    await run(key)
    await load()
  })
  const add = e => {
    e.preventDefault()
    if (note.trim())
      change.go({
        note: note.trim(),
        n: h?.notes.length,
        run: async key => {
          await desk.note(id, note.trim(), key)
          setNote('')
        },
      })
  }
  const row = a => html`
    <${Past}
      key=${a.id}
      desk=${desk}
      a=${a}
      at=${dayAndTime(a.slotStartDate)}
      back=${{ kind: 'person', id }}
      close=${close}
    />
  `
  const first = h?.people[0],
    recalled = recallsOf(h)
  return html`
    <${Dialog}
      title=${html`
        <bdi>${first ? who(desk, { patient: first }) : t('person.title')}</bdi>
      `}
      wide
      kind="person-card"
      close=${close}
    >
      ${
        failed &&
        html`
          <${Notice} kind="danger" role="alert" text=${failKey(failed)} />
        `
      }
      ${
        h &&
        html`
          <div class="stack history">
            ${
              desk.prefs.get().names &&
              html`
                <p class="muted">${described(first)}</p>
              `
            }
            <p>
              <span>${t('history.sum', { coming: h.coming.length, past: h.past.length })}</span>
              ${' '}${
                h.noShows > 0 &&
                html`
                  <span class="missed">
                    <${Icon} name="close" />
                    ${t('history.missed', { n: h.noShows })}
                  </span>
                `
              }
            </p>
            <section>
              <h3>${t('person.notes')}</h3>
              <ul>
                ${h.notes.map(
                  n => html`
                    <li key=${n.id}>
                      <span class="notes">${n.text}</span>
                      ${' '}
                      <span class="muted">${shortDate(dateOf(n.createdAt))}</span>
                      ${
                        desk.role !== 'specialist' &&
                        html`
                          <button
                            type="button"
                            class="textlink"
                            aria-label=${`${t('person.note.drop')}: ${n.text}`}
                            onClick=${() => change.go({ drop: n.id, run: () => desk.dropNote(n.id) })}
                          >
                            ${t('person.note.drop')}
                          </button>
                        `
                      }
                    </li>
                  `,
                )}
              </ul>
              <form class="with" onSubmit=${add}>
                <${Field} id="person-note" label=${t('person.note')} value=${note} input=${setNote} maxlength="2000" />
                <button type="submit" class="btn">${t('person.note.add')}</button>
              </form>
            </section>
            ${
              h.coming.length > 0 &&
              html`
                <section>
                  <h3>${t('search.coming')}</h3>
                  <ul>
                    ${h.coming.map(row)}
                  </ul>
                </section>
              `
            }
            ${
              h.past.length > 0 &&
              html`
                <section>
                  <h3>${t('search.earlier')}</h3>
                  <ul>
                    ${h.past.slice(0, few).map(row)}
                  </ul>
                </section>
              `
            }
            ${
              recalled.length > 0 &&
              html`
                <section>
                  <h3>${t('rc.title')}</h3>
                  <ul>
                    ${recalled.map(
                      a => html`
                        <li key=${a.id}>
                          <span>${typeName(desk.store.get(), a.appointmentTypeId)}:${' '}</span>
                          <${RecallRow} desk=${desk} a=${a} done=${load} close=${close} />
                        </li>
                      `,
                    )}
                  </ul>
                </section>
              `
            }
            ${
              desk.role !== 'specialist' &&
              html`
                <section>
                  ${
                    h.links.length > 0 &&
                    html`
                      <h3>${t('person.links')}</h3>
                      <ul>
                        ${h.links.map(
                          l => html`
                            <li key=${l.id}>
                              <span><bdi>${l.people.map(p => p.name).join(' = ')}</bdi></span>
                              <button
                                type="button"
                                class="textlink"
                                aria-label=${`${t('person.unlink')}: ${l.people.map(p => p.name).join(', ')}`}
                                onClick=${() => change.go({ unlink: l.id, run: () => desk.unlink(l.id) })}
                              >
                                ${t('person.unlink')}
                              </button>
                            </li>
                          `,
                        )}
                      </ul>
                    `
                  }
                  ${
                    merging
                      ? html`
                          <${Merge}
                            desk=${desk}
                            except=${h}
                            choose=${p => {
                              setMerging(false)
                              change.go({ link: p.appointmentId, run: key => desk.link(id, p.appointmentId, key) })
                            }}
                          />
                        `
                      : html`
                          <button type="button" class="btn quiet" onClick=${() => setMerging(true)}>
                            <${Icon} name="link" />
                            ${t('person.merge')}
                          </button>
                        `
                  }
                </section>
              `
            }
            <${Failed} desk=${desk} problem=${change.problem} a=${null} close=${close} />
            <footer class="actions">
              ${
                first &&
                html`
                  <button
                    type="button"
                    class="btn primary"
                    onClick=${() => desk.open('book', { name: first.name, copy: first, of: id })}
                  >
                    <${Icon} name="plus" />
                    ${t('card.again')}
                  </button>
                `
              }
              <button type="button" class="btn" autofocus onClick=${() => close()}>${t('close')}</button>
              ${
                first &&
                desk.role === 'owner' &&
                html`
                  <button type="button" class="btn quiet" onClick=${() => desk.open('erase', { id })}>
                    ${t('erase.open')}
                  </button>
                `
              }
            </footer>
          </div>
        `
      }
    </${Dialog}>
  `
}

// usePeople returns the people that a search finds. It searches after a short pause in typing.
export function usePeople(desk, q) {
  const [found, setFound] = useState([])
  useEffect(() => {
    if (q.trim().length < 2) return setFound([])
    let here = true
    const timer = setTimeout(
      () =>
        desk.findPeople(q.trim()).then(
          x => {
            if (here) setFound(x)
          },
          () => {},
        ),
      200,
    )
    return () => {
      here = false
      clearTimeout(timer)
    }
  }, [q])
  return found
}

// Merge searches for another spelling of the person. Merging does not change the appointments, and it can be undone.
function Merge({ desk, except, choose }) {
  const [q, setQ] = useState(''),
    found = usePeople(desk, q)
  const here = [...except.coming, ...except.past].map(a => a.id)
  return html`
    <${Field}
      id="person-merge"
      label=${t('person.merge.who')}
      hint=${t('person.merge.hint')}
      value=${q}
      input=${setQ}
      autofocus
    />
    <ul class="merge">
      ${found
        .filter(p => !here.includes(p.appointmentId))
        .map(
          p => html`
            <li key=${p.appointmentId}>
              <button type="button" class="textlink" onClick=${() => choose(p)}><bdi>${p.name}</bdi></button>
              ${' '}
              <span class="muted">${described(p)}</span>
            </li>
          `,
        )}
    </ul>
  `
}
