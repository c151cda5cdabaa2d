// The person's past and future appointments at this clinic, in the dialog of an appointment. The history shows missed
// appointments, and lets the desk answer "when was I here last?".
import { html, useEffect, useState } from '../lib/html.js'
import { Icon } from '../lib/icons.js'
import { t } from '../lib/i18n.js'
import { dateOf, dayAndTime } from '../lib/time.js'
import { go } from './daybar.js'
import { specialistName, typeName } from './words.js'

const few = 4

// Past is one appointment of a list. Its time links to the day, or to the card if the appointment is cancelled. back is
// the view that the card can return to.
export function Past({ desk, a, at, back, close }) {
  const s = desk.store.get()
  const show = () => {
    if (a.status === 'cancelled') return desk.open('appointment', { id: a.id, back })
    close()
    desk.patch({ reveal: a.id })
    go('day', dateOf(Date.parse(a.slotStartDate)))
  }
  return html`
    <li>
      <button type="button" class="textlink" onClick=${show}>${at}</button>
      <span>
        ${typeName(s, a.appointmentTypeId)},${' '}
        <bdi>${specialistName(s, a.specialistId)}</bdi>
        ${
          a.status === 'cancelled'
            ? html`
                ${' '}
                <em>${t('card.cancelled')}</em>
              `
            : a.attendance === 'no_show' &&
              html`
                ${' '}
                <b class="missed">
                  <${Icon} name="close" />
                  ${t('att.no_show')}
                </b>
              `
        }
      </span>
    </li>
  `
}

export function History({ desk, id, version, close }) {
  const [h, setHistory] = useState(null),
    [all, setAll] = useState(false),
    [open, setOpen] = useState(false)
  useEffect(() => {
    let here = true
    desk.history(id).then(
      x => {
        if (here) setHistory(x)
      },
      () => {},
    ) // ignore a failure: the dialog shows the appointment without its history
    return () => {
      here = false
    }
  }, [id, version])
  const others = x => x.id !== id
  const coming = h?.coming.filter(others) || [],
    past = h?.past.filter(others) || [],
    any = coming.length + past.length > 0
  const row = a => html`
    <${Past} key=${a.id} desk=${desk} a=${a} at=${dayAndTime(a.slotStartDate)} close=${close} />
  `
  const shown = all ? past : past.slice(0, few)
  // The summary has one line from the start, so that the answer does not move the content below it.
  return html`
    <details class="history" open=${open} onToggle=${e => setOpen(e.currentTarget.open)}>
      <summary>
        <b>${t('history.title')}</b>
        ${' '}${
          h &&
          html`
            <span class="muted">
              ${any ? t('history.sum', { coming: coming.length, past: past.length }) : t('history.first')}
            </span>
          `
        }${' '}${
          h?.noShows > 0 &&
          html`
            <span class="missed">
              <${Icon} name="close" />
              ${t('history.missed', { n: h.noShows })}
            </span>
          `
        }
      </summary>
      ${
        coming.length > 0 &&
        html`
          <h3>${t('search.coming')}</h3>
          <ul>
            ${coming.map(row)}
          </ul>
        `
      }
      ${
        past.length > 0 &&
        html`
          <h3>${t('search.earlier')}</h3>
          <ul>
            ${shown.map(row)}
          </ul>
        `
      }
      <button type="button" class="textlink" onClick=${() => desk.open('person', { id })}>${t('person.open')}</button>
      ${
        past.length > shown.length &&
        html`
          <button type="button" class="textlink" onClick=${() => setAll(true)}>
            ${t('history.all', { n: past.length })}
          </button>
        `
      }
    </details>
  `
}
