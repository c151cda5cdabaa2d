// The search by name, email address or phone number in all appointments. Future appointments come first.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { Dialog } from '../lib/dialog.js'
import { Icon } from '../lib/icons.js'
import { t } from '../lib/i18n.js'
import { addDays, dateOf, shortDate, time, write } from '../lib/time.js'
import { go, today } from './daybar.js'
import { specialistName, typeName, who } from './words.js'

export function Search({ desk, close }) {
  const [q, setQ] = useState(''),
    [found, setFound] = useState(null),
    [at, setAt] = useState(0),
    [failed, setFailed] = useState(false)
  const asked = useRef(0),
    s = desk.store.get()
  useEffect(() => {
    const mine = ++asked.current
    if (q.trim().length < 2) return setFound(null)
    const timer = setTimeout(async () => {
      try {
        const text = q.trim(),
          now = today()
        const [coming, earlier, people] = await Promise.all([
          desk.search({ q: text, from: now, limit: 25 }),
          desk.search({ q: text, from: addDays(now, -550), to: now, limit: 500 }),
          desk.findPeople(text).catch(() => []),
        ])
        if (mine !== asked.current) return
        setFailed(false)
        setFound({ coming, earlier: earlier.reverse().slice(0, 25), people })
        setAt(0)
      } catch {
        if (mine === asked.current) setFailed(true)
      }
    }, 150)
    return () => clearTimeout(timer)
  }, [q])
  const all = found ? [...found.coming, ...found.earlier, ...found.people] : []
  const open = a => {
    if (a.appointmentId) return desk.open('person', { id: a.appointmentId })
    if (a.status === 'cancelled') return desk.open('appointment', { id: a.id })
    close()
    desk.patch({ reveal: a.id })
    go('day', dateOf(a.slotStartDate))
  }
  const key = e => {
    if (e.key === 'ArrowDown') setAt(Math.min(all.length - 1, at + 1))
    else if (e.key === 'ArrowUp') setAt(Math.max(0, at - 1))
    else if (e.key === 'Enter' && all[at]) open(all[at])
    else if (e.key === 'Escape')
      close() // otherwise Escape would only clear the field
    else return
    e.preventDefault()
  }
  useEffect(() => {
    document.getElementById('found-' + at)?.scrollIntoView({ block: 'nearest' })
  }, [at])
  const row = (a, i) => html`
    <li
      key=${a.id}
      id=${'found-' + i}
      role="option"
      aria-selected=${i === at ? 'true' : 'false'}
      onClick=${() => open(a)}
      class=${a.status}
    >
      <span class="found-when">
        <b>${shortDate(dateOf(a.slotStartDate))}</b>
        ${' '}${time(a.slotStartDate)}
      </span>
      <span class="found-who">
        <b><bdi>${who(desk, a)}</bdi></b>
        ${
          a.patient?.birthDate &&
          html`
            <span class="muted">${' '}${t('person.born', { date: write('numeric', a.patient.birthDate) })}</span>
          `
        }
      </span>
      <span class="muted">
        ${typeName(s, a.appointmentTypeId)},${' '}
        <bdi>${specialistName(s, a.specialistId)}</bdi>
        ${
          a.status === 'cancelled' &&
          html`
            ,${' '}
            <em>${t('card.cancelled')}</em>
          `
        }
      </span>
    </li>
  `
  const person = (p, i) => html`
    <li
      key=${'p' + p.appointmentId}
      id=${'found-' + i}
      role="option"
      aria-selected=${i === at ? 'true' : 'false'}
      onClick=${() => open(p)}
    >
      <span class="found-when">${t('person.n', { n: p.appointments })}</span>
      <span class="found-who">
        <b><bdi>${who(desk, { patient: p })}</bdi></b>
      </span>
      <span class="muted">
        ${desk.prefs.get().names && [p.birthDate && t('person.born', { date: write('numeric', p.birthDate) }), p.phone].filter(Boolean).join(', ')}
      </span>
    </li>
  `
  const part = (title, list, from) =>
    list.length > 0 &&
    html`
      <li role="presentation" class="found-part">${t(title)}</li>
      ${list.map((a, i) => row(a, from + i))}
    `
  return html`
    <${Dialog} title=${t('search.title')} wide kind="searching" close=${close}>
      <div class="searchbox">
        <${Icon} name="search" />
        <input
          type="search"
          autofocus
          autocomplete="off"
          spellcheck="false"
          value=${q}
          placeholder=${t('search.hint')}
          aria-label=${t('search.hint')}
          role="combobox"
          aria-expanded=${all.length ? 'true' : 'false'}
          aria-controls="found"
          aria-activedescendant=${all.length ? 'found-' + at : undefined}
          onInput=${e => setQ(e.currentTarget.value)}
          onKeyDown=${key}
        />
      </div>
      <p class="sr" role="status">${found ? t('search.found', { n: all.length }) : ''}</p>
      ${
        failed &&
        html`
          <p class="error" role="alert">${t('fail.offline')}</p>
        `
      }
      ${
        found &&
        !all.length &&
        html`
          <p class="muted">${t('search.none', { q: q.trim() })}</p>
        `
      }
      <ul id="found" class="found" role="listbox" aria-label=${t('search.title')}>
        ${
          found &&
          html`
            ${part('search.coming', found.coming, 0)}${part('search.earlier', found.earlier, found.coming.length)}${
              found.people.length > 0 &&
              html`
                <li role="presentation" class="found-part">${t('person.people')}</li>
                ${found.people.map((p, i) => person(p, found.coming.length + found.earlier.length + i))}
              `
            }
          `
        }
      </ul>
    </${Dialog}>
  `
}
