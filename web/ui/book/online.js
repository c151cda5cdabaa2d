// "A specialist is online now": the offer of a session without an appointment, its form, and the page of a request. The
// booking page fetches this module after it has shown the first times, if the clinic allows sessions on demand.
import { html, render, useEffect, useRef, useState } from '../lib/html.js'
import { boot, nameOf, withLang } from '../lib/boot.js'
import { get, newKey, passing, post, wait } from '../lib/api.js'
import { client } from '../lib/client.js'
import { serverNow } from '../lib/clock.js'
import { ErrorSummary, Field, looksLikePhone } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { t } from '../lib/i18n.js'
import { Notice } from '../lib/notice.js'
import { useHeading } from '../lib/router.js'
import { say } from '../lib/say.js'
import { forget, recall, remember } from '../lib/store.js'
import { countdown } from '../lib/time.js'
import { ProblemNotice } from './problem.js'
import { Eyebrow, Name, PhoneLink, Shell } from './shell.js'

const askEvery = 20000,
  lookEvery = 1500

// Online offers a session while a specialist is available. It is in the head of the page, so that its appearance does
// not move a time that the patient is about to tap.
export function Online({ open }) {
  const [available, set] = useState(false)
  useEffect(() => {
    const ask = () => {
      if (!document.hidden)
        get('/v1/presence/snapshot', null, { tries: 1 }).then(
          x => set(x.available),
          () => set(false),
        )
    }
    ask()
    const timer = setInterval(ask, askEvery)
    document.addEventListener('visibilitychange', ask)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', ask)
    }
  }, [])
  return (
    available &&
    html`
      <button type="button" class="btn online" onClick=${open}>
        <span class="dot" aria-hidden="true"></span>
        <span class="online-more">${t('now.title')}.${' '}</span>
        <b>${t('now.open')}</b>
      </button>
    `
  )
}

const back = () => location.assign(withLang('/'))
function Ask({ typeId, form: known, done }) {
  const types = boot.appointmentTypes
  const [form, setForm] = useState({ reason: '', typeId: typeId || types[0]?.id || '', ...known })
  const [state, setState] = useState({ errors: [], n: 0, busy: false, problem: null })
  const heading = useHeading('online'),
    key = useRef(newKey())
  const put = field => value => setForm(f => ({ ...f, [field]: value }))
  const err = id => state.errors.find(e => e.id === id)?.message
  const failed = (errors, problem = null) => setState(s => ({ ...s, busy: false, errors, problem, n: s.n + 1 }))
  const send = async e => {
    e.preventDefault()
    if (state.busy) return
    const errors = [] // in the order of the fields
    if (!form.reason.trim()) errors.push({ id: 'reason', message: t('now.reason.err') })
    if (form.name.trim().length < 2) errors.push({ id: 'name', message: t('field.name.err') })
    if (!looksLikePhone(form.phone)) errors.push({ id: 'phone', message: t('field.phone.err') })
    if (errors.length) return failed(errors)
    setState(s => ({ ...s, busy: true, problem: null, errors: [] }))
    const { name, phone, reason } = form
    try {
      const body = {
        clientId: client.id,
        appointmentTypeId: form.typeId,
        reason: reason.trim(),
        patient: { name: name.trim(), phone: phone.trim() },
      }
      const { session } = await post('/v1/sessions', body, { key: key.current })
      remember('form', { ...recall('form'), name, phone })
      done(session, phone.trim())
    } catch (problem) {
      if (!passing(problem)) key.current = newKey() // keep the key if the request may have taken effect
      const list = problem.errors.map(x => {
        const id = x.field.replace(/^patient\./, '')
        return { id: ['name', 'phone', 'reason'].includes(id) ? id : 'name', message: x.message }
      })
      failed(list, list.length ? null : problem)
    }
  }
  return html`
    <${Eyebrow} back=${back} />
    <h1 tabindex="-1" ref=${heading}>${t('now.ask')}</h1>
    <p class="lead">${t('now.ask.lead')}</p>
    ${
      state.problem &&
      html`
        <${ProblemNotice} problem=${state.problem} />
      `
    }
    <form class="details" onSubmit=${send} novalidate>
      <${ErrorSummary} errors=${state.errors} n=${state.n} />
      ${
        types.length > 1 &&
        html`
          <${Field} id="type" label=${t('summary.what')}>
            <select id="type" value=${form.typeId} onChange=${e => put('typeId')(e.currentTarget.value)}>
              ${types.map(
                x => html`
                  <option key=${x.id} value=${x.id} selected=${x.id === form.typeId}>${x.name}</option>
                `,
              )}
            </select>
          </${Field}>
        `
      }
      <${Field}
        id="reason"
        label=${t('now.reason')}
        hint=${t('now.reason.hint')}
        error=${err('reason')}
        value=${form.reason}
        input=${put('reason')}
        maxlength="200"
        required
      />
      <${Field}
        id="name"
        label=${t('field.name')}
        error=${err('name')}
        value=${form.name}
        input=${put('name')}
        autocomplete="name"
        maxlength="80"
        required
      />
      <${Field}
        id="phone"
        label=${t('field.phone')}
        hint=${t('now.phone.hint')}
        error=${err('phone')}
        type="tel"
        inputmode="tel"
        value=${form.phone}
        input=${put('phone')}
        autocomplete="tel"
        maxlength="40"
        required
      />
      <div class="actions">
        <button type="submit" class="btn primary big" aria-disabled=${state.busy ? 'true' : undefined}>
          ${t('now.do')}${state.busy && '…'}
        </button>
      </div>
    </form>
  `
}

