// The waiting list: the form for a patient who finds no suitable time, and the page that the links in the
// waiting-list emails open, to confirm, accept the offer or leave the list. Opening a link changes nothing, because
// mail programs open links too.
import { html, render, useRef, useState } from '../lib/html.js'
import { boot, nameOf, servingOf, typeOf, withLang } from '../lib/boot.js'
import { get, newKey, passing, post } from '../lib/api.js'
import { client } from '../lib/client.js'
import { serverNow } from '../lib/clock.js'
import { ErrorSummary, Field } from '../lib/form.js'
import { locale, t } from '../lib/i18n.js'
import { Notice, words as rich } from '../lib/notice.js'
import { useHeading } from '../lib/router.js'
import { say } from '../lib/say.js'
import { addDays, dateOf, dayAndTime, shortDate, write } from '../lib/time.js'
import { ProblemNotice } from '../book/problem.js'
import { Name, PhoneLink, Shell } from '../book/shell.js'
import { Ticket } from './ticket.js'

const parts = {
  any: {},
  morning: { latest: '12:00' },
  afternoon: { earliest: '12:00', latest: '17:00' },
  evening: { earliest: '17:00' },
}
const names = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']

// Waiting is the page that a link opens. Each of its API requests uses options. done(appointment) leaves the page.
export function Waiting({ first, options, done }) {
  const [{ waiting: x, offerId }, setX] = useState(first)
  const [busy, setBusy] = useState(''),
    [problem, setProblem] = useState(null)
  const heading = useHeading('waiting'),
    keys = useRef({})
  const offer = x.offers.find(o => o.id === offerId)
  const open = offer?.status === 'open' && Date.parse(offer.expiresAt) > serverNow() && !x.endedAt
  const act = async what => {
    if (busy) return
    setBusy(what)
    setProblem(null)
    try {
      const answer = await post(
        '/v1/waitlist/managed/' + what,
        {},
        { ...options, key: (keys.current[what] ||= newKey()) },
      )
      if (answer.appointment) {
        done(answer.appointment)
        return say(t('booked.title'))
      }
      say(t('wait.done.' + what))
    } catch (p) {
      setProblem(p)
    }
    await get('/v1/waitlist/managed', null, options).then(setX, () => {})
    setBusy('')
  }
  const trouble =
    problem &&
    html`
      <${ProblemNotice}
        problem=${problem}
        type=${typeOf(x.appointmentTypeId)}
        text=${problem.status === 410 && 'wait.ended.' + problem.reason}
      />
    `
  const button = (what, kind = 'btn') => html`
    <button type="button" class=${kind} aria-disabled=${busy ? 'true' : undefined} onClick=${() => act(what)}>
      ${t('wait.' + what)}${busy === what && '…'}
    </button>
  `
  if (open) {
    return html`
      <h1 tabindex="-1" ref=${heading}>${t('wait.offer.title')}</h1>
      ${trouble}
      <p class="lead">
        ${rich(x.appointmentId ? 'wait.offer.sooner' : 'wait.offer.lead', { until: dayAndTime(offer.expiresAt) })}
      </p>
      <${Ticket} a=${{ ...offer, appointmentTypeId: x.appointmentTypeId }} />
      <div class="actions">${button('accept', 'btn primary big')}${button('decline', 'textlink')}</div>
    `
  }
  const over = Boolean(x.endedAt)
  const said = over
    ? 'wait.over.' + x.status
    : offer && offer.status !== 'open'
      ? 'wait.ended.' + offer.status
      : offer
        ? 'wait.ended.lapsed'
        : ''
  return html`
    <h1 tabindex="-1" ref=${heading}>${t(x.status === 'unconfirmed' ? 'wait.confirm.title' : 'wait.title')}</h1>
    ${trouble}
    ${
      said &&
      !problem &&
      html`
        <${Notice}
          kind="info"
          role="status"
          text=${said}
          params=${{
            phone: html`
              <${PhoneLink} />
            `,
          }}
        />
      `
    }
    <${Wish} x=${x} />
    ${
      x.status === 'unconfirmed' &&
      html`
        <p class="lead">${rich('wait.confirm.lead')}</p>
        <div class="actions">${button('confirm', 'btn primary big')}${button('leave', 'textlink')}</div>
      `
    }
    ${
      x.status === 'waiting' &&
      html`
        <p>${t('wait.on')}</p>
        <div class="actions">${button('leave')}</div>
      `
    }
    ${
      over &&
      html`
        <p><a class="btn" href=${withLang('/', { type: x.appointmentTypeId })}>${t('manage.again')}</a></p>
      `
    }
  `
}

