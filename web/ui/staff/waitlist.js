// The waiting list: the people and their offers, in order. The desk can add a caller, offer a time, and accept or
// decline an offer for a patient on the phone.
import { html, useEffect, useState } from '../lib/html.js'
import { get, newKey, post } from '../lib/api.js'
import { serverNow } from '../lib/clock.js'
import { Dialog } from '../lib/dialog.js'
import { Field } from '../lib/form.js'
import { list as joined, t } from '../lib/i18n.js'
import { useStore } from '../lib/store.js'
import { addDays, dateOf, dayAndTime, shortDate } from '../lib/time.js'
import { today } from './daybar.js'
import { Confirm, Nothing, Office, State, Trouble, listed, useAsk, useSend } from './office.js'
import { Name, agrees } from './patient.js'
import { Recalls } from './recall.js'
import { Plus, RecordForm } from './record.js'
import { placeName } from './where.js'
import { WishFields, blankWish, wishOf, weekday } from './wish.js'
import { specialistName, typeName } from './words.js'

const load = () => get('/v1/waitlist')
const ids = {
  'patient.name': 'wl-name',
  'patient.email': 'wl-email',
  'patient.phone': 'wl-phone',
  from: 'wl-from',
  to: 'wl-to',
}

function Line({ s, x, act, offer, remove }) {
  const { name, email, phone } = x.patient,
    open = x.offers.find(o => o.status === 'open'),
    past = x.offers.filter(o => o.status !== 'open')
  const hours = x.earliest || x.latest ? `${x.earliest || '00:00'}–${x.latest || '24:00'}` : ''
  return html`
    <li class="line">
      <div class="line-main">
        <p class="line-title">
          <b><bdi>${name}</bdi></b>
          ${' '}
          <bdi>${typeName(s, x.appointmentTypeId)}</bdi>
        </p>
        <p class="line-facts">
          ${
            open
              ? html`
                  <${State} kind="ok" icon="clock">
                    ${t('wl.offered', { when: dayAndTime(open.slotStartDate), until: dayAndTime(open.expiresAt) })}
                  </${State}>
                `
              : html`
                  <${State} kind=${x.status === 'waiting' ? '' : 'warn'}>${t('wl.status.' + x.status)}</${State}>
                `
          }
          ${
            x.appointmentId &&
            html`
              <span>${t('wl.sooner')}</span>
            `
          }
          <span>
            ${x.slotStartDate ? dayAndTime(x.slotStartDate) : t('wait.span', { from: shortDate(x.from), to: shortDate(x.to) })}
          </span>
          ${
            x.weekdays.length > 0 &&
            html`
              <span>${joined(x.weekdays.map(weekday))}</span>
            `
          }${
            hours &&
            html`
              <span>${hours}</span>
            `
          }
          ${
            x.specialistIds.length > 0 &&
            html`
              <span><bdi>${joined(x.specialistIds.map(id => specialistName(s, id)))}</bdi></span>
            `
          }
          ${
            placeName(x.place) &&
            html`
              <span><bdi>${placeName(x.place)}</bdi></span>
            `
          }
          ${
            phone &&
            html`
              <span><bdi>${phone}</bdi></span>
            `
          }${
            email
              ? html`
                  <span><bdi>${email}</bdi></span>
                `
              : html`
                  <span class="muted">${t('wl.nomail')}</span>
                `
          }
        </p>
        ${
          past.length > 0 &&
          html`
            <p class="line-facts muted">
              ${past.map(
                o => html`
                  <span key=${o.id}>${dayAndTime(o.slotStartDate)}: ${t('wl.offer.' + o.status)}</span>
                `,
              )}
            </p>
          `
        }
      </div>
      ${
        !x.endedAt &&
        html`
          <div class="line-do">
            ${
              open
                ? html`
                    <button
                      type="button"
                      class="btn"
                      aria-label=${`${t('wl.accept')}: ${name}`}
                      onClick=${() => act('accept')}
                    >
                      ${t('wl.accept')}
                    </button>
                    <button
                      type="button"
                      class="btn quiet"
                      aria-label=${`${t('wl.decline')}: ${name}`}
                      onClick=${() => act('decline')}
                    >
                      ${t('wl.decline')}
                    </button>
                  `
                : x.status === 'waiting'
                  ? html`
                      <button type="button" class="btn" aria-label=${`${t('wl.offer')}: ${name}`} onClick=${offer}>
                        ${t('wl.offer')}
                      </button>
                    `
                  : html`
                      <button
                        type="button"
                        class="btn"
                        aria-label=${`${t('wl.confirm')}: ${name}`}
                        onClick=${() => act('confirm')}
                      >
                        ${t('wl.confirm')}
                      </button>
                    `
            }
            <button type="button" class="btn quiet" aria-label=${`${t('wl.remove')}: ${name}`} onClick=${remove}>
              ${t('wl.remove')}
            </button>
          </div>
        `
      }
    </li>
  `
}

