// What the server put into the page: the clinic, its types and specialists, and the settings a
// patient may see. Missing parts get harmless defaults, so a page never dies of a thin boot block.
const read = () => {
  try { return JSON.parse(document.getElementById('boot').textContent) } catch { return {} }
}
export const boot = read()
boot.clinic = { name: '', timezone: 'UTC', locale: 'en', contact: {}, ...boot.clinic }
boot.clinic.contact ||= {}
boot.settings = { requiredFields: [], changeCutoffHours: 0, ...boot.settings }
boot.settings.requiredFields ||= []
boot.address = { url: location.origin, from: 'guess', ...boot.address }
boot.appointmentTypes ||= []
boot.specialists ||= []
if (boot.settings.accent) document.documentElement.dataset.accent = boot.settings.accent

export const query = new URLSearchParams(location.search)
export const embedded = document.documentElement.dataset.page === 'embed'

export const typeOf = id => boot.appointmentTypes.find(t => t.id === id)
export const nameOf = id => boot.specialists.find(s => s.id === id)?.name || ''
// Specialists who serve a type, best priority first, as {id, name}.
export const servingOf = type => [...(type?.specialists || [])]
  .sort((a, b) => (b.priority || 0) - (a.priority || 0))
  .map(s => ({ id: s.specialistId, name: nameOf(s.specialistId) })).filter(s => s.name)
// A way to another page that keeps the language this page was asked for.
export const withLang = (path, params = {}) => {
  const q = String(new URLSearchParams({ ...params, ...(query.get('lang') && { lang: query.get('lang') }) }))
  return path + (q && '?' + q)
}
