// The globals that a module of the pages needs outside a page: just enough to load it. In a browser the page itself
// provides them, and this module does nothing. It has to be the first import of every test.
if (!globalThis.document) {
  const boot = { textContent: JSON.stringify({ clinic: { name: 'Harbour Clinic', timezone: 'Europe/Berlin', locale: 'en' } }) }
  globalThis.location = new URL('http://clinic.test/')
  globalThis.document = { documentElement: { dataset: {}, style: {} }, getElementById: id => id === 'boot' ? boot : null, addEventListener() {}, removeEventListener() {} }
  const page = new EventTarget()
  for (const name of ['addEventListener', 'removeEventListener', 'dispatchEvent']) globalThis[name] = page[name].bind(page)
  globalThis.BroadcastChannel = undefined // would keep the program from ending
  if (!globalThis.navigator) globalThis.navigator = { languages: ['en'] }
}
