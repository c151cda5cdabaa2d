// The server's current activity: six numbers, charts of their last 5 minutes, and every live hold.
import { html, useEffect, useRef, useState } from '../lib/html.js'
import { get, Problem } from '../lib/api.js'
import { Icon } from '../lib/icons.js'
import { Notice } from '../lib/notice.js'
import { t } from '../lib/i18n.js'
import { countdown, dayAndTime } from '../lib/time.js'
import { Chart, shown } from './chart.js'
import { Office, Trouble, Nothing } from './office.js'
import { specialistName, typeName } from './words.js'

const every = 2000,
  kept = 150,
  slow = 5
const bookings = /^holdfast_bookings_total\{source="\w+"\} (\S+)/
const bucket = /^holdfast_http_request_seconds_bucket\{kind="(?:page|read|write)",le="([^"]*)"\} (\S+)/

// readMetrics reads the bookings and the request durations from /metrics. It leaves out requests of operators, such as
// those of this page, and requests that wait for an external server.
function readMetrics(text) {
  const found = { booked: 0, buckets: {} }
  for (const line of text.split('\n')) {
    let m = bookings.exec(line)
    if (m) found.booked += +m[1]
    m = bucket.exec(line)
    if (m) found.buckets[m[1]] = (found.buckets[m[1]] || 0) + +m[2]
  }
  return found
}
// quantile returns a latency in ms: the given share of the requests between two readings were not slower.
function quantile(before, after, share) {
  const edges = Object.keys(after)
    .map(le => [le === '+Inf' ? Infinity : +le, after[le] - (before[le] || 0)])
    .sort((a, b) => a[0] - b[0])
  const all = edges.at(-1)?.[1] || 0
  if (!all) return null
  let low = 0,
    below = 0
  for (const [edge, n] of edges) {
    if (n >= all * share)
      return (edge === Infinity ? low : low + ((edge - low) * (all * share - below)) / Math.max(1, n - below)) * 1000
    low = edge
    below = n
  }
  return null
}

function useFigures(desk, paused) {
  const [state, setState] = useState({ rows: [], storage: null, locks: [], problem: null })
  const seen = useRef({ n: 0, metrics: null, at: 0, values: [null, null, null, null] })
  useEffect(() => {
    if (paused) return
    let gone = false
    const measure = async () => {
      if (document.hidden) return
      const s = seen.current
      try {
        const [storage, locks] = await desk.call(() =>
          Promise.all([get('/v1/debug/storage', {}, { tries: 1 }), get('/v1/debug/locks', {}, { tries: 1 })]),
        )
        if (s.n++ % slow === 0) {
          const [text, queue] = await Promise.all([
            fetch('/metrics', { credentials: 'same-origin' }).then(r => {
              if (!r.ok) throw new Problem(r.status)
              return r.text()
            }),
            get('/v1/queue-status', { kind: 'all', limit: 1 }, { tries: 1 }).catch(() => null),
          ])
          const now = readMetrics(text),
            at = Date.now()
          if (s.metrics)
            s.values = [
              ((now.booked - s.metrics.booked) / (at - s.at)) * 60000,
              quantile(s.metrics.buckets, now.buckets, 0.5),
              quantile(s.metrics.buckets, now.buckets, 0.99),
              queue ? queue.pending + queue.processing : null,
            ]
          else s.values = [null, null, null, queue ? queue.pending + queue.processing : null]
          s.metrics = now
          s.at = at
        }
        if (gone) return
        const row = [
          Math.round(Date.now() / 1000),
          storage.stats.holds,
          storage.stats.streams,
          storage.stats.online,
          ...s.values,
        ]
        setState(was => ({ rows: [...was.rows, row].slice(-kept), storage, locks: locks.lockedSlots, problem: null }))
      } catch (problem) {
        if (!gone) setState(was => ({ ...was, problem }))
      }
    }
    measure()
    const timer = setInterval(measure, every)
    return () => {
      gone = true
      clearInterval(timer)
    }
  }, [paused])
  return state
}

// timeLeft writes the rest of a hold. That of a request can last for days.
const timeLeft = seconds => {
  const s = Math.ceil(seconds)
  return s < 3600 ? countdown(s) : `${Math.floor(s / 3600)}:${countdown(s % 3600)}`
}

