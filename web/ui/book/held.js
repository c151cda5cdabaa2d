// A card with the held time, its countdown and the messages about the hold: the warning before it expires, and whether
// it was extended, claimed again or has expired.
import { html, useEffect, useRef } from '../lib/html.js'
import { boot, nameOf } from '../lib/boot.js'
import { Notice } from '../lib/notice.js'
import { maxKeeps } from '../lib/hold.js'
import { say } from '../lib/say.js'
import { t } from '../lib/i18n.js'
import { countdown, foreignZone, range, time, write } from '../lib/time.js'
import { Name } from './shell.js'

// placeName returns the name of the place of an appointment, if the clinic has several places and the patient comes to
// one of them.
export const placeName = (type, id) => boot.places[1] && !type.remote && boot.places.find(x => x.id === id)?.name

export function HoldCard({ hold, type, keep, reclaim }) {
  const last = useRef()
  const { left, phase } = hold
  const at = time(hold.start)
  const minutes = Math.ceil(left / 60)
  const warning = phase === 'warning'
  // Screen readers announce the countdown at 5, 2 and 1 minutes, not every second. After the device has slept, the
  // countdown can pass two of these points at once.
  useEffect(() => {
    const before = last.current
    last.current = left
    if (!(left > 0) || phase === 'booking') return
    const step = [60, 120, 300].find(x => left <= x && before > x)
    if (step) say(t(step > 120 ? 'hold.left.sr' : 'hold.warn', { time: at, n: minutes }))
  }, [left])
  useEffect(() => {
    if (hold.note === 'kept') say(t('hold.kept', { time: at, m: Math.round(left / 60) }))
    if (hold.note === 'again') say(t('hold.again'))
  }, [hold.note, hold.keeps])
  const whole = type.maxHoldSeconds || 900
  const lapsed = phase === 'lapsed' || phase === 'reclaiming'
  const zone = foreignZone(hold.start)
  return html`
    <section class=${'hold ' + phase} aria-label=${t('summary.title')} data-phase=${phase}>
      <div class="hold-head">
        <p class="hold-when">
          <span>${write('longDay', hold.start)}</span>
          <b>${hold.end && hold.end !== hold.start ? range(hold.start, hold.end) : at}</b>
        </p>
        <p class="hold-left" role="timer">
          ${
            lapsed
              ? t(phase === 'lapsed' ? 'hold.lapsed.short' : 'hold.reclaiming')
              : left > 0
                ? t('hold.left', { clock: countdown(left) })
                : ''
          }
        </p>
      </div>
      <p class="hold-what">
        <${Name} of=${type.name} />
        ${
          hold.specialistId &&
          html`
            <span class="sep">·</span>
            <${Name} of=${nameOf(hold.specialistId)} />
          `
        }${
          placeName(type, hold.place) &&
          html`
            <span class="sep">·</span>
            <${Name} of=${placeName(type, hold.place)} />
          `
        }${
          zone &&
          html`
            <span class="sep">·</span>
            ${zone}
          `
        }
      </p>
      <div class="tide" aria-hidden="true">
        <i style=${{ transform: `scaleX(${lapsed ? 0 : Math.min(1, Math.max(0, (left || 0) / whole))})` }}></i>
      </div>
    </section>
    ${
      warning &&
      hold.keeps < maxKeeps &&
      html`
        <${Notice} kind="warn" text="hold.warn" params=${{ time: at, n: minutes }}>
          <button type="button" class="btn" onClick=${keep}>${t('hold.keep')}</button>
        </${Notice}>
      `
    }
    ${
      !warning &&
      !lapsed &&
      hold.note === 'kept' &&
      html`
        <${Notice} kind="ok" text="hold.kept" params=${{ time: at, m: Math.round(left / 60) }} />
      `
    }
    ${
      !warning &&
      !lapsed &&
      hold.note === 'again' &&
      html`
        <${Notice} text="hold.again" />
      `
    }
    ${
      phase === 'lapsed' &&
      html`
        <${Notice} kind="warn" text="hold.lapsed" params=${{ time: at }}>
          <button type="button" class="btn" onClick=${reclaim}>${t('hold.lapsed.do')}</button>
        </${Notice}>
      `
    }
  `
}
