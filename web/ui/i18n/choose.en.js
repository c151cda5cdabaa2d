// English, for choosing among many.
export default {
  'what.search': 'Search, by what it is or with whom',
  'what.found': { one: '{n} found', other: '{n} found' },
  'what.nothing': 'Nothing like that. Try another word, or clear the search.',
  'what.other': 'More',
  'who.search': 'Search by name',
  'type.new': 'For new patients',
  'type.approval': 'By request',
  'where.title': 'Where?',
  'where.any': 'Anywhere',
}