// Wish summarizes what the patient is waiting for.
function Wish({ x }) {
  const type = typeOf(x.appointmentTypeId),
    people = x.specialistIds.map(nameOf).filter(Boolean),
    place = boot.places.find(p => p.id === x.place)
  const days = x.weekdays.map(d => write('weekday', addDays('2026-11-23', names.indexOf(d))))
  const joined = list => new Intl.ListFormat(locale, { type: 'disjunction' }).format(list)
  const when = x.slotStartDate
    ? dayAndTime(x.slotStartDate)
    : t('wait.span', { from: shortDate(x.from), to: shortDate(x.to) })
  const hours = x.earliest || x.latest ? `${x.earliest || '00:00'} – ${x.latest || '24:00'}` : ''
  return html`
    <section class="ticket" aria-label=${t('summary.title')}>
      <dl>
        ${
          type &&
          html`
            <div>
              <dt>${t('summary.what')}</dt>
              <dd><${Name} of=${type.name} /></dd>
            </div>
          `
        }
        ${
          people.length > 0 &&
          html`
            <div>
              <dt>${t('summary.who')}</dt>
              <dd><bdi>${joined(people)}</bdi></dd>
            </div>
          `
        }
        ${
          place &&
          html`
            <div>
              <dt>${t('summary.where')}</dt>
              <dd><${Name} of=${place.name} /></dd>
            </div>
          `
        }
        <div>
          <dt>${t('summary.when')}</dt>
          <dd>${when}${' '}${days.length > 0 && joined(days)}${' '}${hours}</dd>
        </div>
      </dl>
    </section>
  `
}

function Wait({ type, specialistId, place, ask, form: known, back }) {
  const today = dateOf(serverNow()),
    heading = useHeading('wait')
  const [form, setForm] = useState({
    part: 'any',
    days: [],
    from: today,
    to: addDays(today, 28),
    who: specialistId || '',
    place: place || '',
    ...known,
  })
  const all = servingOf(type),
    places = boot.places.filter(x => all.some(p => p.places?.includes(x.id))),
    at = id => (places.length > 1 && id ? all.filter(p => p.places?.includes(id)) : all),
    people = at(form.place)
  const [state, setState] = useState({ errors: [], n: 0, busy: false, problem: null, done: null })
  const key = useRef(newKey()),
    put = k => v => setForm(f => ({ ...f, [k]: v }))
  const err = id => state.errors.find(e => e.id === id)?.message
  const send = async e => {
    e.preventDefault()
    if (state.busy) return
    const more = ask?.check(form),
      errors = []
    if (form.name.trim().length < 2) errors.push({ id: 'name', message: t('field.name.err') })
    if (!/^\S+@\S+\.\S+$/.test(form.email.trim())) errors.push({ id: 'email', message: t('field.email.err') })
    errors.push(...(more?.errors || []))
    const failed = (list, problem = null) => setState(s => ({ ...s, busy: false, errors: list, problem, n: s.n + 1 }))
    if (errors.length) return failed(errors)
    setState(s => ({ ...s, busy: true, problem: null, errors: [] }))
    try {
      const body = {
        clientId: client.id,
        locale,
        from: form.from,
        to: form.to,
        weekdays: form.days,
        specialistIds: form.who ? [form.who] : [],
        ...(places.length > 1 && form.place && { place: form.place }),
        ...parts[form.part],
        ...more?.said,
        patient: {
          name: form.name.trim(),
          email: form.email.trim(),
          ...(form.phone?.trim() && { phone: form.phone.trim() }),
        },
      }
      const { waiting } = await post(`/v1/appointment-types/${encodeURIComponent(type.id)}/waitlist`, body, {
        key: key.current,
      })
      setState(s => ({ ...s, busy: false, done: waiting }))
      say(t('wait.asked.title'))
    } catch (problem) {
      if (!passing(problem)) key.current = newKey() // keep the key if the request may have taken effect
      const list = problem.errors.map(x => {
        const id = x.field.replace(/^patient\./, '')
        return { id: ['name', 'email', 'phone', 'from', 'to'].includes(id) ? id : 'name', message: x.message }
      })
      failed(list, list.length ? null : problem)
    }
  }
  if (state.done) {
    return html`
      <${Shell} step="booked">
        <h1 tabindex="-1" ref=${heading}>${t('wait.asked.title')}</h1>
        <${Notice} kind="info" role="status" text="wait.asked" params=${{ to: form.email }} />
        <${Wish} x=${state.done} />
      </${Shell}>
    `
  }
  return html`
    <${Shell} step="details">
      <h1 tabindex="-1" ref=${heading}>${t('wait.ask')}</h1>
      <p class="lead">
        ${rich('wait.lead', {
          type: html`
            <${Name} of=${type.name} />
          `,
        })}
      </p>
      ${
        state.problem &&
        html`
          <${ProblemNotice}
            problem=${state.problem}
            type=${type}
            text=${state.problem.reason === 'waitlist_full' && 'wait.full'}
          />
        `
      }
      <form class="details" onSubmit=${send} novalidate>
        <${ErrorSummary} errors=${state.errors} n=${state.n} />
        ${
          places.length > 1 &&
          html`
            <${Field} id="wait-place" label=${t('summary.where')}>
              <select
                id="wait-place"
                value=${form.place}
                onChange=${e => {
                  const id = e.currentTarget.value
                  setForm(f => ({ ...f, place: id, who: at(id).some(p => p.id === f.who) ? f.who : '' }))
                }}
              >
                <option value="">${t('wait.anywhere')}</option>
                ${places.map(
                  x => html`
                    <option key=${x.id} value=${x.id} selected=${x.id === form.place}>${x.name}</option>
                  `,
                )}
              </select>
            </${Field}>
          `
        }
        ${
          people.length > 1 &&
          html`
            <${Field} id="wait-who" label=${t('summary.who')}>
              <select id="wait-who" value=${form.who} onChange=${e => put('who')(e.currentTarget.value)}>
                <option value="">${t('wait.anyone')}</option>
                ${people.map(
                  p => html`
                    <option key=${p.id} value=${p.id} selected=${p.id === form.who}>${p.name}</option>
                  `,
                )}
              </select>
            </${Field}>
          `
        }
        <${Field}
          id="from"
          label=${t('wait.from')}
          type="date"
          min=${today}
          value=${form.from}
          input=${put('from')}
          error=${err('from')}
        />
        <${Field}
          id="to"
          label=${t('wait.to')}
          type="date"
          min=${form.from}
          value=${form.to}
          input=${put('to')}
          error=${err('to')}
        />
        <${Field} id="wait-part" label=${t('wait.part')}>
          <select id="wait-part" value=${form.part} onChange=${e => put('part')(e.currentTarget.value)}>
            ${Object.keys(parts).map(
              p => html`
                <option key=${p} value=${p}>${t(p === 'any' ? 'wait.any' : 'part.' + p)}</option>
              `,
            )}
          </select>
        </${Field}>
        <fieldset class="field ask">
          <legend>
            ${t('wait.days')}${' '}
            <span class="optional">(${t('field.optional')})</span>
          </legend>
          ${names.map(
            (d, i) => html`
              <label class="option tick" key=${d}>
                <input
                  type="checkbox"
                  checked=${form.days.includes(d)}
                  onChange=${() => put('days')(form.days.includes(d) ? form.days.filter(x => x !== d) : [...form.days, d])}
                />
                <span class="face"><span>${write('weekday', addDays('2026-11-23', i))}</span></span>
              </label>
            `,
          )}
        </fieldset>
        <${Field}
          id="name"
          label=${t('field.name')}
          value=${form.name}
          input=${put('name')}
          error=${err('name')}
          autocomplete="name"
          maxlength="80"
          required
        />
        <${Field}
          id="email"
          label=${t('field.email')}
          hint=${t('wait.email')}
          type="email"
          inputmode="email"
          value=${form.email}
          input=${put('email')}
          error=${err('email')}
          autocomplete="email"
          maxlength="254"
          required
        />
        <${Field}
          id="phone"
          label=${t('field.phone')}
          optional
          type="tel"
          inputmode="tel"
          value=${form.phone}
          input=${put('phone')}
          error=${err('phone')}
          autocomplete="tel"
          maxlength="40"
        />
        ${
          ask &&
          html`
            <${ask.Fields} form=${form} put=${put} err=${err} />
          `
        }
        <div class="actions">
          <button type="submit" class="btn primary big" aria-disabled=${state.busy ? 'true' : undefined}>
            ${t('wait.ask.do')}${state.busy && '…'}
          </button>
          <button type="button" class="textlink" onClick=${back}>${t('details.other')}</button>
        </div>
      </form>
    </${Shell}>
  `
}

