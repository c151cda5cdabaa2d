// Several appointments together: "six times, Tuesdays at nine, with either of the two". Before anything is saved, the
// page shows for each unavailable time the reason and the nearest other times. The server books all chosen times or
// none. From any appointment of a series, the user can move or cancel that appointment and the later ones together.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { Notice } from '../lib/notice.js'
import { list as joined, t } from '../lib/i18n.js'
import { addDays, dayAndTime, near, dateOf, write } from '../lib/time.js'
import { mondayOf, weekdayOf } from './day.js'
import { failKey, specialistName } from './words.js'

const monday = mondayOf('2026-11-23'),
  week = Array.from({ length: 7 }, (_, i) => addDays(monday, i))
const most = 52

// useSeries stores the values of the form, the plan that the server computes from them, and the times that the user
// chooses.
export function useSeries(desk, { on, typeId, slot }) {
  const [rule, setRule] = useState({ count: '6', every: '1', days: null, people: null })
  const [plan, setPlan] = useState(null),
    [failed, setFailed] = useState(null),
    [chosen, setChosen] = useState({}),
    [tries, setTries] = useState(0)
  const asked = useRef(0)
  const days = rule.days || (slot.date ? [weekdayOf(slot.date)] : []),
    people = rule.people || [slot.specialistId],
    count = Math.min(most, parseInt(rule.count) || 0)
  const wish = on ? JSON.stringify([typeId, slot.date, slot.time, days, people, count, rule.every, tries]) : ''
  useEffect(() => {
    const mine = ++asked.current
    if (
      !wish ||
      !typeId ||
      count < 2 ||
      !days.length ||
      !/^\d{4}-\d\d-\d\d$/.test(slot.date) ||
      !/^\d\d:\d\d/.test(slot.time)
    )
      return setPlan(null)
    const timer = setTimeout(() => {
      desk
        .planSeries(typeId, {
          from: slot.date,
          time: slot.time.slice(0, 5),
          weekdays: days,
          everyWeeks: +rule.every,
          count,
          specialistIds: people,
        })
        .then(
          list => {
            if (mine !== asked.current) return
            setFailed(null)
            setChosen({})
            setPlan({ wish, list: list.map(o => ({ ...o, start: Date.parse(o.slotStartDate) })) })
          },
          problem => {
            if (mine === asked.current) {
              setPlan(null)
              setFailed(problem)
            }
          },
        )
    }, 120)
    return () => clearTimeout(timer)
  }, [wish])
  // timeOf returns {slotStartDate, specialistId}, or null if the user leaves the occurrence out.
  const timeOf = (o, i) =>
    i in chosen ? chosen[i] : o.reason ? null : { slotStartDate: o.slotStartDate, specialistId: o.specialistIds[0] }
  return {
    rule,
    days,
    people,
    plan: plan?.list,
    failed,
    timeOf,
    set: change => setRule(r => ({ ...r, ...change })),
    choose: (i, time) => setChosen(c => ({ ...c, [i]: time })),
    // The plan of an earlier wish stays visible until the next one arrives, but its times cannot be booked.
    times: plan?.wish === wish ? plan.list.map(timeOf).filter(Boolean) : [],
    again: () => setTries(n => n + 1),
  }
}

const reasons = ['inactive', 'too_soon', 'override_closed', 'outside_hours', 'taken', 'held']
const sayReason = reason => t('series.no.' + (reasons.includes(reason) ? reason : 'taken'))

