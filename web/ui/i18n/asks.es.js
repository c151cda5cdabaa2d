// Español, para lo que la clínica pregunta además del nombre.
export default {
  'ask.yes': 'Sí',
  'ask.no': 'No',
  'ask.err': 'Responda, por favor: {question}',
  'ask.new': 'No he estado aquí antes',
  'ask.new.err': 'Esto es para pacientes nuevos. Confirme que no ha estado aquí antes o elija otra cosa',
  'ask.consent.err': 'Acepte el texto junto a la casilla o llame a la clínica',
  'approval.lead': 'La clínica decide. Mientras tanto le guardamos la hora.',
  'approval.do': 'Enviar solicitud',
  'approval.doing': 'Enviando',
}
