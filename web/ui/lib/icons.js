// Inline icons on a 24 px grid with 2 px strokes. They are decorative: a text or a label is always next to them.
import { html } from './html.js'

export const paths = {
  back: 'M15 5l-7 7 7 7',
  next: 'M9 5l7 7-7 7',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  close: 'M6 6l12 12M18 6L6 18',
  clock: 'M12 7v5.2l3.2 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
  calendar: 'M4 9.5h16M8 3v4m8-4v4M5 5.5h14a1 1 0 0 1 1 1V19a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V6.5a1 1 0 0 1 1-1z',
  pin: 'M12 21s-7-6.2-7-11.5a7 7 0 0 1 14 0C19 14.8 12 21 12 21zM12 7.2a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z',
  phone:
    'M6.5 3.5h3l1.5 4.5-2 1.5a11 11 0 0 0 5.5 5.5l1.5-2 4.5 1.5v3a2 2 0 0 1-2.2 2A17 17 0 0 1 4.5 5.7a2 2 0 0 1 2-2.2z',
  mail: 'M3.5 6h17v12h-17zM4 6.5l8 6.5 8-6.5',
  link: 'M10 14a4 4 0 0 0 5.7 0l3.3-3.3a4 4 0 0 0-5.7-5.7L12 6.3M14 10a4 4 0 0 0-5.7 0L5 13.3A4 4 0 0 0 10.7 19L12 17.7',
  change: 'M4 8.5h14l-3.5-3.5M20 15.5H6l3.5 3.5',
  alert: 'M12 4L2.8 20h18.4zM12 10v4.5m0 2.7v.1',
  info: 'M12 11v5.5m0-9v.1M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
  offline: 'M3 3l18 18M4 12.5a11 11 0 0 1 5-2.7m5 0a11 11 0 0 1 6 2.7M8 16.5a6 6 0 0 1 8 0M12 20v.1',
}

export const Icon = ({ name, flip }) => html`
  <svg class=${'icon' + (flip ? ' flip' : '')} viewBox="0 0 24 24" aria-hidden="true"><path d=${paths[name]} /></svg>
`
