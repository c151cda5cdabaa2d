// One line chart (uPlot, vendored) with a table of the same numbers. series: [{label, colour}]. rows: [[seconds,
// value, …]…], oldest first; a value can be null.
import { html, useEffect, useRef } from '../lib/html.js'
import { t } from '../lib/i18n.js'
import { locale } from '../lib/i18n.js'
import { zone } from '../lib/time.js'

let loading
const library = () =>
  (loading ||= new Promise((done, fail) => {
    const at = file => new URL('../vendor/' + file, import.meta.url).href
    document.head.append(Object.assign(document.createElement('link'), { rel: 'stylesheet', href: at('uplot.css') }))
    document.head.append(
      Object.assign(document.createElement('script'), {
        src: at('uplot.min.js'),
        onload: () => done(window.uPlot),
        onerror: fail,
      }),
    )
  }))
const clock = new Intl.DateTimeFormat(locale, { timeZone: zone, hour: '2-digit', minute: '2-digit', second: '2-digit' })
const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 })
const edge = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 })
export const shown = value => (value == null ? '–' : number.format(value))
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

// The chart shows at least one minute, so that the first numbers form a line instead of a dot. For a single point in
// time, uPlot would show a whole day.
const minute = (_, from, to) => {
  from ??= Date.now() / 1000
  return [from, to - from < 3600 ? Math.max(to, from + 60) : from + 60]
}

export function Chart({ title, unit = '', whole = true, series, rows }) {
  const box = useRef(),
    plot = useRef(),
    latest = useRef(rows)
  latest.current = rows
  const columns = list => (list.length ? list[0].map((_, i) => list.map(r => r[i])) : [[], ...series.map(() => [])])
  useEffect(() => {
    let gone = false
    const draw = async () => {
      const uPlot = await library()
      if (gone || !box.current) return
      plot.current?.destroy()
      const axis = {
        stroke: colour('--ink-2'),
        grid: { stroke: colour('--line'), width: 1 },
        ticks: { show: false },
        font: '12px system-ui',
      }
      plot.current = new uPlot(
        {
          width: box.current.clientWidth,
          height: 170,
          legend: { show: false },
          cursor: { show: false },
          padding: [8, 30, 0, 0],
          scales: { x: { range: minute }, y: { range: (_, min, max) => [0, Math.max(1, (max || 0) * 1.15)] } },
          axes: [
            { ...axis, space: 70, size: 26, values: (_, at) => at.map(s => clock.format(s * 1000)) },
            {
              ...axis,
              size: 46,
              space: 30,
              ...(whole && {
                incrs: [1, 2, 5].flatMap(n => Array.from({ length: 8 }, (_, e) => n * 10 ** e)).sort((a, b) => a - b),
              }),
              values: (_, v) => v.map(edge.format),
            },
          ],
          series: [
            {},
            ...series.map((s, i) => ({
              stroke: colour(s.colour),
              width: 2,
              dash: i ? [6, 4] : [],
              points: { show: false },
              spanGaps: true,
            })),
          ],
        },
        columns(latest.current),
        box.current,
      )
    }
    draw().catch(() => {})
    const theme = matchMedia('(prefers-color-scheme: dark)')
    theme.addEventListener('change', draw)
    // The box can be missing here, because it is removed before the observer is disconnected.
    const size = new ResizeObserver(() => {
      if (box.current) plot.current?.setSize({ width: box.current.clientWidth, height: 170 })
    })
    size.observe(box.current)
    return () => {
      gone = true
      theme.removeEventListener('change', draw)
      size.disconnect()
      plot.current?.destroy()
    }
  }, [])
  useEffect(() => {
    plot.current?.setData(columns(rows))
  }, [rows])
  // The table has one row for every 10 s, because users of a screen reader do not need every value.
  const told = rows
    .filter((_, i) => (rows.length - 1 - i) % 5 === 0)
    .slice(-30)
    .reverse()
  return html`
    <section class="plate chart">
      <header>
        <h2>${title}</h2>
        ${
          series.length > 1 &&
          html`
            <p class="legend">
              ${series.map(
                (s, i) => html`
                  <span key=${s.label}>
                    <svg viewBox="0 0 24 4" aria-hidden="true">
                      <path d="M0 2h24" style=${{ stroke: `var(${s.colour})`, strokeDasharray: i ? '6 4' : 'none' }} />
                    </svg>
                    ${s.label}
                  </span>
                `,
              )}
            </p>
          `
        }
      </header>
      <div class="plot" ref=${box} aria-hidden="true"></div>
      <details>
        <summary>
          ${t('live.table')}
          <span class="sr">${' '}${title}</span>
        </summary>
        <div class="scroll" tabindex="0" role="region" aria-label=${title}>
          <table class="grid-table">
            <thead>
              <tr>
                <th scope="col">${t('live.time')}</th>
                ${series.map(
                  s => html`
                    <th scope="col" key=${s.label}>${s.label}${unit && ' (' + unit + ')'}</th>
                  `,
                )}
              </tr>
            </thead>
            <tbody>
              ${told.map(
                r => html`
                  <tr key=${r[0]}>
                    <th scope="row">${clock.format(r[0] * 1000)}</th>
                    ${r.slice(1).map(
                      (v, i) => html`
                        <td key=${i}>${shown(v)}</td>
                      `,
                    )}
                  </tr>
                `,
              )}
            </tbody>
          </table>
        </div>
      </details>
    </section>
  `
}
