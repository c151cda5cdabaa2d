// A bar chart as inline SVG: one group of bars for each period, stacked or side by side. For screen readers, the chart
// is one image, because the table of the page contains the same numbers.
import { html } from '../lib/html.js'
import { locale, t } from '../lib/i18n.js'

const width = 640,
  height = 160,
  left = 52,
  foot = 22

const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 })
// shown writes a number as the reader's language does.
export const shown = value => number.format(value)

// top returns the next round number that is at least the largest value.
function top(most) {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1)))
  return [1, 2, 5, 10].map(x => x * power).find(x => x >= most)
}

// groups are {label, values}. names has the name of each value. The bars of the values have the classes bar-1, bar-2
// and so on.
export function Bars({ title, groups, names, stacked = false, unit = '' }) {
  const sizes = groups.map(g => (stacked ? g.values.reduce((a, b) => a + b, 0) : Math.max(...g.values)))
  const most = top(Math.max(1, ...sizes)),
    step = (width - left) / Math.max(1, groups.length),
    y = value => height - (value / most) * height
  const every = Math.ceil(groups.length / 12), // show at most 12 labels
    last = groups.length - 1
  const bars = (g, i) => {
    let base = 0
    const all = Math.min(step * 0.7, 96),
      bar = all / (stacked ? 1 : names.length)
    return g.values.map((value, n) => {
      const x = left + i * step + (step - all) / 2 + (stacked ? 0 : n * bar),
        from = stacked ? base : 0
      base += value
      return html`
        <rect
          key=${n}
          class=${'bar-' + (n + 1)}
          x=${x}
          y=${y(from + value)}
          width=${bar}
          height=${(value / most) * height}
        />
      `
    })
  }
  const line = value => html`
    <line class="bar-line" x1=${left} x2=${width} y1=${y(value)} y2=${y(value)} />
    <text x=${left - 6} y=${y(value) + 4} text-anchor="end">${shown(value)}${unit}</text>
  `
  return html`
    <figure class="bars">
      <figcaption>
        <h2>${title}</h2>
        <ul hidden=${names.length < 2}>
          ${names.map(
            (name, n) => html`
              <li key=${n}>
                <svg viewBox="0 0 10 10" aria-hidden="true">
                  <rect class=${'bar-' + (n + 1)} width="10" height="10" />
                </svg>
                ${' '}
                <bdi>${name}</bdi>
              </li>
            `,
          )}
        </ul>
      </figcaption>
      ${
        sizes.some(x => x > 0)
          ? html`
              <svg viewBox=${`0 -12 ${width} ${height + foot + 12}`} role="img" aria-label=${title}>
                ${[0, most / 2, most].map(line)} ${groups.map(bars)}
                ${groups.map(
                  (g, i) =>
                    (last - i) % every === 0 &&
                    html`
                      <text
                        key=${i}
                        class=${((last - i) / every) % 2 ? 'bar-other' : ''}
                        x=${left + i * step + step / 2}
                        y=${height + 18}
                        text-anchor="middle"
                      >
                        ${g.label}
                      </text>
                    `,
                )}
              </svg>
            `
          : html`
              <p>${t('report.none')}</p>
            `
      }
    </figure>
  `
}
