// Español, para elegir entre muchas cosas.
export default {
  'what.search': 'Buscar, por motivo o persona',
  'what.found': { one: '{n} resultado', other: '{n} resultados' },
  'what.nothing': 'Nada parecido. Pruebe otra palabra o vacíe la búsqueda.',
  'what.other': 'Más',
  'who.search': 'Buscar por nombre',
  'type.new': 'Para pacientes nuevos',
  'type.approval': 'Con solicitud',
  'where.title': '¿Dónde?',
  'where.any': 'En cualquier lugar',
}