function Add({ desk, s, close }) {
  const types = s.types.filter(x => x.active),
    sending = useSend(desk)
  const [draft, setDraft] = useState({
    typeId: types[0]?.id || '',
    ...blankWish(today(), addDays(today(), 28)),
    name: '',
    email: '',
    phone: '',
    sms: false,
  })
  const set = change => setDraft(d => ({ ...d, ...change })),
    input = key => value => set({ [key]: value })
  const type = types.find(x => x.id === draft.typeId),
    errors = listed(sending.errors, ids),
    error = id => errors.find(e => e.id === id)?.message
  const submit = async () => {
    const { name, email, phone } = draft
    const body = { ...wishOf(draft), patient: { name, email, phone }, ...(agrees(draft) && { sms: true }) }
    if (
      await sending.send(() =>
        post(`/v1/appointment-types/${encodeURIComponent(draft.typeId)}/waitlist`, body, { key: newKey() }),
      )
    )
      close(true)
  }
  return html`
    <${RecordForm}
      wide
      long
      title=${t('wl.add')}
      sending=${sending}
      ids=${ids}
      submit=${submit}
      action=${t('wl.add')}
      close=${() => close()}
    >
      <${Name}
        desk=${desk}
        id="wl-name"
        value=${draft.name}
        input=${input('name')}
        choose=${({ name, email, phone, sms }) => set({ name, email: email || '', phone: phone || '', sms: Boolean(sms) })}
        error=${error('wl-name')}
        focus
      />
      <${Field}
        id="wl-phone"
        label=${t('field.phone')}
        type="tel"
        value=${draft.phone}
        input=${input('phone')}
        error=${error('wl-phone')}
        maxlength="40"
      />
      <${Field}
        id="wl-email"
        label=${t('field.email')}
        hint=${t('wl.email.hint')}
        type="email"
        value=${draft.email}
        input=${input('email')}
        error=${error('wl-email')}
        maxlength="254"
      />
      <${Field} id="wl-type" label=${t('book.type')}>
        <select id="wl-type" value=${draft.typeId} onChange=${e => set({ typeId: e.currentTarget.value, who: '' })}>
          ${types.map(
            x => html`
              <option key=${x.id} value=${x.id}>${x.name}</option>
            `,
          )}
        </select>
      </${Field}>
      <${WishFields} s=${s} type=${type} draft=${draft} set=${set} error=${error} />
    </${RecordForm}>
  `
}

// An offer expires 10 minutes before the offered start. It must be open for at least 5 minutes.
const least = 16 * 6e4

// Offer lists the free times that suit the person. A press on a time holds it and sends the offer.
// namedFor lists the specialists to name for a time. Its place is that of the first one, so the others are named only
// if all are at the place of the entry.
const namedFor = (entry, time) => time.specialistIds.slice(0, time.place && !entry.place ? 1 : 3)

