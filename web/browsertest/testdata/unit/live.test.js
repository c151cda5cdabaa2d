import './page.js'
import test from 'node:test'
import * as assert from 'node:assert/strict'
import { createLive, waitAfter } from '../ui/lib/live.js'
import { Problem } from '../ui/lib/api.js'

test('the wait after a refused poll is Retry-After at least, and grows to 30 s', () => {
  for (const [n, every, retryAfter, least, most] of [
    [1, 1000, undefined, 2000, 2500], [3, 1000, undefined, 8000, 10000], [20, 1000, undefined, 30000, 37500],
    [1, 1000, 7, 7000, 8750], [4, 1000, 1, 16000, 20000], [20, 1000, 60, 60000, 75000], [1, 5000, 1, 10000, 12500],
  ]) {
    const got = waitAfter(n, every, retryAfter)
    assert.ok(got >= least && got <= most, `${n} refusals, every ${every}, Retry-After ${retryAfter}: ${got} ms`)
  }
})

// polled runs a page without a stream until its poll has been called once for each answer.
const polled = answers => new Promise(done => {
  const at = [], links = []
  const live = createLive({
    url: () => new Promise(() => {}), tell() {}, every: 10, link: link => links.push(link),
    poll: async () => {
      const answer = answers[at.length]
      at.push(performance.now())
      if (at.length < answers.length) { if (answer) throw answer; return }
      live.stop()
      done({ at, links })
    },
  })
  live.start()
  dispatchEvent(new Event('offline'))
})

test('a refused poll is repeated after Retry-After, and the page shows that it is slow', async () => {
  for (const status of [429, 503]) {
    const { at, links } = await polled([null, new Problem(status, { retryAfterSeconds: .4 }), null, null])
    assert.ok(at[2] - at[1] >= 395, `${status}: the next poll came after ${at[2] - at[1]} ms`)
    assert.deepEqual(links.filter(x => x === 'slow' || x === 'polling').slice(-2), ['slow', 'polling'], String(status))
  }
})

test('any other refusal is repeated at the usual interval', async () => {
  const { links } = await polled([new Problem(404), new Problem(500), null, null])
  assert.ok(!links.includes('slow'), links.join())
})
