// What is confirmed first.
export default {
  'asked.title': 'Schauen Sie in Ihre E-Mails',
  'asked.title.desk': 'Die Praxis hat Ihre Anfrage',
  'asked.mail': '**Noch nicht gebucht.** Wir haben einen Link an {to} geschickt. Öffnen Sie ihn bis {until}, um zu bestätigen. Bis dahin ist die Zeit für Sie frei gehalten.',
  'asked.desk': '**Noch nicht gebucht.** Die Praxis bestätigt den Termin bis {until}; bis dahin ist die Zeit für Sie frei gehalten. Fragen? Rufen Sie {phone} an.',
  'request.title': 'Bestätigen Sie Ihren Termin',
  'request.lead': 'Er ist **noch nicht gebucht**. Die Zeit ist bis {until} für Sie frei gehalten.',
  'request.waits': 'Der Termin ist **noch nicht gebucht**: Die Praxis entscheidet. Die Zeit bleibt bis spätestens {until} für Sie frei.',
  'request.do': 'Termin bestätigen',
  'request.decline': 'Ich möchte ihn nicht',
  'request.declined': '**Diese Anfrage wurde abgelehnt.** Die Zeit ist für andere frei. Fragen? Rufen Sie {phone} an.',
  'request.lapsed': '**Diese Anfrage wurde nicht rechtzeitig bestätigt.** Vielleicht ist die Zeit noch frei: Buchen Sie neu.',
}