function Offer({ desk, s, x, close }) {
  const sending = useSend(desk)
  const found = useAsk(desk, () =>
    x.slotStartDate
      ? Promise.resolve([{ start: x.slotStartDate, specialistIds: x.specialistIds }])
      : desk.find(x.appointmentTypeId, {
          from: x.from,
          specialistIds: x.specialistIds,
          ...(placeName(x.place) && { place: x.place }),
          weekdays: x.weekdays,
          ...(x.earliest && { earliest: x.earliest }),
          ...(x.latest && { latest: x.latest }),
        }),
  )
  const times = (found.data || []).filter(
    y => x.slotStartDate || (dateOf(y.start) <= x.to && Date.parse(y.start) > serverNow() + least),
  )
  const offer = y => async () => {
    if (
      await sending.send(() =>
        post(
          `/v1/waitlist/${x.id}/offer`,
          { slotStartDate: y.start, specialistId: y.specialistIds[0] || '' },
          { key: newKey() },
        ),
      )
    )
      close(true)
  }
  return html`
    <${Dialog} title=${t('wl.offer.title', { name: x.patient.name })} close=${() => close()}>
      <${Trouble}
        problem=${sending.problem || found.problem}
        text=${sending.problem?.reason === 'offered' && 'wl.offer.already'}
      />
      ${
        !found.data
          ? html`
              <p class="muted" role="status">${t('office.loading')}</p>
            `
          : times.length === 0
            ? html`
                <p class="nothing">${t('wl.offer.none')}</p>
              `
            : html`
                <ul class="foundtimes" aria-label=${t('find.title')}>
                  ${times.map(
                    (y, i) => html`
                      <li key=${y.start}>
                        <button type="button" class="found-time" autofocus=${i === 0} onClick=${offer(y)}>
                          <b>${dayAndTime(y.start)}</b>
                          <span class="muted">
                            <bdi>${joined(namedFor(x, y).map(id => specialistName(s, id)))}</bdi>
                            ${' '}
                            <bdi>${placeName(y.place)}</bdi>
                          </span>
                        </button>
                      </li>
                    `,
                  )}
                </ul>
              `
      }
      <p class="hint">${t('wl.offer.hint')}</p>
    </${Dialog}>
  `
}

export function Page({ desk }) {
  const s = useStore(desk.store),
    [open, setOpen] = useState(null)
  const ask = useAsk(desk, load),
    sending = useSend(desk)
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) ask.again()
    }, 5000)
    return () => clearInterval(timer)
  }, [])
  const act = (x, what) => async () => {
    try {
      await post(`/v1/waitlist/${x.id}/${what}`, {}, { key: newKey() })
      desk.toast('wl.done.' + what)
    } catch (problem) {
      if (problem.status !== 410 && problem.status !== 404) throw problem
      desk.toast('wl.gone')
    }
    ask.again()
  }
  const close = done => {
    setOpen(null)
    if (done) ask.again()
  }
  const line = x => html`
    <${Line}
      key=${x.id}
      s=${s}
      x=${x}
      act=${what => sending.send(act(x, what))}
      offer=${() => setOpen({ offer: x })}
      remove=${() => setOpen({ remove: x })}
    />
  `
  const waiting = ask.data?.waiting || [],
    ended = ask.data?.ended || []
  return html`
    <${Office}
      desk=${desk}
      name="waitlist"
      lead=${t('wl.lead')}
      ask=${ask}
      tools=${html`
        <${Plus} label="wl.add" primary onClick=${() => setOpen({ add: true })} />
      `}
    >
      <${Trouble} problem=${sending.problem} />
      ${
        waiting.length
          ? html`
              <ol class="lines">
                ${waiting.map(line)}
              </ol>
            `
          : html`
              <${Nothing} icon="list" label="wl.add" add=${() => setOpen({ add: true })}>${t('wl.none')}</${Nothing}>
            `
      }
      ${
        ended.length > 0 &&
        html`
          <h2>${t('wl.ended')}</h2>
          <ul class="lines">
            ${ended.map(line)}
          </ul>
        `
      }
      <${Recalls} desk=${desk} />
      ${
        open?.add &&
        html`
          <${Add} desk=${desk} s=${s} close=${close} />
        `
      }
      ${
        open?.offer &&
        html`
          <${Offer} desk=${desk} s=${s} x=${open.offer} close=${close} />
        `
      }
      ${
        open?.remove &&
        html`
          <${Confirm}
            desk=${desk}
            title=${t('wl.remove')}
            text=${t('wl.remove.text', { name: open.remove.patient.name })}
            action=${t('wl.remove')}
            close=${() => setOpen(null)}
            run=${act(open.remove, 'leave')}
          />
        `
      }
    </${Office}>
  `
}
