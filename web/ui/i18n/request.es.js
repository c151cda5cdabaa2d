// What is confirmed first.
export default {
  'asked.title': 'Revise su correo',
  'asked.title.desk': 'La clínica tiene su solicitud',
  'asked.mail': '**Aún no está reservada.** Hemos enviado un enlace a {to}. Ábralo antes de {until} para confirmar. Hasta entonces le guardamos la hora.',
  'asked.desk': '**Aún no está reservada.** La clínica la confirma antes de {until}; hasta entonces le guardamos la hora. ¿Preguntas? Llame al {phone}.',
  'request.title': 'Confirme su cita',
  'request.lead': '**Aún no está reservada**. Le guardamos la hora hasta {until}.',
  'request.waits': 'Aún **no está reservada**: la clínica decide. Le guardamos la hora hasta {until} como máximo.',
  'request.do': 'Confirmar la cita',
  'request.decline': 'No la quiero',
  'request.declined': '**Esta solicitud se rechazó.** La hora queda libre para otros. ¿Preguntas? Llame al {phone}.',
  'request.lapsed': '**Esta solicitud no se confirmó a tiempo.** Quizá la hora siga libre: reserve otra vez.',
}