export function Page({ desk }) {
  const [paused, setPaused] = useState(false)
  const { rows, storage, locks, problem } = useFigures(desk, paused)
  const last = rows.at(-1) || [],
    s = desk.store.get()
  const column = (...is) => rows.map(r => [r[0], ...is.map(i => r[i])])
  const tiles = [
    ['holds', last[1]],
    ['streams', last[2]],
    ['bookings', last[4]],
    ['latency', last[5] == null ? null : `${shown(last[5])} / ${shown(last[6])}`],
    ['queue', last[7]],
    ['online', last[3]],
  ]
  return html`
    <${Office}
      desk=${desk}
      name="live"
      tools=${html`
        <button type="button" class="btn" aria-pressed=${paused ? 'true' : 'false'} onClick=${() => setPaused(!paused)}>
          <${Icon} name=${paused ? 'play' : 'pause'} />
          ${t(paused ? 'live.go' : 'live.pause')}
        </button>
      `}
    >
      <${Trouble} problem=${problem} />
      ${
        storage &&
        html`
          <${Notice}
            kind=${storage.storageMode === 'fallback' || !storage.healthCheck ? 'warn' : 'ok'}
            icon=${storage.storageMode === 'fallback' ? 'alert' : undefined}
            text=${!storage.healthCheck ? 'live.storage.failing' : 'live.storage.' + storage.storageMode}
          />
        `
      }
      <dl class="tiles">
        ${tiles.map(
          ([key, value]) => html`
            <div key=${key}>
              <dt>${t('live.' + key)}</dt>
              <dd>${typeof value === 'string' ? value : shown(value)}</dd>
            </div>
          `,
        )}
      </dl>
      <div class="charts">
        <${Chart}
          title=${t('live.holds')}
          series=${[{ label: t('live.holds'), colour: '--accent' }]}
          rows=${column(1)}
        />
        <${Chart}
          title=${t('live.streams')}
          series=${[{ label: t('live.streams'), colour: '--t2' }]}
          rows=${column(2)}
        />
        <${Chart}
          title=${t('live.bookings')}
          series=${[{ label: t('live.bookings'), colour: '--ok' }]}
          rows=${column(4)}
        />
        <${Chart}
          title=${t('live.latency')}
          unit="ms"
          whole=${false}
          series=${[
            { label: 'p50', colour: '--t4' },
            { label: 'p99', colour: '--t5' },
          ]}
          rows=${column(5, 6)}
        />
        <${Chart} title=${t('live.queue')} series=${[{ label: t('live.queue'), colour: '--t3' }]} rows=${column(7)} />
        <section class="plate">
          <h2>${t('live.locks', { n: locks.length })}</h2>
          ${
            locks.length
              ? html`
                  <div class="scroll" tabindex="0" role="region" aria-label=${t('live.locks', { n: locks.length })}>
                    <table class="grid-table">
                      <thead>
                        <tr>
                          <th scope="col">${t('live.slot')}</th>
                          <th scope="col">${t('office.specialist')}</th>
                          <th scope="col">${t('live.type')}</th>
                          <th scope="col">${t('live.client')}</th>
                          <th scope="col">${t('live.left')}</th>
                        </tr>
                      </thead>
                      <tbody>
                        ${[...locks]
                          .sort((a, b) => a.ttlSeconds - b.ttlSeconds)
                          .map(
                            l => html`
                              <tr key=${l.specialistId + l.slotStartDate + l.client}>
                                <th scope="row">${dayAndTime(l.slotStartDate)}</th>
                                <td><bdi>${specialistName(s, l.specialistId)}</bdi></td>
                                <td>${typeName(s, l.appointmentTypeId)}</td>
                                <td><code>${l.client}</code></td>
                                <td>${timeLeft(l.ttlSeconds)}</td>
                              </tr>
                            `,
                          )}
                      </tbody>
                    </table>
                  </div>
                `
              : html`
                  <${Nothing} icon="pulse">${t('live.nolocks')}</${Nothing}>
                `
          }
        </section>
      </div>
    </${Office}>
  `
}
