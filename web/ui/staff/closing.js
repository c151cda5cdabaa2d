// The dialog that closes several times in one request: hours or whole days, once or every week, for one, several or all
// specialists. Holidays that were read from a file are many such days. The dialog lists the affected appointments
// before and after closing. After closing, the desk can move these appointments and notify the patients.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { Dialog } from '../lib/dialog.js'
import { Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { Notice } from '../lib/notice.js'
import { useStore } from '../lib/store.js'
import { newKey } from '../lib/api.js'
import { DateInput, TimeInput } from '../lib/typed.js'
import { t } from '../lib/i18n.js'
import { addDays, dateOf, dayAndTime, write, zone } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { Failed, useChange } from './move.js'
import { offer } from './undo.js'
import { failKey, specialistName, typeName, who } from './words.js'

const isDate = text => /^\d{4}-\d\d-\d\d$/.test(text)

export function Closing({ desk, specialistIds, from, start = '', end = '', days, close }) {
  const s = useStore(desk.store),
    people = s.specialists.filter(x => x.active && desk.reaches(x.id)),
    today = dateOf(serverNow())
  const [draft, setDraft] = useState(() => ({
    title: '',
    from: from || today,
    to: from || today,
    whole: !start,
    start: start || '12:00',
    end: end || '13:00',
    people: specialistIds || (desk.own ? [desk.own] : []),
    weekly: false,
    every: '1',
    until: addDays(from || today, 84),
  }))
  // isBlocked reports whether everyone has a block of this title on this day, such as from an earlier import.
  const isBlocked = d =>
    people.every(x =>
      s.hours[x.id]?.blocks.some(
        b => (b.reason || '') === (d.title || '') && dateOf(b.start, x.timezone || zone) === d.from,
      ),
    )
  const [chosen, setChosen] = useState(() => (days || []).map(d => d.to >= today && !isBlocked(d)))
  const [plan, setPlan] = useState(null),
    [failed, setFailed] = useState(null),
    asked = useRef(0)
  const set = change => setDraft(d => ({ ...d, ...change }))
  const span = draft.whole ? {} : { start: draft.start, end: draft.end }
  const spans = days
    ? days.filter((d, i) => chosen[i])
    : [{ ...(draft.title.trim() && { title: draft.title.trim() }), from: draft.from, to: draft.to, ...span }]
  const body = {
    ...(draft.people.length > 0 && { specialistIds: draft.people }),
    spans,
    ...(draft.weekly && !days && { repeat: { everyWeeks: +draft.every, until: draft.until } }),
  }
  const wrong = days
    ? !spans.length
    : !isDate(draft.from) ||
      !isDate(draft.to) ||
      draft.to < draft.from ||
      (!draft.whole && draft.from === draft.to && draft.end <= draft.start) ||
      (draft.weekly && draft.until < draft.from)
  const wish = wrong ? '' : JSON.stringify(body)
  useEffect(() => {
    const mine = ++asked.current
    setPlan(null)
    if (!wish) return
    const timer = setTimeout(
      () =>
        desk.planBlocks(body).then(
          x => {
            if (mine === asked.current) {
              setPlan(x)
              setFailed(null)
            }
          },
          p => {
            if (mine === asked.current) setFailed(p)
          },
        ),
      150,
    )
    return () => clearTimeout(timer)
  }, [wish])
  const change = useChange(async (what, key) => {
    const { block, count } = await desk.closeTime(what, key)
    offer(desk, 'closing.done', { n: count }, () =>
      block.setId ? desk.dropBlocks(block.setId) : desk.dropBlock(block),
    )
    if (plan?.appointments.length) desk.open('inTheWay', { id: block.id })
    else close()
  })
  const submit = e => {
    e.preventDefault()
    if (!wrong) change.go(body)
  }
  const toggle = id =>
    set({ people: draft.people.includes(id) ? draft.people.filter(x => x !== id) : [...draft.people, id] })
  const put = key => e => set({ [key]: e.currentTarget.value })
  return html`
    <${Dialog} title=${t(days ? 'closing.holidays' : 'closing.title')} wide close=${close}>
      <form class="stack" onSubmit=${submit} novalidate>
        ${
          days
            ? html`
                <ul class="occurrences" aria-label=${t('closing.holidays')}>
                  ${days.map(
                    (d, i) => html`
                      <li key=${d.from + d.title}>
                        <label class="check">
                          <input
                            type="checkbox"
                            checked=${chosen[i]}
                            onChange=${() => setChosen(chosen.map((x, n) => (n === i ? !x : x)))}
                          />
                          <span>
                            ${write('fullDay', d.from)}${d.to !== d.from && ` – ${write('fullDay', d.to)}`}${' '}
                            <b>${d.title}</b>
                            ${
                              isBlocked(d) &&
                              html`
                                ${' '}
                                <span class="muted">${t('closed.blocked')}</span>
                              `
                            }
                          </span>
                        </label>
                      </li>
                    `,
                  )}
                </ul>
              `
            : html`
                <${Field}
                  id="closing-title"
                  label=${t('block.reason')}
                  hint=${t('block.reason.hint')}
                  optional
                  value=${draft.title}
                  input=${title => set({ title })}
                  maxlength="500"
                  autofocus
                />
                <div class="two">
                  <${Field} id="closing-from" label=${t('block.from')}>
                    <${DateInput}
                      id="closing-from"
                      value=${draft.from}
                      onInput=${e => set({ from: e.currentTarget.value, to: draft.to < e.currentTarget.value ? e.currentTarget.value : draft.to })}
                    />
                  </${Field}>
                  <${Field} id="closing-to" label=${t('block.to')}>
                    <${DateInput} id="closing-to" value=${draft.to} min=${draft.from} onInput=${put('to')} />
                  </${Field}>
                </div>
                <label class="check">
                  <input
                    type="checkbox"
                    id="closing-whole"
                    checked=${draft.whole}
                    onChange=${e => set({ whole: e.currentTarget.checked })}
                  />
                  <span>${t('closing.whole')}</span>
                </label>
                ${
                  !draft.whole &&
                  html`
                    <div class="two">
                      <${Field} id="closing-start" label=${t('closing.start')}>
                        <${TimeInput} id="closing-start" step="300" value=${draft.start} onInput=${put('start')} />
                      </${Field}>
                      <${Field} id="closing-end" label=${t('closing.end')}>
                        <${TimeInput} id="closing-end" step="300" value=${draft.end} onInput=${put('end')} />
                      </${Field}>
                    </div>
                  `
                }
                <label class="check">
                  <input
                    type="checkbox"
                    id="closing-weekly"
                    checked=${draft.weekly}
                    onChange=${e => set({ weekly: e.currentTarget.checked })}
                  />
                  <span>${t('closing.repeat')}</span>
                </label>
                ${
                  draft.weekly &&
                  html`
                    <div class="two">
                      <${Field} id="closing-every" label=${t('series.every')}>
                        <select id="closing-every" value=${draft.every} onChange=${put('every')}>
                          ${[1, 2, 3, 4].map(
                            n => html`
                              <option key=${n} value=${n}>${t('series.weeks', { n })}</option>
                            `,
                          )}
                        </select>
                      </${Field}>
                      <${Field} id="closing-until" label=${t('closing.until')}>
                        <${DateInput}
                          id="closing-until"
                          value=${draft.until}
                          min=${draft.from}
                          onInput=${put('until')}
                        />
                      </${Field}>
                    </div>
                  `
                }
              `
        }
        ${
          !desk.own &&
          people.length > 1 &&
          html`
            <fieldset class="chips">
              <legend>${t('closing.who')}</legend>
              ${people.map(
                p => html`
                  <label key=${p.id}>
                    <input type="checkbox" checked=${draft.people.includes(p.id)} onChange=${() => toggle(p.id)} />
                    <span class="face"><bdi>${p.name}</bdi></span>
                  </label>
                `,
              )}
            </fieldset>
          `
        }
        ${
          wrong &&
          html`
            <p class="error" role="alert">${t(days ? 'closing.none' : 'block.wrong')}</p>
          `
        }
        <div role="status">
          ${
            plan &&
            html`
              <p class="hint">${t('closing.plan', { n: plan.count })}</p>
            `
          }
          ${
            plan?.appointments.length > 0 &&
            html`
              <${Notice} kind="warn" icon="info" text="block.inside" params=${{ n: plan.appointments.length }}>
                <p>
                  ${plan.appointments
                    .slice(0, 5)
                    .map(a => `${dayAndTime(a.slotStartDate)} ${who(desk, a)}`)
                    .join(', ')}${plan.appointments.length > 5 && ' …'}
                </p>
              </${Notice}>
            `
          }
        </div>
        ${
          failed &&
          !wrong &&
          html`
            <${Notice} kind="danger" role="alert" text=${failKey(failed)}>
              ${failed.errors?.map(
                x => html`
                  <p key=${x.field}>${x.message}</p>
                `,
              )}
            </${Notice}>
          `
        }
        <${Failed} desk=${desk} problem=${change.problem} a=${null} close=${close} />
        <footer class="actions">
          <button type="submit" class="btn primary" aria-disabled=${wrong || change.busy ? 'true' : undefined}>
            ${t('block.do')}
          </button>
          <button type="button" class="btn" onClick=${() => close()}>${t('cancel')}</button>
        </footer>
      </form>
    </${Dialog}>
  `
}

// InTheWay lists the appointments in a block. The desk can move them or notify the patients while the dialog stays
// open.
export function InTheWay({ desk, id, close }) {
  const s = useStore(desk.store),
    [list, setList] = useState(null),
    [failed, setFailed] = useState(null),
    [busy, setBusy] = useState('')
  const load = () => desk.inTheWay(id).then(x => setList(x.appointments), setFailed)
  useEffect(() => {
    load()
  }, [id])
  const move = async a => {
    const date = dateOf(a.slotStartDate)
    await desk.load({ from: date, to: addDays(date, 1), specialistId: a.specialistId })
    desk.open('move', { id: a.id, back: { kind: 'inTheWay', id } })
  }
  const tell = async some => {
    setBusy(some.length > 1 ? 'all' : some[0].id)
    setFailed(null)
    try {
      for (const a of some) {
        await desk.tell(a.id, newKey())
        setList(l => l.map(x => (x.id === a.id ? { ...x, told: true } : x)))
      }
    } catch (problem) {
      setFailed(problem)
    }
    setBusy('')
  }
  const untold = (list || []).filter(a => a.patient.email && !a.told)
  return html`
    <${Dialog} title=${t('way.title')} wide close=${close}>
      <div class="stack">
        ${
          failed &&
          html`
            <${Notice}
              kind="danger"
              role="alert"
              text=${failed.reason === 'no_mail' ? 'way.nomail' : failKey(failed)}
            />
          `
        }
        <p role="status" class="muted">${list ? (list.length ? t('way.n', { n: list.length }) : t('way.none')) : ''}</p>
        <ul class="way">
          ${(list || []).map(
            a => html`
              <li key=${a.id}>
                <span>
                  <b>${dayAndTime(a.slotStartDate)}</b>
                  ${' '}
                  <bdi>${who(desk, a)}</bdi>
                  ${' '}
                  <span class="muted">
                    <bdi>${typeName(s, a.appointmentTypeId)}</bdi>
                    ,${' '}
                    <bdi>${specialistName(s, a.specialistId)}</bdi>
                    ${
                      a.patient.phone &&
                      desk.prefs.get().names &&
                      html`
                        ,${' '}
                        <a href=${'tel:' + a.patient.phone.replace(/[^\d+]/g, '')}>${a.patient.phone}</a>
                      `
                    }
                  </span>
                </span>
                <button
                  type="button"
                  class="btn"
                  aria-label=${`${t('menu.move')}: ${who(desk, a)}`}
                  onClick=${() => move(a).catch(setFailed)}
                >
                  ${t('menu.move')}
                </button>
                ${
                  a.told
                    ? html`
                        <span class="told">
                          <${Icon} name="check" />
                          ${t('way.told')}
                        </span>
                      `
                    : html`
                        <button
                          type="button"
                          class="btn"
                          aria-label=${`${t('way.tell')}: ${who(desk, a)}`}
                          aria-disabled=${!a.patient.email || busy ? 'true' : undefined}
                          title=${a.patient.email ? undefined : t('way.nomail')}
                          onClick=${() => a.patient.email && !busy && tell([a])}
                        >
                          ${t('way.tell')}
                        </button>
                      `
                }
              </li>
            `,
          )}
        </ul>
        <footer class="actions">
          ${
            untold.length > 1 &&
            html`
              <button
                type="button"
                class="btn primary"
                aria-disabled=${busy ? 'true' : undefined}
                onClick=${() => !busy && tell(untold)}
              >
                ${t('way.all', { n: untold.length })}
              </button>
            `
          }
          <button type="button" class="btn" autofocus onClick=${() => close()}>${t('close')}</button>
        </footer>
      </div>
    </${Dialog}>
  `
}
