// The icons that only the clinic's own pages need. Importing this file adds them to Icon.
import { paths } from './icons.js'

Object.assign(paths, {
  person: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4.5 20.5c.8-3.6 3.8-5.5 7.5-5.5s6.7 1.9 7.5 5.5',
  circle: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16z',
  play: 'M8 5.5l10 6.5-10 6.5z',
  plus: 'M12 5v14M5 12h14',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zm5.2 12.2L21 21',
})

// The sign of each attendance, the same wherever it is shown.
export const attendanceIcon = {
  expected: 'circle', arrived: 'clock', in_progress: 'play', completed: 'check', no_show: 'close',
}
