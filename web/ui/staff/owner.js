// The list of pages other than the calendar, in three groups: the daily work, the clinic, and the office. Each page is
// a separate file that exports Page({desk, rest}). more.js exports all of them.
import { paths } from '../lib/icons.js'

Object.assign(paths, {
  queue: 'M4 6h16M4 12h10M4 18h7M17 14v6m0 0l-2.5-2.5M17 20l2.5-2.5',
  call: 'M4 5h16v11H9l-5 4z',
  pause: 'M9 5v14M15 5v14',
  pulse: 'M3 12h4l3-7 4 14 3-7h4',
  people:
    'M9 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM2.5 19.5c.6-3 3-4.7 6.5-4.7s5.9 1.7 6.5 4.7M16 5.5a3 3 0 0 1 0 6M18.5 15c1.7.7 2.7 2.2 3 4.5',
  away: 'M5 7h14v13H5zM9 7V4h6v3M9.5 11.5l5 5m0-5l-5 5',
  list: 'M9 6h11M9 12h11M9 18h11M4.5 6v.1m0 5.9v.1m0 5.9v.1',
  key: 'M14.5 4.5a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM11 13l-7.5 7.5M6 18l2.5 2.5',
  gear: 'M12 8.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM12 2.8v2.7m0 13v2.7M5.5 5.5l1.9 1.9m9.2 9.2l1.9 1.9M2.8 12h2.7m13 0h2.7M5.5 18.5l1.9-1.9m9.2-9.2l1.9-1.9',
  bars: 'M5 20V11m7 9V4m7 16v-6',
  log: 'M6 3.5h9l4 4v13H6zM9.5 11h6M9.5 15h6M9.5 7.5h2',
  up: 'M12 19V5m-6 6l6-6 6 6',
  down: 'M12 5v14m-6-6l6 6 6-6',
  again: 'M20 5v5h-5M19.5 10A8 8 0 1 0 20 14',
  trash: 'M4 7h16M9 7V4h6v3M6.5 7l1 13h9l1-13',
})

const owner = ['owner'],
  front = ['owner', 'reception'],
  everybody = ['owner', 'reception', 'specialist']

export const ownerPages = [
  { id: 'requests', group: 'desk', icon: 'check', roles: everybody },
  { id: 'waitlist', group: 'desk', icon: 'list', roles: front },
  { id: 'queue', group: 'desk', icon: 'queue', roles: front },
  { id: 'sessions', group: 'desk', icon: 'call', roles: everybody, covers: ['online'] },
  { id: 'online', group: 'desk', roles: everybody },
  { id: 'live', group: 'desk', icon: 'pulse', roles: front },
  { id: 'plan', group: 'desk', icon: 'print', roles: everybody, covers: ['byhand'] },
  { id: 'byhand', group: 'desk', roles: everybody },
  { id: 'specialists', group: 'clinic', icon: 'people', roles: owner, covers: ['hours'] },
  { id: 'hours', group: 'clinic', roles: owner },
  { id: 'overrides', group: 'clinic', icon: 'away', roles: everybody, covers: ['away'] },
  { id: 'away', group: 'clinic', roles: front },
  { id: 'closed', group: 'clinic', icon: 'stop', roles: everybody },
  { id: 'types', group: 'clinic', icon: 'list', roles: owner },
  { id: 'users', group: 'office', icon: 'person', roles: owner },
  { id: 'keys', group: 'office', icon: 'key', roles: owner },
  { id: 'settings', group: 'office', icon: 'gear', roles: owner },
  { id: 'data', group: 'office', icon: 'down', roles: owner },
  { id: 'reports', group: 'office', icon: 'bars', roles: owner },
  { id: 'audit', group: 'office', icon: 'log', roles: owner },
  { id: 'account', group: 'me', roles: everybody },
]
