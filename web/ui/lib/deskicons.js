// The icons that only the staff pages need. Importing this file adds them to Icon.
import { paths } from './icons.js'

Object.assign(paths, {
  person: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4.5 20.5c.8-3.6 3.8-5.5 7.5-5.5s6.7 1.9 7.5 5.5',
  circle: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16z',
  play: 'M8 5.5l10 6.5-10 6.5z',
  plus: 'M12 5v14M5 12h14',
  menu: 'M4 7h16M4 12h16M4 17h16',
  leave: 'M10 4H5v16h5M14.5 8l4 4-4 4M18 12H9',
  eye: 'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 9.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6z',
  eyeoff:
    'M4 4l16 16M9.5 6a9.6 9.6 0 0 1 2.5-.5c6 0 9.5 6.5 9.5 6.5a16 16 0 0 1-2.6 3.3M6 7.8A15.5 15.5 0 0 0 2.5 12S6 18.5 12 18.5a9.5 9.5 0 0 0 4.3-1',
  sliders: 'M4 8h9m4 0h3M4 16h3m4 0h9M15 6v4M9 14v4',
  over: 'M8 8h11v11H8zM5 16V5h11',
  note: 'M6 4h12v16H6zM9 9h6M9 13h4',
  stop: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM6 6l12 12',
  help: 'M9 9.2a3 3 0 1 1 4.2 2.700c-.8.4-1.2 1-1.2 2m0 3v.1M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
  print: 'M7 9V4h10v5M7 17H4v-7h16v7h-3M7 14h10v6H7z',
  fold: 'M4 5h16v14H4zM9.5 5v14M16 9.5L13.5 12l2.5 2.5',
  blank: '',
  find: 'M4 9.500h16M8 3v4m8-4v4M20 11V5.500H4V20h7M16.500 13a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zm2.500 6l2.500 2.500',
  inbox: 'M4 13l2.500-8h11l2.500 8v6H4zM4 13h5l1.500 2.500h3L15 13h5',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zm5.2 12.2L21 21',
})

// The icon of each attendance, the same on every page.
export const attendanceIcon = {
  expected: 'circle',
  arrived: 'clock',
  in_progress: 'play',
  completed: 'check',
  no_show: 'close',
}
