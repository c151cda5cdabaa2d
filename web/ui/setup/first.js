// The second screen: one specialist, the weekly hours and one appointment type, next to a preview of the times that
// patients would see. The server computes the preview, so the page creates the specialist and the type, deactivated,
// for the first preview. When the person continues, the page activates both.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { get, newKey, patch, post, put, del } from '../lib/api.js'
import { t } from '../lib/i18n.js'
import { ErrorSummary, Field } from '../lib/form.js'
import { Trouble } from '../lib/trouble.js'
import { dateOf } from '../lib/time.js'
import { serverNow } from '../lib/clock.js'
import { recall, remember } from '../lib/store.js'
import { faulty, usualHours, WeekHours } from '../staff/weekhours.js'
import { Preview } from '../staff/preview.js'
import { Heading } from './page.js'

export function First({ clinic, done }) {
  const [form, setForm] = useState({
    name: '',
    type: t('setup.type.usual'),
    minutes: '30',
    hours: usualHours,
    ...recall('setup.first'),
  })
  const [loaded, setLoaded] = useState(false),
    [busy, setBusy] = useState(false)
  const [errors, setErrors] = useState([]),
    [tries, setTries] = useState(0),
    [problem, setProblem] = useState(null)
  const made = useRef({ specialist: null, type: null, minutes: 0 })
  const change = part => {
    const next = { ...form, ...part }
    setForm(next)
    remember('setup.first', next)
  }
  // Continue with the specialist and the type that an earlier visit created.
  useEffect(() => {
    const look = async () => {
      const [{ specialists }, { appointmentTypes }] = await Promise.all([
        get('/v1/specialists'),
        get('/v1/appointment-types'),
      ])
      const specialist = specialists[0],
        type = appointmentTypes[0]
      made.current = { specialist: specialist?.id, type: type?.id, minutes: type?.durationMinutes }
      if (specialist && !recall('setup.first')) {
        const { weeklyHours } = await get(`/v1/specialists/${specialist.id}/weekly-hours`)
        setForm(f => ({
          ...f,
          name: specialist.name,
          hours: weeklyHours.length ? weeklyHours : f.hours,
          ...(type && { type: type.name, minutes: String(type.durationMinutes) }),
        }))
      }
      setLoaded(true)
    }
    look().catch(setProblem)
  }, [])

  const minutes = Math.round(+form.minutes),
    minutesFine = minutes >= 5 && minutes <= 480
  // Run one request at a time: two previews must not create two specialists.
  const queue = useRef(Promise.resolve())
  const ensure = active => {
    const run = async () => {
      const m = made.current
      const name = form.name.trim() || t('setup.specialist.usual')
      if (!m.specialist)
        m.specialist = (
          await post('/v1/specialists', { name, timezone: clinic.timezone, active: false }, { key: newKey() })
        ).specialist.id
      if (!m.type) {
        m.type = (
          await post(
            '/v1/appointment-types',
            {
              name: form.type.trim() || t('setup.type.usual'),
              durationMinutes: minutes,
              slotStepMinutes: minutes,
              active: false,
              specialists: [{ specialistId: m.specialist, priority: 10 }],
            },
            { key: newKey() },
          )
        ).appointmentType.id
        m.minutes = minutes
      }
      if (m.minutes !== minutes || active) {
        await patch('/v1/appointment-types/' + m.type, {
          durationMinutes: minutes,
          slotStepMinutes: minutes,
          ...(active && {
            name: form.type.trim(),
            active: true,
            specialists: [{ specialistId: m.specialist, priority: 10 }],
          }),
        })
        m.minutes = minutes
      }
      if (active) await patch('/v1/specialists/' + m.specialist, { name, timezone: clinic.timezone, active: true })
    }
    return (queue.current = queue.current.catch(() => {}).then(run))
  }
  const ask = async ({ from, to }) => {
    await ensure(false)
    const q = new URLSearchParams({ dryRun: 'true', from, to, appointmentTypeId: made.current.type })
    return put(`/v1/specialists/${made.current.specialist}/weekly-hours?${q}`, form.hours)
  }
  async function submit(e) {
    e.preventDefault()
    if (busy) return
    const wrong = [
      !form.name.trim() && { id: 'specialist', message: t('setup.specialist.err') },
      !form.type.trim() && { id: 'type', message: t('setup.type.err') },
      !minutesFine && { id: 'minutes', message: t('setup.minutes.err') },
      (faulty(form.hours) || !form.hours.length) && {
        id: 'hours-monday-0-start',
        message: t(form.hours.length ? 'setup.hours.err' : 'setup.hours.none'),
      },
    ].filter(Boolean)
    setErrors(wrong)
    setTries(tries + 1)
    setProblem(null)
    if (wrong.length) return
    setBusy(true)
    try {
      await ensure(false)
      await put(`/v1/specialists/${made.current.specialist}/weekly-hours`, form.hours)
      await ensure(true)
      done()
    } catch (failed) {
      setBusy(false)
      setProblem(failed)
    }
  }
  // A clinic that imports its data does not need the drafts, so delete them.
  async function skip() {
    setBusy(true)
    const m = made.current
    try {
      await queue.current.catch(() => {})
      const [{ specialists }, { appointmentTypes }] = await Promise.all([
        get('/v1/specialists'),
        get('/v1/appointment-types'),
      ])
      if (appointmentTypes.some(x => x.id === m.type && !x.active)) await del('/v1/appointment-types/' + m.type)
      if (specialists.some(x => x.id === m.specialist && !x.active)) await del('/v1/specialists/' + m.specialist)
      done()
      location.assign('/staff#data')
    } catch (failed) {
      setBusy(false)
      setProblem(failed)
    }
  }
  const error = id => errors.find(e => e.id === id)?.message
  const ready = loaded && minutesFine && !faulty(form.hours) && form.hours.length > 0
  return html`
    <${Heading}>${t('setup.first.title')}</${Heading}>
    <p class="lead">${t('setup.first.lead')}</p>
    <form class="beside" onSubmit=${submit} novalidate>
      <div class="pile">
        <${ErrorSummary} errors=${errors} n=${tries} />
        <${Trouble} problem=${problem} />
        <${Field}
          id="specialist"
          label=${t('setup.specialist')}
          hint=${t('setup.specialist.hint')}
          error=${error('specialist')}
          value=${form.name}
          input=${name => change({ name })}
          maxlength="200"
        />
        <div class="duo uneven">
          <${Field}
            id="type"
            label=${t('setup.type')}
            error=${error('type')}
            value=${form.type}
            input=${type => change({ type })}
            maxlength="200"
          />
          <${Field}
            id="minutes"
            label=${t('setup.minutes')}
            error=${error('minutes')}
            value=${form.minutes}
            input=${m => change({ minutes: m })}
            inputmode="numeric"
            maxlength="3"
          />
        </div>
        <section class="plate">
          <h2>${t('setup.hours')}</h2>
          <${WeekHours} hours=${form.hours} change=${hours => change({ hours })} />
        </section>
        <div class="actions">
          <button type="submit" class="btn primary big" aria-disabled=${busy ? 'true' : undefined}>
            ${t(busy ? 'setup.saving' : 'continue')}
          </button>
          <button type="button" class="textlink" onClick=${skip}>${t('setup.skip')}</button>
        </div>
      </div>
      <aside class="plate" aria-label=${t('preview.title')}>
        <h2>${t('preview.title')}</h2>
        ${
          ready
            ? html`
                <${Preview}
                  ask=${ask}
                  signature=${JSON.stringify([form.hours, minutes])}
                  from=${dateOf(serverNow(), clinic.timezone)}
                  zone=${clinic.timezone}
                />
              `
            : html`
                <p class="muted">${t(loaded ? 'preview.unready' : 'preview.loading')}</p>
              `
        }
      </aside>
    </form>
  `
}
