// The data that the server puts into the page: the clinic, its types and specialists, and the settings that a patient
// may see. Missing parts get harmless defaults, so that an incomplete boot block breaks no page.
import { isColour, wear } from './accent.js'

const read = () => {
  try {
    return JSON.parse(document.getElementById('boot').textContent)
  } catch {
    return {}
  }
}
export const boot = read()
boot.clinic = { name: '', timezone: 'UTC', locale: 'en', contact: {}, ...boot.clinic }
boot.clinic.contact ||= {}
boot.settings = { requiredFields: [], changeCutoffHours: 0, ...boot.settings }
boot.settings.requiredFields ||= []
boot.address = { url: location.origin, from: 'guess', ...boot.address }
boot.appointmentTypes ||= []
boot.specialists ||= []
boot.typeGroups ||= []
boot.places ||= []

export const query = new URLSearchParams(location.search)
export const embedded = document.documentElement.dataset.page === 'embed'

// In the preview of the settings, the surrounding page fills in the values that are not saved yet.
if (query.has('preview') && !embedded) /** @type {any} */ (parent).preview?.(boot)

const { accent } = boot.settings
if (isColour(accent)) wear(accent)
else if (accent) document.documentElement.dataset.accent = accent

export const typeOf = id => boot.appointmentTypes.find(t => t.id === id)
export const nameOf = id => boot.specialists.find(s => s.id === id)?.name || boot.names?.[id] || ''
// servingOf returns the specialists of a type, highest priority first, as {id, name, line, picture}.
export const servingOf = type =>
  (type?.specialists || []).map(id => boot.specialists.find(s => s.id === id)).filter(s => s?.name)

// sheet loads a style sheet that only some pages need.
export const sheet = name =>
  new Promise(done =>
    document.head.append(
      Object.assign(document.createElement('link'), {
        rel: 'stylesheet',
        href: new URL('../' + name, import.meta.url),
        onload: done,
        onerror: done,
      }),
    ),
  )

// speak replaces the clinic's texts by their translations into a language.
export function speak(language) {
  for (const x of boot.appointmentTypes) Object.assign(x, x.texts?.[language])
  for (const x of [...boot.typeGroups, ...boot.places]) x.name = x.names?.[language] || x.name
  for (const x of boot.specialists) x.line = x.lines?.[language] || x.line
}
// withLang returns the address of another page and adds the `lang` parameter of this page to it.
export const withLang = (path, params = {}) => {
  const q = String(new URLSearchParams({ ...params, ...(query.get('lang') && { lang: query.get('lang') }) }))
  return path + (q && '?' + q)
}
