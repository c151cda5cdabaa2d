// English, for what a clinic asks beside the name.
export default {
  'ask.yes': 'Yes',
  'ask.no': 'No',
  'ask.err': 'Please answer: {question}',
  'ask.new': 'I have not been here before',
  'ask.new.err': 'This is for new patients. Confirm that you have not been here before, or choose something else',
  'ask.consent.err': 'Please agree to the text beside the box, or call the clinic',
  'approval.lead': 'The clinic decides about it. The time is held for you meanwhile.',
  'approval.do': 'Send request',
  'approval.doing': 'Sending',
}
