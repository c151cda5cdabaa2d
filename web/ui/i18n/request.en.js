// What is confirmed first.
export default {
  'asked.title': 'Check your email',
  'asked.title.desk': 'The clinic has your request',
  'asked.mail': '**Not booked yet.** We have sent a link to {to}. Open it by {until} to confirm. The time is kept for you until then.',
  'asked.desk': '**Not booked yet.** The clinic confirms it by {until}; the time is kept for you until then. Questions? Call {phone}.',
  'request.title': 'Confirm your appointment',
  'request.lead': 'It is **not booked yet**. The time is kept for you until {until}.',
  'request.waits': 'It is **not booked yet**: the clinic decides. The time is kept for you until {until} at the latest.',
  'request.do': 'Confirm appointment',
  'request.decline': 'I do not want it',
  'request.declined': '**This request was declined.** The time is free for someone else. Questions? Call {phone}.',
  'request.lapsed': '**This request was not confirmed in time.** The time may still be free: book again.',
}
