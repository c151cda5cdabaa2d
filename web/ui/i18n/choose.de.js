// Deutsch, für die Auswahl unter vielem.
export default {
  'what.search': 'Suche, nach Anliegen oder Person',
  'what.found': { one: '{n} gefunden', other: '{n} gefunden' },
  'what.nothing': 'Nichts dergleichen. Versuchen Sie ein anderes Wort, oder leeren Sie die Suche.',
  'what.other': 'Weitere',
  'who.search': 'Nach Namen suchen',
  'type.new': 'Für neue Patienten',
  'type.approval': 'Auf Anfrage',
  'where.title': 'Wo?',
  'where.any': 'Egal wo',
}