// Occurrence is one line of a plan. A ticked line will be booked. If its time is unavailable, the user can choose
// another time.
function Occurrence({ desk, o, i, series }) {
  const s = desk.store.get(),
    time = series.timeOf(o, i),
    id = 'series-' + i,
    others = o.nearest
  const pick = e => {
    const x = others[+e.currentTarget.value]
    series.choose(i, x ? { slotStartDate: x.start, specialistId: x.specialistIds[0] } : null)
  }
  if (!o.reason) {
    return html`
      <li>
        <label class="check">
          <input
            type="checkbox"
            checked=${Boolean(time)}
            onChange=${e => series.choose(i, e.currentTarget.checked ? { slotStartDate: o.slotStartDate, specialistId: o.specialistIds[0] } : null)}
          />
          <span>
            ${dayAndTime(o.start)}${' '}
            <span class="muted"><bdi>${specialistName(s, o.specialistIds[0])}</bdi></span>
          </span>
        </label>
      </li>
    `
  }
  return html`
    <li class=${time ? '' : 'no'}>
      <label for=${id}>
        <${Icon} name=${time ? 'change' : 'alert'} />
        <span>
          ${dayAndTime(o.start)}${' '}
          <b>${sayReason(o.reason)}</b>
        </span>
      </label>
      <select id=${id} value=${time ? others.findIndex(x => x.start === time.slotStartDate) : ''} onChange=${pick}>
        <option value="">${t('series.skip')}</option>
        ${others.map(
          (x, n) => html`
            <option key=${x.start} value=${n}>
              ${near(Date.parse(x.start), dateOf(o.start))}, ${specialistName(s, x.specialistIds[0])}
            </option>
          `,
        )}
      </select>
    </li>
  `
}

export function SeriesFields({ desk, series, type, people }) {
  const { rule } = series,
    who = people.filter(p => type?.specialists.some(x => x.specialistId === p.id))
  const toggle = (list, value) => (list.includes(value) ? list.filter(x => x !== value) : [...list, value])
  return html`
    <div class="series">
      <div class="two">
        <${Field}
          id="series-count"
          label=${t('series.count')}
          type="number"
          min="2"
          max=${most}
          value=${rule.count}
          input=${count => series.set({ count })}
        />
        <${Field} id="series-every" label=${t('series.every')}>
          <select id="series-every" value=${rule.every} onChange=${e => series.set({ every: e.currentTarget.value })}>
            ${[1, 2, 3, 4, 6, 8, 12].map(
              n => html`
                <option key=${n} value=${n}>${t('series.weeks', { n })}</option>
              `,
            )}
          </select>
        </${Field}>
      </div>
      <fieldset class="chips">
        <legend>${t('series.days')}</legend>
        ${week.map(
          date => html`
            <label key=${date}>
              <input
                type="checkbox"
                checked=${series.days.includes(weekdayOf(date))}
                onChange=${() => series.set({ days: toggle(series.days, weekdayOf(date)) })}
              />
              <span class="face">${write('weekday', date)}</span>
            </label>
          `,
        )}
      </fieldset>
      ${
        who.length > 1 &&
        html`
          <fieldset class="chips">
            <legend>${t('series.who')}</legend>
            ${who.map(
              p => html`
                <label key=${p.id}>
                  <input
                    type="checkbox"
                    checked=${series.people.includes(p.id)}
                    onChange=${() => series.set({ people: toggle(series.people, p.id) })}
                  />
                  <span class="face"><bdi>${p.name}</bdi></span>
                </label>
              `,
            )}
          </fieldset>
        `
      }
      ${
        series.failed &&
        html`
          <${Notice} kind="danger" role="alert" text=${failKey(series.failed)} />
        `
      }
    </div>
  `
}

// Occurrences shows the whole plan.
export function Occurrences({ desk, series }) {
  const { plan } = series,
    lost = plan ? plan.filter(o => o.reason).length : 0
  return html`
    <div class="series">
      <p class="hint" role="status">
        ${plan ? (lost ? t('series.lost', { n: lost }) : t('series.free', { n: plan.length })) : ''}
      </p>
      <ol class="occurrences" aria-label=${t('series.title')}>
        ${(plan || []).map(
          (o, i) => html`
            <${Occurrence} key=${o.slotStartDate} desk=${desk} o=${o} i=${i} series=${series} />
          `,
        )}
      </ol>
    </div>
  `
}

// --- the series of an existing appointment
function useSeriesOf(desk, a) {
  const [list, setList] = useState(null)
  useEffect(() => {
    if (!a?.seriesId) return
    let here = true
    desk.series(a.id).then(
      x => {
        if (here) setList(x)
      },
      () => {},
    ) // ignore a failure: the dialog works without the series
    return () => {
      here = false
    }
  }, [a?.id, a?.version])
  return list
}
const laterIn = (list, a) => (list || []).filter(x => x.status === 'confirmed' && x.slotStartDate >= a.slotStartDate)