// stateOf returns the state of a session as the page shows it: waiting, with, over, missed or cancelled.
const stateOf = s =>
  ({
    requested: 'waiting',
    active: 'with',
    pending_payment: 'with',
    cancelled: 'cancelled',
    expired: s.acceptedAt ? 'over' : 'missed',
  })[s.status] || 'over'

// useSession returns the session, and fetches it repeatedly until it is over.
function useSession(first) {
  const [session, set] = useState(first),
    [problem, setProblem] = useState(null)
  const open = ['waiting', 'with'].includes(stateOf(session))
  useEffect(() => {
    if (!open) return
    let stopped = false
    const follow = async () => {
      while (!stopped) {
        await wait(lookEvery)
        if (stopped) return
        await get('/v1/sessions/' + session.id, null, { tries: 1 }).then(
          x => {
            if (stopped) return
            setProblem(null)
            set(x.session)
          },
          p => {
            if (stopped) return
            // The session no longer exists on the server.
            if ([403, 404].includes(p.status)) set(s => ({ ...s, status: 'ended' }))
            else setProblem(p)
          },
        )
      }
    }
    follow()
    return () => {
      stopped = true
    }
  }, [open, session.id])
  return [session, problem, set]
}

function useTick(on) {
  const [, tick] = useState(0)
  useEffect(() => {
    if (!on) return
    const timer = setInterval(() => tick(n => n + 1), 1000)
    return () => clearInterval(timer)
  }, [on])
}

// Follow is the page that shows the progress of a request. phone is the number that the specialist calls.
function Follow({ first, phone, again }) {
  const [session, problem, set] = useSession(first)
  const [busy, setBusy] = useState(false)
  const state = stateOf(session),
    name = nameOf(session.specialistId) || boot.clinic.name
  const heading = useHeading(state),
    current = useRef(first.specialistId || '')
  // If another specialist has taken the session over, the page names both specialists.
  const before = useRef('')
  if (session.specialistId && current.current && current.current !== session.specialistId)
    before.current = nameOf(current.current)
  if (session.specialistId) current.current = session.specialistId
  useTick(state === 'waiting')
  const title = t('session.' + state, { name })
  useEffect(() => {
    if (['over', 'missed', 'cancelled'].includes(state)) forget('session')
    else remember('session', { session, phone })
    document.title = `${title} – ${boot.clinic.name}`
    say(title, state === 'with' ? 'assertive' : 'polite')
  }, [state, session.specialistId])
  const cancel = async () => {
    if (busy) return
    setBusy(true)
    await post(`/v1/sessions/${session.id}/cancel`, { clientId: client.id }, { key: newKey() }).then(
      x => set(x.session),
      () => {},
    )
    setBusy(false)
  }
  const left = Math.max(0, (Date.parse(session.expiresAt) - serverNow()) / 1000),
    whole = (Date.parse(session.expiresAt) - Date.parse(session.requestedAt)) / 1000
  const params = {
    name: html`
      <${Name} of=${name} />
    `,
    before: html`
      <${Name} of=${before.current} />
    `,
    number: html`
      <bdi class="nowrap">${phone}</bdi>
    `,
    phone: html`
      <${PhoneLink} />
    `,
  }
  return html`
    <h1 tabindex="-1" ref=${heading}>${title}</h1>
    ${
      problem &&
      html`
        <${Notice} kind="warn" icon="offline" role="status" text="session.offline" />
      `
    }
    ${
      state === 'waiting'
        ? html`
            <section class="waits">
              <p>${t('session.waiting.lead')}</p>
              <p class="clock" role="timer"><b>${countdown(left)}</b></p>
              <progress max=${whole} value=${left} aria-label=${t('session.left')}></progress>
            </section>
          `
        : html`
            <${Notice}
              kind=${state === 'with' ? 'ok' : state === 'missed' ? 'warn' : 'info'}
              icon=${state === 'with' ? 'phone' : undefined}
              text=${'session.' + state + (before.current && state === 'with' ? '.handed' : '') + '.lead'}
              params=${params}
            />
          `
    }
    ${
      session.status === 'pending_payment' &&
      html`
        <p>${t('session.payment')}</p>
      `
    }
    <div class="actions">
      ${
        state === 'waiting' || state === 'with'
          ? html`
              <button type="button" class="btn" aria-disabled=${busy ? 'true' : undefined} onClick=${cancel}>
                <${Icon} name="close" />
                ${t('session.cancel')}${busy && '…'}
              </button>
            `
          : html`
              <button type="button" class="btn primary" onClick=${back}>${t('now.book')}</button>
              <button type="button" class="textlink" onClick=${again}>${t('session.again')}</button>
            `
      }
    </div>
  `
}

function Session({ typeId, form, open }) {
  const [now, set] = useState(open)
  const done = (session, phone) => set({ session, phone })
  return html`
    <${Shell} step="online">
      ${
        now
          ? html`
              <${Follow} key=${now.session.id} first=${now.session} phone=${now.phone} again=${() => set(null)} />
            `
          : html`
              <${Ask} typeId=${typeId} form=${{ ...form, ...recall('form') }} done=${done} />
            `
      }
    </${Shell}>
  `
}

// showSession replaces the booking page. open is the stored request of this tab from before a reload.
export const showSession = (root, props) =>
  render(
    html`
      <${Session} key="online" ...${props} />
    `,
    root,
  )
