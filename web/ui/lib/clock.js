// An estimate of the server's clock. A patient's device may be minutes wrong; only the server's clock decides which
// times are bookable and when a hold expires.
let skew = 0
let best = Infinity

// The Date header has whole seconds, so half a second is added as the average remainder. The estimate comes from the
// answer with the shortest round trip.
export function heard(header, sent, received) {
  const said = Date.parse(header)
  const trip = received - sent
  if (!said || trip > best) return
  best = trip
  const off = said + 500 - (sent + received) / 2
  skew = Math.abs(off) < 1500 ? 0 : off
}
export const serverNow = () => Date.now() + skew
// mono returns milliseconds on a monotonic clock, for countdowns. Changes of the system clock do not affect it.
export const mono = () => performance.now()
