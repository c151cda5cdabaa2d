// The list of all blocks. Blocks that were created together with one form are one line: a week of closing, holidays, a
// course every Wednesday.
import { html, useRef, useState } from '../lib/html.js'
import { serverNow } from '../lib/clock.js'
import { Icon } from '../lib/icons.js'
import { list, t } from '../lib/i18n.js'
import { Notice } from '../lib/notice.js'
import { useStore } from '../lib/store.js'
import { dateOf, shortDate } from '../lib/time.js'
import { Confirm, Office, Nothing } from './office.js'
import { saySpan, specialistName } from './words.js'
import { Plus } from './record.js'
import { textOf } from './textfile.js'

// setsIn groups the blocks that were created with one form. It leaves out groups that have ended.
function setsIn(s, reaches, now) {
  const sets = new Map()
  for (const [id, hours] of Object.entries(s.hours)) {
    if (!reaches(id)) continue
    for (const b of hours.blocks) {
      const key = b.setId || b.id,
        set = sets.get(key) || { key, id: b.id, setId: b.setId, titles: [], people: [], spans: [], end: 0 }
      if (b.reason && !set.titles.includes(b.reason)) set.titles.push(b.reason)
      if (!set.people.includes(id)) set.people.push(id)
      if (!set.spans.some(x => x.start === b.start && x.end === b.end)) set.spans.push(b)
      set.end = Math.max(set.end, b.end)
      sets.set(key, set)
    }
  }
  for (const set of sets.values()) set.spans.sort((a, b) => a.start - b.start)
  return [...sets.values()].filter(x => x.end > now).sort((a, b) => a.spans[0].start - b.spans[0].start)
}
// said returns the text for the first span of a set.
const said = x => saySpan(x.spans[0].start, x.spans[0].end)

export function Page({ desk }) {
  const s = useStore(desk.store),
    [dropping, setDropping] = useState(null),
    [wrong, setWrong] = useState(''),
    file = useRef()
  const sets = setsIn(s, desk.reaches, serverNow()),
    everybody = s.specialists.filter(x => x.active).length
  const read = async e => {
    const [chosen] = e.currentTarget.files
    e.currentTarget.value = ''
    if (!chosen) return
    setWrong('')
    try {
      const days = await desk.holidays(await textOf(chosen))
      if (days.length) desk.open('closing', { days })
      else setWrong(t('closed.empty'))
    } catch (problem) {
      const said = problem.errors?.[0]?.message
      setWrong(said === t('bad.other') ? t('closed.unfit') : said || t('fail.other'))
    }
  }
  return html`
    <${Office}
      desk=${desk}
      name="closed"
      lead=${t('closed.lead')}
      tools=${html`
        <button type="button" class="btn" onClick=${() => file.current.click()}>
          <${Icon} name="calendar" />
          ${t('closed.import')}
        </button>
        <input
          type="file"
          ref=${file}
          hidden
          accept=".ics,text/calendar"
          aria-label=${t('closed.import')}
          onChange=${read}
        />
        <${Plus} primary label="closed.add" onClick=${() => desk.open('closing', {})} />
      `}
    >
      ${
        wrong &&
        html`
          <${Notice} kind="danger" role="alert" text=${[t('closed.wrong'), ' ', wrong]} />
        `
      }
      ${
        sets.length
          ? html`
              <ul class="lines">
                ${sets.map(
                  x => html`
                    <li class="line" key=${x.key}>
                      <div class="line-main">
                        <p class="line-title">
                          <b>
                            ${x.titles.length ? list(x.titles.slice(0, 3)) : t('closed.blocked')}${x.titles.length > 3 && ' …'}
                          </b>
                        </p>
                        <p class="line-facts">
                          <span>${said(x)}</span>
                          ${
                            x.spans.length > 1 &&
                            html`
                              <span class="muted">
                                ${t('closed.more', { n: x.spans.length - 1, last: shortDate(dateOf(x.spans.at(-1).start)) })}
                              </span>
                            `
                          }
                          <span>
                            <bdi>
                              ${x.people.length >= everybody && everybody > 1 ? t('list.everybody') : list(x.people.slice(0, 3).map(id => specialistName(s, id)))}
                            </bdi>
                            ${x.people.length < everybody && x.people.length > 3 && ` +${x.people.length - 3}`}
                          </span>
                        </p>
                      </div>
                      <div class="line-do">
                        <button
                          type="button"
                          class="btn"
                          aria-label=${`${t('way.title')}: ${x.titles[0] || said(x)}`}
                          onClick=${() => desk.open('inTheWay', { id: x.id })}
                        >
                          ${t('way.title')}
                        </button>
                        <button
                          type="button"
                          class="btn quiet"
                          aria-label=${`${t('over.remove')}: ${x.titles[0] || said(x)}`}
                          onClick=${() => setDropping(x)}
                        >
                          <${Icon} name="trash" />
                          ${t('over.remove')}
                        </button>
                      </div>
                    </li>
                  `,
                )}
              </ul>
            `
          : s.ready &&
            html`
              <${Nothing} icon="stop" label="closed.add" add=${() => desk.open('closing', {})}>
                ${t('closed.none')}
              </${Nothing}>
            `
      }
      ${
        dropping &&
        html`
          <${Confirm}
            desk=${desk}
            title=${t('over.remove')}
            text=${t('closed.remove', { title: dropping.titles[0] || said(dropping), n: dropping.spans.length })}
            action=${t('over.remove')}
            close=${() => setDropping(null)}
            run=${async () => {
              await (dropping.setId ? desk.dropBlocks(dropping.setId) : desk.dropBlock(dropping.spans[0]))
              desk.toast('over.removed')
            }}
          />
        `
      }
    </${Office}>
  `
}
