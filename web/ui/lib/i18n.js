// The texts of the page in one language, and the locale for its numbers and dates. This module's script tag comes
// first in the page, so that the texts load in parallel with the other scripts. The build writes the scripts in i18n
// from the texts in engine/words/<lang>/pages. <html data-strings="setup"> loads i18n/setup.<lang>.js in addition to
// the common texts. data-words="desk" loads i18n/desk.<lang>.js alone, which contains the common texts.
import { boot, query, speak } from './boot.js'

const root = document.documentElement
// The build inserts the languages that are registered in engine/words, each with its own name.
/** @type {Record<string, string>} */
export const languages = {/*names*/}
const pseudo = { 'en-XA': 'en', 'ar-XB': 'en' }
const known = tag => {
  if (!tag) return
  if (pseudo[tag]) return tag
  return Object.keys(languages).find(x => x === tag || x === tag.toLowerCase().split('-')[0])
}
const stored = () => {
  try {
    return localStorage.getItem('holdfast.lang')
  } catch {
    return null
  }
}

export const lang =
  known(query.get('lang')) ||
  known(stored()) ||
  (navigator.languages || []).map(known).find(Boolean) ||
  known(boot.clinic.locale) ||
  'en'
export const dir = lang === 'ar-XB' ? 'rtl' : 'ltr'
root.lang = lang
const spoken = pseudo[lang] || lang // the language of the texts
speak(spoken)
root.dir = dir

// If the clinic's locale is in the page's language, dates and times use that locale's country. The page then shows
// times as the clinic itself writes them. For other clinics, English uses the 24-hour clock outside America.
export const locale =
  lang === 'ar-XB'
    ? 'ar-u-nu-latn'
    : lang === 'en-XA'
      ? 'en-GB'
      : boot.clinic.locale?.startsWith(lang + '-')
        ? boot.clinic.locale
        : lang === 'en'
          ? /^America\//.test(boot.clinic.timezone)
            ? 'en-US'
            : 'en-GB'
          : lang

let words = {}
const plural = new Intl.PluralRules(lang === 'ar-XB' ? 'en' : locale)

// need loads an additional part of the texts: i18n/<part>.<lang>.js.
export const need = async part => {
  const file = `../i18n/${part && part + '.'}${spoken}.js`
  let { default: found } = await import(file)
  if (pseudo[lang]) found = (await import('../lib/pseudo.js')).distort(found, lang)
  words = { ...words, ...found }
}
const { words: all, strings = '' } = root.dataset
export const ready = Promise.all((all ? [all] : ['', ...strings.split(' ').filter(Boolean)]).map(need))

const find = (key, params) => {
  const text = words[key]
  if (text == null) return key
  return typeof text === 'string' ? text : (text[plural.select(params?.n ?? 0)] ?? text.other)
}
// t returns plain text. It returns a missing key unchanged, so that a test can find it.
export const t = (key, params) =>
  find(key, params)
    .replace(/\*\*/g, '')
    .replace(/\{(\w+)\}/g, (all, name) => params?.[name] ?? all)

// rich returns the text as children of a component: with **bold**, and with parameters that may be elements.
export function rich(key, params, wrap) {
  const fill = text =>
    text
      .split(/(\{\w+\})/)
      .filter(Boolean)
      .map(p => (/^\{\w+\}$/.test(p) ? (params?.[p.slice(1, -1)] ?? p) : p))
  return find(key, params)
    .split('**')
    .map((p, i) => (i % 2 ? wrap(fill(p)) : fill(p)))
}
export const list = items => new Intl.ListFormat(lang === 'ar-XB' ? 'en' : locale).format(items)

export function setLanguage(tag) {
  try {
    localStorage.setItem('holdfast.lang', tag)
  } catch {
    /* storage is blocked, but the address contains the language */
  }
  const url = new URL(location.href)
  url.searchParams.set('lang', tag)
  location.assign(url)
}