// showWait replaces the booking page with the form of the waiting list.
export const showWait = (root, props) =>
  render(
    html`
      <${Wait} key="wait" ...${props} />
    `,
    root,
  )

// Sooner is a button on the page of an appointment. It puts the patient on the waiting list for an earlier time at the
// same place, until the day of the appointment.
export function Sooner({ a, path, options }) {
  const [state, setState] = useState(''),
    key = useRef(newKey())
  if (!boot.waitlist || dateOf(a.slotStartDate) <= dateOf(serverNow())) return null
  const ask = async () => {
    if (state === 'busy') return
    setState('busy')
    const at = !typeOf(a.appointmentTypeId)?.remote && boot.places.find(x => x.id === a.place)
    setState(
      await post(path, at ? { place: at.id } : {}, { ...options, key: key.current }).then(
        () => 'done',
        () => 'failed',
      ),
    )
  }
  if (state === 'done')
    return html`
      <${Notice} kind="ok" role="status" text="wait.sooner.done" />
    `
  return html`
    <div class="row">
      <button type="button" class="btn" aria-disabled=${state === 'busy' ? 'true' : undefined} onClick=${ask}>
        ${t('wait.sooner')}
      </button>
    </div>
    ${
      state === 'failed' &&
      html`
        <${Notice}
          kind="warn"
          role="alert"
          text="wait.sooner.failed"
          params=${{
            phone: html`
              <${PhoneLink} />
            `,
          }}
        />
      `
    }
  `
}
