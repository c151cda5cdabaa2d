// Choosing a new time for an appointment, with the same days and times as booking. The server holds the new time
// until the patient confirms it. Until then, the patient keeps the old time.
import { html, useEffect, useMemo, useRef, useState } from '../lib/html.js'
import { nameOf, servingOf } from '../lib/boot.js'
import { useStore } from '../lib/store.js'
import { createHold, isHeld } from '../lib/hold.js'
import { renew } from '../lib/renew.js'
import { newKey } from '../lib/api.js'
import { t } from '../lib/i18n.js'
import { useHeading } from '../lib/router.js'
import { dateOf, dayAndTime, time, write } from '../lib/time.js'
import { say } from '../lib/say.js'
import { words as rich } from '../lib/notice.js'
import { createCalendar } from '../book/calendar.js'
import { Days } from '../book/days.js'
import { Times, timesOf } from '../book/times.js'
import { HoldCard, placeName } from '../book/held.js'
import { Lost } from '../book/lost.js'
import { LinkNotice } from '../book/problem.js'
import { Eyebrow, Name } from '../book/shell.js'

// send(body, key) posts the move. The view ends with done(appointment), fail(problem) or back(). Places is the choice
// of a place, if the patient has one: the view first lists the times at the place of the appointment.
export function Change({ a, type, token, back, done, fail, send, sign, Places }) {
  const [place, setPlace] = useState((Places && a.place) || '')
  const hold = useMemo(() => createHold(token), [])
  const calendar = useMemo(
    () => createCalendar({ type, place, moving: { token, ...a }, hear: hold.heard, reached: hold.reached }),
    [place],
  )
  const h = useStore(hold.store),
    s = useStore(calendar.store)
  const [moving, setMoving] = useState(false)
  const day = useRef('') // the shown day, which stays when the patient chooses another place
  day.current = s.day || day.current
  const away = useRef(false) // true while a move is being sent, and after the view has closed
  const again = problem => renew(hold.release, () => !away.current, problem)
  const refused = async problem => {
    await again(problem)
    fail(problem)
  }
  useEffect(() => {
    calendar.store.subscribe(({ problem }, was) => {
      if (problem && problem !== was.problem) again(problem)
    })
    calendar.start(day.current || dateOf(a.slotStartDate))
    return calendar.stop
  }, [calendar])
  useEffect(
    () => () => {
      away.current = true
      hold.release()
      hold.stop()
    },
    [],
  )
  useEffect(() => sign(s.link), [s.link])

  const held = isHeld(h) || h.phase === 'lapsed' || h.phase === 'reclaiming'
  const heading = useHeading(held ? 'confirm' : 'choose')
  const chosen = s.day && timesOf(s).find(x => x.start === s.chosen)
  const can = chosen?.status === 'free'
  const busy = h.phase === 'claiming'
  const claim = async slot => {
    const now = await hold.claim({ typeId: type.id, specialistId: '', place, start: slot.start, end: slot.end })
    if (now.phase === 'idle' && now.problem) await refused(now.problem)
  }
  const move = async e => {
    e.preventDefault()
    if (moving) return
    setMoving(true)
    away.current = true
    try {
      const { appointment } = await send(
        { slotStartDate: h.start, specialistId: h.specialistId, holdId: h.holdId },
        newKey(),
      )
      done(appointment)
    } catch (problem) {
      away.current = false
      if (problem.code === 'slot_taken' || problem.code === 'slot_held') hold.lose(problem)
      else await refused(problem)
      setMoving(false)
    }
  }
  const keep = async () => {
    if (!(await hold.keep())) say(t('hold.keep.failed'))
  }

  if (held) {
    return html`
      <${Eyebrow} back=${() => hold.release()} />
      <h1 tabindex="-1" ref=${heading}>${t('manage.change.confirm')}</h1>
      <dl class="move">
        <dt>${t('manage.change.from')}</dt>
        <dd>
          <s>${dayAndTime(a.slotStartDate)}</s>
          ${
            nameOf(a.specialistId) &&
            html`
              ,${' '}
              <${Name} of=${nameOf(a.specialistId)} />
            `
          }
          ${
            placeName(type, a.place) &&
            html`
              ,${' '}
              <${Name} of=${placeName(type, a.place)} />
            `
          }
        </dd>
      </dl>
      <h2>${t('manage.change.to')}</h2>
      <${HoldCard} hold=${h} type=${type} keep=${keep} reclaim=${hold.reclaim} />
      <form onSubmit=${move}>
        <div class="actions">
          <button type="submit" class="btn primary big" aria-disabled=${moving ? 'true' : undefined}>
            ${t(moving ? 'manage.change.doing' : 'manage.change.do', { time: dayAndTime(h.start) })}${moving && '…'}
          </button>
          <button type="button" class="textlink" onClick=${() => hold.release()}>${t('details.other')}</button>
        </div>
      </form>
    `
  }
  return html`
    <${Eyebrow} back=${back} />
    <h1 tabindex="-1" ref=${heading}>${t('manage.change.title')}</h1>
    <p class="lead">${rich('manage.change.note', { when: dayAndTime(a.slotStartDate) })}</p>
    <${LinkNotice} link=${s.link} asOf=${s.asOf} takeOver=${calendar.takeOver} />
    ${
      h.phase === 'lost' &&
      html`
        <${Lost} why=${h.why} start=${h.start} find=${() => calendar.around(h.start)} pick=${claim} busy=${busy} />
      `
    }
    <form
      onSubmit=${e => {
        e.preventDefault()
        if (can && !busy) claim(chosen)
      }}
      novalidate
    >
      ${
        Places &&
        html`
          <${Places} people=${servingOf(type)} place=${place} setPlace=${setPlace} heading="h2" />
        `
      }
      <${Days} calendar=${calendar} />
      <${Times} calendar=${calendar} />
      ${
        chosen &&
        html`
          <div class="bar">
            <p>
              ${
                can
                  ? html`
                      <span>${write('shortDay', chosen.start)},${' '}</span>
                      <b>${time(chosen.start)}</b>
                    `
                  : t(`slot.${chosen.status}.sr`, { time: time(chosen.start) })
              }
            </p>
            ${
              can &&
              html`
                <button type="submit" class="btn primary" aria-disabled=${busy ? 'true' : undefined}>
                  ${t(busy ? 'hold.doing' : 'hold.do', { time: time(chosen.start) })}${busy && '…'}
                </button>
              `
            }
          </div>
        `
      }
    </form>
  `
}
