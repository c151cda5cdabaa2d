// @ts-nocheck: a service worker has another world than a page, which the checker is not told of
// The desk's service worker. It answers for the desk's own address only, and only where the server does not: then the page that opens
// the last plan comes out of the cache. A new release is another {{base}}, so it is another worker with a cache of its own.
const cached = 'holdfast-plan {{base}}', page = '/staff/plan'
const files = ['plan/page.js', 'holdfast.css', 'desk.css', 'plan.css', 'favicon.svg',
  ...'{{languages}}'.split(' ').flatMap(x => ['i18n/' + x + '.js', 'i18n/plan.' + x + '.js'])].map(x => '{{base}}/' + x)
const gone = [502, 503, 504] // what stands before a server says when it is not there

self.addEventListener('install', e => {
  e.waitUntil(caches.open(cached).then(c => c.addAll([page, ...files])).then(() => self.skipWaiting()))
})
self.addEventListener('activate', e => {
  e.waitUntil(caches.keys().then(all => Promise.all(all.filter(x => x.startsWith('holdfast-plan ') && x !== cached).map(x => caches.delete(x))))
    .then(() => self.clients.claim()))
})

async function reach(request) {
  const abort = new AbortController(), timer = setTimeout(() => abort.abort(), 8000)
  try {
    const answer = await fetch(request, { signal: abort.signal })
    if (!gone.includes(answer.status)) return answer
  } catch { /* nobody is there */ } finally { clearTimeout(timer) }
  return await caches.match(page, { cacheName: cached, ignoreVary: true }) || Response.error()
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
