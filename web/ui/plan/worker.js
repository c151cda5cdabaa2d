// @ts-nocheck: a service worker has other globals than a page, and the checker has no types for them
// The desk's service worker. If a page load at the desk's address gets no answer from the server, it sends the page
// that opens the last downtime plan, from its cache. It also sends the files of that page from its cache. A new release
// has another {{base}}, so it is another worker with its own cache.
const cached = 'holdfast-plan {{base}}',
  page = '/staff/plan'
const files = [
  'plan/page.js',
  'holdfast.css',
  'desk.css',
  'plan.css',
  'favicon.svg',
  ...'{{languages}}'.split(' ').flatMap(x => ['i18n/' + x + '.js', 'i18n/plan.' + x + '.js']),
].map(x => '{{base}}/' + x)
const gone = [502, 503, 504] // the statuses of a reverse proxy that cannot reach the server

self.addEventListener('install', e => {
  e.waitUntil(
    caches
      .open(cached)
      .then(c => c.addAll([page, ...files]))
      .then(() => self.skipWaiting()),
  )
})
self.addEventListener('activate', e => {
  e.waitUntil(
    caches
      .keys()
      .then(all =>
        Promise.all(all.filter(x => x.startsWith('holdfast-plan ') && x !== cached).map(x => caches.delete(x))),
      )
      .then(() => self.clients.claim()),
  )
})

async function reach(request) {
  const abort = new AbortController(),
    timer = setTimeout(() => abort.abort(), 8000)
  try {
    const answer = await fetch(request, { signal: abort.signal })
    if (!gone.includes(answer.status)) return answer
  } catch {
    /* the server is unreachable */
  } finally {
    clearTimeout(timer)
  }
  return (await caches.match(page, { cacheName: cached, ignoreVary: true })) || Response.error()
}
self.addEventListener('fetch', e => {
  const { origin, pathname } = new URL(e.request.url)
  if (origin !== location.origin || e.request.method !== 'GET') return
  if (e.request.mode === 'navigate') {
    if (pathname === '/staff' || pathname === page) e.respondWith(reach(e.request))
  } else if (files.includes(pathname)) {
    e.respondWith(caches.match(pathname, { cacheName: cached, ignoreVary: true }).then(hit => hit || fetch(e.request)))
  }
})