// SeriesRow shows, in the dialog of an appointment, its number in the series and the dates of the other appointments.
export function SeriesRow({ desk, a, show }) {
  const all = useSeriesOf(desk, a)
  if (!all)
    return html`
      <span class="muted">…</span>
    `
  const there = all.filter(x => x.status === 'confirmed')
  return html`
    ${t('series.at', { at: there.findIndex(x => x.id === a.id) + 1, n: there.length })}${' '}
    <span class="muted">
      ${there
        .filter(x => x.id !== a.id)
        .map(
          (x, i) => html`
            ${i > 0 && ' · '}
            <button type="button" class="textlink" key=${x.id} onClick=${() => show(x)}>
              ${dayAndTime(x.slotStartDate)}
            </button>
          `,
        )}
    </span>
  `
}

// Scope asks whether the change applies only to this appointment or also to the later ones. Without later appointments
// it shows nothing.
export function Scope({ desk, a, rest, set }) {
  const later = laterIn(useSeriesOf(desk, a), a)
  if (later.length < 2) return null
  return html`
    <fieldset class="choice">
      <legend>${t('series.scope')}</legend>
      <label class="check">
        <input type="radio" name="scope" checked=${!rest} onChange=${() => set(false)} />
        <span>${t('series.one')}</span>
      </label>
      <label class="check">
        <input type="radio" name="scope" checked=${rest} onChange=${() => set(true, later)} />
        <span>${t('series.rest', { n: later.length })}</span>
      </label>
    </fieldset>
  `
}

// useMovePlan asks the server where the later appointments would move with this one. keep contains the ids of the
// appointments that stay.
export function useMovePlan(desk, a, { rest, start, specialistId }) {
  const [plan, setPlan] = useState(null),
    [keep, setKeep] = useState([]),
    [failed, setFailed] = useState(null)
  const wish = rest && start ? start + specialistId : ''
  useEffect(() => {
    setPlan(null)
    setKeep([])
    setFailed(null)
    if (!wish) return
    let here = true
    const timer = setTimeout(
      () =>
        desk
          .planMove(a, {
            slotStartDate: new Date(start).toISOString(),
            ...(specialistId !== a.specialistId && { specialistId }),
          })
          .then(
            x => {
              if (!here) return
              setPlan(x)
              // An appointment that can't move keeps its time, unless it is the appointment that the user is moving.
              setKeep(x.filter(o => o.reason && o.appointmentId !== a.id).map(o => o.appointmentId))
            },
            problem => {
              if (here) setFailed(problem)
            },
          ),
      120,
    )
    return () => {
      here = false
      clearTimeout(timer)
    }
  }, [wish])
  const no = plan?.some(o => o.reason && !keep.includes(o.appointmentId))
  return { plan, keep, failed, no, toggle: id => setKeep(k => (k.includes(id) ? k.filter(x => x !== id) : [...k, id])) }
}
export function MovePlan({ desk, a, moving }) {
  if (moving.failed)
    return html`
      <${Notice} kind="danger" role="alert" text=${failKey(moving.failed)} />
    `
  return html`
    <ol class="occurrences" aria-label=${t('series.title')}>
      ${(moving.plan || []).map(
        o => html`
          <li key=${o.appointmentId} class=${o.reason ? 'no' : ''}>
            <label class="check">
              <input
                type="checkbox"
                checked=${!moving.keep.includes(o.appointmentId)}
                disabled=${o.appointmentId === a.id || Boolean(o.reason)}
                onChange=${() => moving.toggle(o.appointmentId)}
              />
              <span>
                ${dayAndTime(o.slotStartDate)}${' '}
                <span class="muted">
                  <bdi>${joined(o.specialistIds.map(id => specialistName(desk.store.get(), id)))}</bdi>
                </span>
                ${
                  o.reason &&
                  html`
                    ${' '}
                    <b>${sayReason(o.reason)}</b>
                    , ${t('series.stays')}
                  `
                }
              </span>
            </label>
          </li>
        `,
      )}
    </ol>
  `
}
