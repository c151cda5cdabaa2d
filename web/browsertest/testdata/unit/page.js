// The globals that a module of the pages needs outside a page, only as far as loading it requires. In a browser, the page
// provides them, and this module does nothing. Every test must import it first.
if (!globalThis.document) {
  const boot = { textContent: JSON.stringify({ clinic: { name: 'Harbour Clinic', timezone: 'Europe/Berlin', locale: 'en' } }) }
  globalThis.window = globalThis
  globalThis.location = new URL('http://clinic.test/')
  globalThis.document = { documentElement: { dataset: {}, style: {} }, getElementById: id => id === 'boot' ? boot : null, addEventListener() {}, removeEventListener() {} }
  const page = new EventTarget()
  for (const name of ['addEventListener', 'removeEventListener', 'dispatchEvent']) globalThis[name] = page[name].bind(page)
  globalThis.BroadcastChannel = undefined // an open channel would keep the program running
  if (!globalThis.navigator) globalThis.navigator = { languages: ['en'] }
}
