// Blocking time. The dialog lists the appointments inside the block, which stay booked. Each block is
// deleted separately. An override applies to a whole date; deleting it restores the usual hours.
import { html, useState } from '../lib/html.js'
import { Dialog } from '../lib/dialog.js'
import { Field } from '../lib/form.js'
import { Notice } from '../lib/notice.js'
import { useStore } from '../lib/store.js'
import { newKey } from '../lib/api.js'
import { TimeInput } from '../lib/typed.js'
import { t } from '../lib/i18n.js'
import { dateOf, dayAndTime, range as between, time, write, zone } from '../lib/time.js'
import { dayIn, minutesOf, textOf } from './day.js'
import { columnIn } from './column.js'
import { each } from './group.js'
import { Failed, useChange } from './move.js'
import { offer } from './undo.js'
import { sayList, specialistName, typeName, who } from './words.js'
import { slotOf } from './when.js'

export function Block({ desk, specialistId, start, minutes, close }) {
  const s = useStore(desk.store),
    at = slotOf(start)
  const [draft, setDraft] = useState({
    date: at.date,
    from: at.time,
    to: textOf(Math.min(1439, minutesOf(at.time) + minutes)),
  })
  const [reason, setReason] = useState('')
  const change = useChange(async (body, key) => {
    const made = await desk.block(specialistId, body, key)
    offer(desk, 'block.done', { from: draft.from, to: draft.to, who: specialistName(s, specialistId) }, () =>
      desk.dropBlock(made),
    )
    close()
  })
  const range = { date: draft.date, from: minutesOf(draft.from), to: draft.to === '23:59' ? 1440 : minutesOf(draft.to) }
  const wrong = !(range.to > range.from)
  const column = columnIn(s, draft.date, specialistId)
  const inside = each(column.items)
    .filter(i => i.kind === 'card' && i.from < range.to && range.from < i.to)
    .map(i => i.of)
  const set = key => e => setDraft({ ...draft, [key]: e.currentTarget.value })
  const submit = e => {
    e.preventDefault()
    const day = dayIn(draft.date, zone),
      iso = m => new Date(m === 1440 ? day.end : day.at(m)).toISOString()
    if (!wrong) change.go({ start: iso(range.from), end: iso(range.to), reason: reason.trim() })
  }
  return html`
    <${Dialog} title=${t('block.title', { who: specialistName(s, specialistId) })} close=${close}>
      <form class="stack" onSubmit=${submit} novalidate>
        <p class="fromto"><span>${write('longDay', draft.date)}</span></p>
        <div class="when">
          <${Field} id="block-from" label=${t('block.from')}>
            <${TimeInput} id="block-from" step="300" value=${draft.from} onInput=${set('from')} />
          </${Field}>
          <${Field} id="block-to" label=${t('block.to')}>
            <${TimeInput} id="block-to" step="300" value=${draft.to} onInput=${set('to')} />
          </${Field}>
        </div>
        ${
          wrong &&
          html`
            <p class="error" role="alert">${t('block.wrong')}</p>
          `
        }
        <${Field}
          id="block-reason"
          label=${t('block.reason')}
          hint=${t('block.reason.hint')}
          optional
          value=${reason}
          input=${setReason}
          maxlength="500"
          autofocus
        />
        ${
          inside.length > 0 &&
          html`
            <${Notice} kind="warn" icon="info" role="status" text="block.inside" params=${{ n: inside.length }}>
              <p>
                ${sayList(inside.map(a => `${time(a.start)} ${who(desk, a)} (${typeName(s, a.appointmentTypeId)})`))}
              </p>
            </${Notice}>
          `
        }
        <${Failed} desk=${desk} problem=${change.problem} a=${null} close=${close} />
        <footer class="actions">
          <button type="submit" class="btn primary" aria-disabled=${wrong || change.busy ? 'true' : undefined}>
            ${t('block.do')}
          </button>
          <button type="button" class="btn" onClick=${() => close()}>${t('cancel')}</button>
          <button
            type="button"
            class="btn quiet end"
            onClick=${() => desk.open('closing', { specialistIds: [specialistId], from: draft.date, start: draft.from, end: draft.to })}
          >
            ${t('closing.more')}
          </button>
        </footer>
      </form>
    </${Dialog}>
  `
}

export function DropBlock({ desk, block, close }) {
  const name = specialistName(desk.store.get(), block.specialistId)
  const when =
    dateOf(block.start) === dateOf(block.end - 1)
      ? [write('longDay', block.start), between(block.start, block.end)]
      : [t('range', { from: dayAndTime(block.start), to: dayAndTime(block.end) })]
  const change = useChange(async () => {
    await desk.dropBlock(block)
    offer(desk, 'block.dropped', { who: name, from: time(block.start), to: time(block.end) }, () =>
      desk
        .block(
          block.specialistId,
          {
            start: new Date(block.start).toISOString(),
            end: new Date(block.end).toISOString(),
            ...(block.reason && { reason: block.reason }),
          },
          newKey(),
        )
        .then(() => {}),
    )
    close()
  })
  return html`
    <${Dialog} title=${t('block.drop.title', { who: name })} close=${close}>
      <div class="stack">
        <p class="fromto">
          ${when.map(
            line => html`
              <span key=${line}>${line}</span>
            `,
          )}
        </p>
        <p>
          ${t('block.drop.body', { who: name })}${
            block.reason &&
            html`
              ${' '}
              <span class="muted">${t('unblock.reason', { reason: block.reason })}</span>
            `
          }
        </p>
        <${Failed} desk=${desk} problem=${change.problem} a=${null} close=${close} />
        <footer class="actions">
          <button type="button" class="btn primary" autofocus onClick=${() => change.go(block.id)}>
            ${t('block.drop.do')}
          </button>
          <button type="button" class="btn" onClick=${() => close()}>${t('cancel')}</button>
        </footer>
      </div>
    </${Dialog}>
  `
}

export function Unblock({ desk, specialistId, id, date, close }) {
  const s = desk.store.get(),
    name = specialistName(s, specialistId)
  const override = s.hours[specialistId]?.overrides.find(o => o.id === id)
  const change = useChange(async () => {
    await desk.dropOverride(specialistId, id)
    desk.toast('unblock.done', { who: name, date: write('shortDay', date) })
    close()
  })
  return html`
    <${Dialog} title=${t('unblock.title', { date: write('longDay', date) })} close=${close}>
      <div class="stack">
        <p>
          ${t('unblock.body', { who: name })}${
            override?.reason &&
            html`
              ${' '}
              <span class="muted">${t('unblock.reason', { reason: override.reason })}</span>
            `
          }
        </p>
        <${Failed} desk=${desk} problem=${change.problem} a=${null} close=${close} />
        <footer class="actions">
          <button type="button" class="btn primary" autofocus onClick=${() => change.go(id)}>${t('unblock.do')}</button>
          <button type="button" class="btn" onClick=${() => close()}>${t('cancel')}</button>
        </footer>
      </div>
    </${Dialog}>
  `
}
