// The server's clock, as seen from here. A patient's phone may be minutes wrong; what is bookable
// and when a hold ends is the server's to say.
let skew = 0
let best = Infinity

// The Date header has whole seconds, so its half is added; the quickest answer is believed most.
export function heard(header, sent, received) {
  const said = Date.parse(header)
  const trip = received - sent
  if (!said || trip > best) return
  best = trip
  const off = said + 500 - (sent + received) / 2
  skew = Math.abs(off) < 1500 ? 0 : off
}
export const serverNow = () => Date.now() + skew
// Milliseconds on a clock that nobody sets, for countdowns.
export const mono = () => performance.now()
