// Deutsch, für das, was eine Praxis neben dem Namen fragt.
export default {
  'ask.yes': 'Ja',
  'ask.no': 'Nein',
  'ask.err': 'Bitte antworten Sie: {question}',
  'ask.new': 'Ich war noch nicht hier',
  'ask.new.err': 'Das ist für neue Patienten. Bestätigen Sie, dass Sie noch nicht hier waren, oder wählen Sie etwas anderes',
  'ask.consent.err': 'Bitte stimmen Sie dem Text neben dem Kästchen zu, oder rufen Sie an',
  'approval.lead': 'Die Praxis entscheidet darüber. Die Zeit wird so lange für Sie freigehalten.',
  'approval.do': 'Anfrage senden',
  'approval.doing': 'Wird gesendet',
}
