// The clinic and its settings. Each section saves separately. A setting that the page does not show keeps its value.
import { html, useEffect, useState } from '../lib/html.js'
import { get, newKey, post, put } from '../lib/api.js'
import { boot } from '../lib/boot.js'
import { ErrorSummary, Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { Notice } from '../lib/notice.js'
import { languages, t } from '../lib/i18n.js'
import { say } from '../lib/say.js'
import { write, zone } from '../lib/time.js'
import { Copy } from './copy.js'
import { Busy, Check, listed, Office, Select, Trouble, useAsk, useSend } from './office.js'
import { zonesWith } from './specialists.js'
import { MailServer } from './mailserver.js'
import { OpenID } from './openid.js'
import { MailTexts, saidOf } from './mailtexts.js'
import { others } from './typepage.js'

const hues = ['kelp', 'ocean', 'plum', 'amber', 'rose', 'olive'], maxLogo = 100 * 1024
const events = ['appointment.created', 'appointment.cancelled', 'appointment.rescheduled', 'upstream.completed', 'upstream.failed', 'upstream.needs_review']
// The limits for public bookings, each with its text key and default.
const perHour = { perNetwork: ['network', 10], perEmail: ['email', 3], perPhone: ['phone', 3], confirmMinutes: ['minutes', 30] }
// A list of origins as typed: one per line. A slash at the end is ignored.
const originsOf = text => text.split(/\s+/).map(x => x.replace(/\/+$/, '')).filter(Boolean)
// The form shows an error in one origin at the field of the whole list.
const originIds = (list, field) => ({ [list]: field, ...Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${list}[${i}]`, field])) })
const https = location.protocol === 'https:'

// Section is one form. save gets the draft. ids maps the server's field names to ids on the page.
function Section({ desk, title, lead, start, save, ids = {}, check, children }) {
  const [draft, setDraft] = useState(start)
  const sending = useSend(desk)
  useEffect(() => { setDraft(start) }, [JSON.stringify(start)])
  const set = name => value => setDraft(d => ({ ...d, [name]: value }))
  const submit = async e => {
    e.preventDefault()
    const wrong = check?.(draft) || {}
    if (Object.keys(wrong).length) return sending.refuse(wrong)
    if (await sending.send(() => save(draft))) {
      desk.toast('office.done')
      say(t('office.done'))
    }
  }
  const errors = listed(sending.errors, ids)
  const error = id => errors.find(e => e.id === id)?.message
  const changed = JSON.stringify(draft) !== JSON.stringify(start)
  return html`<form class="plate setting" onSubmit=${submit} novalidate><h2>${title}</h2>${lead && html`<p class="muted">${lead}</p>`}
    <${ErrorSummary} errors=${errors} n=${sending.n} />
    ${!errors.length && html`<${Trouble} problem=${sending.problem} />`}
    ${children({ draft, set, error, refuse: sending.refuse })}
    <div class="actions"><${Busy} busy=${sending.busy}>${t('office.save')}</${Busy}>${changed && html`<span class="muted">${t('office.unsaved')}</span>`}</div></form>`
}

function Logo({ value, set, refuse }) {
  const read = async file => {
    if (!file) return
    const bytes = new Uint8Array(await file.arrayBuffer())
    if (file.size > maxLogo || bytes[0] !== 0x89 || bytes[1] !== 0x50) return refuse({ logo: t('set.logo.err') })
    const reader = new FileReader()
    reader.onload = () => { refuse({}); set('data:image/png;base64,' + String(reader.result).split(',')[1]) }
    reader.readAsDataURL(file)
  }
  return html`<div class="field"><label for="logo">${t('set.logo')}</label><p class="hint" id="logo-hint">${t('set.logo.hint')}</p>
    <div class="logo">${value ? html`<img src=${value} alt=${t('set.logo.alt')} />` : html`<span class="nologo">${t('set.logo.none')}</span>`}
      <input id="logo" type="file" accept="image/png" aria-describedby="logo-hint" onChange=${e => read(e.currentTarget.files[0])} />
      ${value && html`<button type="button" class="btn quiet" onClick=${() => set('')}>${t('set.logo.remove')}</button>`}</div></div>`
}

// MailTest sends a test email to the signed-in user and shows the result.
function MailTest({ desk }) {
  const [result, setResult] = useState(null)
  const sending = useSend(desk)
  const run = async () => {
    setResult(null)
    const answer = await sending.send(() => post('/v1/settings/mail-test', {}, { tries: 1 }))
    if (answer) setResult(answer)
  }
  const kind = { sent: 'ok', failed: 'danger' }[result?.delivery] || 'warn'
  return html`<section class="plate setting"><h2>${t('set.mail')}</h2><p class="muted">${t('set.mail.lead')}</p>
    <${Trouble} problem=${sending.problem} />
    <div role="status">${result && html`<${Notice} kind=${kind} icon=${kind === 'ok' ? undefined : 'alert'} text=${'set.mail.' + result.delivery} params=${{ to: result.to, why: result.detail || '' }} />`}</div>
    <div class="actions"><button type="button" class="btn" aria-disabled=${sending.busy ? 'true' : undefined} onClick=${run}>${t(sending.busy ? 'set.mail.doing' : 'set.mail.do')}</button></div></section>`
}

// HookTest sends a test message to a saved webhook and shows the result.
function HookTest({ desk, id }) {
  const [result, setResult] = useState(null), sending = useSend(desk)
  const run = async () => {
    setResult(null)
    const answer = await sending.send(() => post('/v1/settings/webhook-test', { id }, { tries: 1, timeout: 30000 }))
    if (answer) setResult(answer)
  }
  const taken = result?.delivery === 'taken'
  return html`<${Trouble} problem=${sending.problem} /><div role="status">${result && html`<${Notice} kind=${taken ? 'ok' : 'danger'} icon=${taken ? undefined : 'alert'} text=${taken ? 'set.hook.taken' : 'set.hook.failed'} params=${{ why: result.detail || '' }} />`}</div>
    <p><button type="button" class="btn" aria-disabled=${sending.busy ? 'true' : undefined} onClick=${run}>${t(sending.busy ? 'set.mail.doing' : 'set.hook.test')}</button></p>`
}

function Hooks({ desk, list, change, error }) {
  const edit = (i, part) => change(list.map((w, j) => j === i ? { ...w, ...part } : w))
  const [seen, setSeen] = useState('')
  return html`${list.map((w, i) => html`<fieldset class="hook" key=${w.id || i}><legend>${t('set.hook', { n: i + 1 })}</legend>
      <${Field} id=${'hook-' + i} label=${t('set.hook.url')} error=${error('hook-' + i)} type="url" value=${w.url} input=${url => edit(i, { url })} placeholder="https://" spellcheck="false" />
      <div role="group" aria-label=${t('set.hook.events')}><p class="label">${t('set.hook.events')}${' '}<span class="optional">${t(w.events?.length ? 'set.hook.some' : 'set.hook.all')}</span></p>
        <div class="checks">${events.map(name => html`<${Check} key=${name} checked=${!w.events?.length || w.events.includes(name)}
          input=${on => { const now = w.events?.length ? w.events : events; const next = on ? [...now, name] : now.filter(x => x !== name); edit(i, { events: next.length === events.length ? [] : next }) }}>${t('event.' + name)}</${Check}>`)}</div></div>
      ${w.secret ? seen === w.id ? html`<${Copy} id=${'secret-' + i} label=${t('set.hook.secret')} value=${w.secret} code />` : html`<p><button type="button" class="textlink" onClick=${() => setSeen(w.id)}>${t('set.hook.secret.show')}</button></p>` : html`<p class="hint">${t('set.hook.secret.later')}</p>`}
      ${w.disabledAt && !w.active && html`<p class="hint">${t('set.hook.gone', { when: `${write('shortDay', w.disabledAt, zone)}, ${write('time', w.disabledAt, zone)}` })}</p>`}
      ${w.previousSecretUntil && html`<p class="hint">${t('set.hook.both', { until: `${write('shortDay', w.previousSecretUntil, zone)}, ${write('time', w.previousSecretUntil, zone)}` })}</p>`}
      ${w.secret && html`<${Check} checked=${!!w.rotateSecret} input=${rotateSecret => edit(i, { rotateSecret })} hint=${t('set.hook.rotate.hint')}>${t('set.hook.rotate')}</${Check}>`}
      ${w.secret && html`<${HookTest} desk=${desk} id=${w.id} />`}
      <div class="actions"><${Check} checked=${w.active} input=${active => edit(i, { active })}>${t('set.hook.active')}</${Check}>
        <button type="button" class="btn quiet" onClick=${() => change(list.filter((_, j) => j !== i))}><${Icon} name="trash" />${t('set.hook.remove')}</button></div>
    </fieldset>`)}
    <p><button type="button" class="btn" onClick=${() => change([...list, { url: '', active: true, events: [] }])}><${Icon} name="plus" />${t('set.hook.add')}</button></p>`
}

// Places are the clinic's buildings. The hours define who works in which place.
function Places({ list, change, error }) {
  const edit = (i, part) => change(list.map((x, j) => j === i ? { ...x, ...part } : x))
  return html`${list.map((x, i) => html`<fieldset class="hook" key=${x.id}><legend>${x.name || t('set.place.n', { n: i + 1 })}</legend>
    <div class="duo"><${Field} id=${`places[${i}].name`} label=${t('set.place.name')} error=${error(`places[${i}].name`)} value=${x.name} input=${name => edit(i, { name })} maxlength="100" />
      <${Field} id=${`places[${i}].address`} label=${t('set.address')} optional error=${error(`places[${i}].address`)} value=${x.address || ''} input=${address => edit(i, { address })} maxlength="500" /></div>
    <div class="duo">${others.map(([tag, name]) => html`<${Field} key=${tag} id=${`places[${i}].names.${tag}`} lang=${tag} label=${t('page.in', { language: name })} optional value=${x.names?.[tag] || ''} input=${value => edit(i, { names: { ...x.names, [tag]: value } })} maxlength="100" />`)}</div>
    <button type="button" class="btn quiet" aria-label=${t('set.place.remove', { name: x.name })} onClick=${() => change(list.filter((_, j) => j !== i))}><${Icon} name="trash" />${t('set.hook.remove')}</button></fieldset>`)}
    <p><button type="button" class="btn" onClick=${() => change([...list, { id: 'p-' + newKey().replace(/[^\w-]/g, '').slice(0, 10), name: '', names: {}, address: '' }])}><${Icon} name="plus" />${t('set.place.add')}</button></p>`
}

export function Page({ desk }) {
  const asked = useAsk(desk, async () => ({ ...await get('/v1/clinic'), ...await get('/v1/settings') }))
  const [zones] = useState(() => zonesWith('UTC'))
  if (!asked.data) return html`<${Office} desk=${desk} name="settings" ask=${asked} />`
  const { clinic, settings, address } = asked.data
  // The server replaces the settings as a whole. So load them before saving, to keep the changes of other users.
  const change = part => async draft => {
    const { settings: now } = await get('/v1/settings')
    const answer = await put('/v1/settings', { ...now, ...part(draft) })
    asked.set({ clinic, ...answer })
    boot.places = answer.settings.places || []
    return answer
  }
  const saveClinic = async d => {
    const answer = await put('/v1/clinic', { name: d.name.trim(), timezone: d.timezone, locale: d.locale, contact: { phone: d.phone.trim(), email: d.email.trim(), address: d.address.trim(), website: d.website.trim() } })
    asked.set({ clinic: answer.clinic, settings, address })
    return answer
  }
  const limits = settings.publicBookings || {}
  const whole = text => Math.max(0, Math.round(+text) || 0)
  const required = settings.requiredFields || []
  return html`<${Office} desk=${desk} name="settings" ask=${asked}>
    <${Section} desk=${desk} title=${t('set.clinic')} start=${{ name: clinic.name, timezone: clinic.timezone, locale: clinic.locale, ...clinic.contact }} save=${saveClinic}
        check=${d => d.name.trim() ? {} : { name: t('set.name.err') }} ids=${{ 'contact.phone': 'phone', 'contact.email': 'email', 'contact.website': 'website' }}>${({ draft, set, error }) => html`
      <${Field} id="name" label=${t('set.name')} error=${error('name')} value=${draft.name} input=${set('name')} maxlength="200" />
      <div class="duo"><${Field} id="timezone" label=${t('people.zone')} error=${error('timezone')}><${Select} id="timezone" value=${draft.timezone} input=${set('timezone')} options=${zones.some(z => z[0] === draft.timezone) ? zones : [[draft.timezone, draft.timezone], ...zones]} /></${Field}>
        <${Field} id="locale" label=${t('set.locale')} error=${error('locale')}><${Select} id="locale" value=${draft.locale} input=${set('locale')} options=${[...new Map([...Object.entries(languages), [draft.locale, languages[draft.locale] || draft.locale]])]} /></${Field}></div>
      <div class="duo"><${Field} id="phone" label=${t('field.phone')} optional error=${error('phone')} type="tel" value=${draft.phone} input=${set('phone')} /><${Field} id="email" label=${t('field.email')} optional error=${error('email')} type="email" value=${draft.email} input=${set('email')} /></div>
      <${Field} id="address" label=${t('set.address')} optional error=${error('address')} value=${draft.address} input=${set('address')} />
      <${Field} id="website" label=${t('set.website')} optional error=${error('website')} type="url" value=${draft.website} input=${set('website')} />`}</${Section}>

    <${Section} desk=${desk} title=${t('set.links')} lead=${t('set.links.lead')} start=${{ baseUrl: settings.baseUrl || '' }} ids=${{ baseUrl: 'baseurl' }} save=${change(d => ({ baseUrl: d.baseUrl.trim() }))}>${({ draft, set, error }) => html`
      ${address.from !== 'settings' && html`<${Notice} kind=${address.from === 'start' ? 'info' : 'warn'} icon=${address.from === 'start' ? undefined : 'alert'} text=${'set.links.' + address.from} params=${{ url: address.url }} />`}
      <${Field} id="baseurl" label=${t('set.links.url')} hint=${t('set.links.hint')} optional error=${error('baseUrl') || error('baseurl')} type="url" value=${draft.baseUrl} input=${set('baseUrl')} placeholder=${address.url} maxlength="300" spellcheck="false" />`}</${Section}>

    <${Section} desk=${desk} title=${t('set.look')} lead=${t('set.look.lead')} start=${{ accent: settings.accent || 'kelp', logo: settings.logo || '' }} save=${change(d => d)}>${({ draft, set, refuse }) => html`
      <fieldset class="choice"><legend>${t('set.accent')}</legend><div class="hues">${hues.map(hue => html`<label class="hue" key=${hue} data-hue=${hue}><input type="radio" name="accent" checked=${draft.accent === hue} onChange=${() => set('accent')(hue)} /><span class="face"><i aria-hidden="true"></i>${t('hue.' + hue)}</span></label>`)}</div></fieldset>
      <${Logo} value=${draft.logo} set=${set('logo')} refuse=${refuse} />`}</${Section}>

    <${Section} desk=${desk} title=${t('set.booking')} start=${{ required, cutoff: String(settings.changeCutoffHours || 0), reminder: String(settings.reminderHours || 0) }} ids=${{ changeCutoffHours: 'cutoff', reminderHours: 'reminder' }}
        save=${change(d => ({ requiredFields: d.required, changeCutoffHours: whole(d.cutoff), reminderHours: whole(d.reminder) }))}>${({ draft, set, error }) => html`
      <fieldset class="choice"><legend>${t('set.required')}</legend><p class="hint">${t('set.required.hint')}</p><div class="checks">${['contact', 'email', 'phone', 'birthDate'].map(f => html`<${Check} key=${f} checked=${draft.required.includes(f)} input=${on => set('required')(on ? [...draft.required, f] : draft.required.filter(x => x !== f))}>${t('set.required.' + f)}</${Check}>`)}</div></fieldset>
      <div class="duo"><${Field} id="cutoff" label=${t('set.cutoff')} hint=${t('set.cutoff.hint')} error=${error('cutoff')} inputmode="numeric" maxlength="4" value=${draft.cutoff} input=${set('cutoff')} />
        <${Field} id="reminder" label=${t('set.reminder')} hint=${t('set.reminder.hint')} error=${error('reminder')} inputmode="numeric" maxlength="3" value=${draft.reminder} input=${set('reminder')} /></div>`}</${Section}>

    <${Section} desk=${desk} title=${t('set.places')} lead=${t('set.places.lead')} start=${{ places: settings.places || [] }} save=${change(d => ({ places: d.places.map(x => ({ ...x, names: Object.fromEntries(Object.entries(x.names || {}).filter(([, v]) => v.trim())) })) }))}>${({ draft, set, error }) => html`<${Places} list=${draft.places} change=${set('places')} error=${error} />`}</${Section}>

    <${Section} desk=${desk} title=${t('set.legal')} lead=${t('set.legal.lead')} start=${{ privacyUrl: settings.privacyUrl || '', imprintUrl: settings.imprintUrl || '', text: settings.consent?.text || '', texts: settings.consent?.texts || {} }}
        ids=${{ 'consent.text': 'consent', ...Object.fromEntries(others.map(([tag]) => ['consent.texts.' + tag, 'consent-' + tag])) }} save=${change(d => ({ privacyUrl: d.privacyUrl.trim(), imprintUrl: d.imprintUrl.trim(), consent: { text: d.text.trim(), texts: Object.fromEntries(Object.entries(d.texts).filter(([, x]) => x.trim())) } }))}>${({ draft, set, error }) => html`
      <div class="duo"><${Field} id="privacyUrl" label=${t('set.privacy')} optional error=${error('privacyUrl')} type="url" value=${draft.privacyUrl} input=${set('privacyUrl')} maxlength="500" placeholder="https://www.example.org/privacy" />
        <${Field} id="imprintUrl" label=${t('set.imprint')} optional error=${error('imprintUrl')} type="url" value=${draft.imprintUrl} input=${set('imprintUrl')} maxlength="500" /></div>
      <${Field} id="consent" label=${t('set.consent')} hint=${t('set.consent.hint')} optional rows="3" error=${error('consent')} value=${draft.text} input=${set('text')} maxlength="2000" />
      ${draft.text.trim() && others.map(([tag, name]) => html`<${Field} key=${tag} id=${'consent-' + tag} lang=${tag} label=${t('page.in', { language: name })} optional rows="3" error=${error('consent-' + tag)} value=${draft.texts[tag] || ''} input=${x => set('texts')({ ...draft.texts, [tag]: x })} maxlength="2000" />`)}`}</${Section}>

    <${Section} desk=${desk} title=${t('mails.title')} lead=${t('mails.lead')} start=${{ texts: settings.mailTexts || {} }} save=${change(d => ({ mailTexts: saidOf(d.texts) }))}>${({ draft, set, error }) => html`<${MailTexts} desk=${desk} texts=${draft.texts} change=${set('texts')} error=${error} />`}</${Section}>

    <${Section} desk=${desk} title=${t('set.embed')} lead=${t('set.embed.lead')} start=${{ origins: (settings.embedOrigins || []).join('\n'), cors: (settings.corsOrigins || []).join('\n') }}
        ids=${{ ...originIds('embedOrigins', 'origins'), ...originIds('corsOrigins', 'cors') }}
        save=${change(d => ({ embedOrigins: originsOf(d.origins), corsOrigins: originsOf(d.cors) }))}>${({ draft, set, error }) => html`
      <${Field} id="origins" label=${t('set.origins')} hint=${t('set.origins.hint')} error=${error('origins')} rows="3" value=${draft.origins} input=${set('origins')} spellcheck="false" placeholder="https://www.example.org" />
      <${Field} id="cors" label=${t('set.cors')} hint=${t('set.cors.hint')} optional error=${error('cors')} rows="2" value=${draft.cors}
        input=${set('cors')} spellcheck="false" placeholder="https://www.example.org" />
      ${!https && html`<${Notice} kind="info" text="set.embed.http" />`}
      <${Copy} id="snippet" label=${t('set.snippet')} value=${`<script src="${address.url}/embed.js" async></script>`} code />`}</${Section}>

    <${Section} desk=${desk} title=${t('set.public')} lead=${t('set.public.lead')} start=${{ confirm: Boolean(limits.confirm), ...Object.fromEntries(Object.keys(perHour).map(k => [k, String(limits[k] || '')])) }}
        ids=${Object.fromEntries(Object.keys(perHour).map(k => ['publicBookings.' + k, k]))}
        save=${change(d => ({ publicBookings: { confirm: d.confirm, ...Object.fromEntries(Object.keys(perHour).map(k => [k, whole(d[k])])) } }))}>${({ draft, set, error }) => html`
      <${Check} checked=${draft.confirm} input=${set('confirm')} hint=${t('set.public.confirm.hint')}>${t('set.public.confirm')}</${Check}>
      ${Object.entries(perHour).map(([k, [word, n]]) => html`<${Field} key=${k} id=${k} label=${t('set.public.' + word)} hint=${t('set.public.default', { n })} optional error=${error(k)} inputmode="numeric" maxlength="5" value=${draft[k]} input=${set(k)} />`)}`}</${Section}>

    <${Section} desk=${desk} title=${t('set.waitlist')} lead=${t('set.waitlist.lead')} start=${{ deskOnly: Boolean(settings.waitlist?.deskOnly), minutes: String(settings.waitlist?.offerMinutes || '') }} ids=${{ 'waitlist.offerMinutes': 'offerMinutes' }}
        save=${change(d => ({ waitlist: { deskOnly: d.deskOnly, offerMinutes: whole(d.minutes) } }))}>${({ draft, set, error }) => html`
      <${Check} checked=${draft.deskOnly} input=${set('deskOnly')} hint=${t('set.waitlist.desk.hint')}>${t('set.waitlist.desk')}</${Check}>
      <${Field} id="offerMinutes" label=${t('set.waitlist.minutes')} hint=${t('set.waitlist.minutes.hint')} optional error=${error('offerMinutes')} inputmode="numeric" maxlength="4" value=${draft.minutes} input=${set('minutes')} />`}</${Section}>

    <${Section} desk=${desk} title=${t('set.sessions')} start=${{ ping: settings.requirePing !== false, stale: String(settings.staleAfterSeconds || ''), idle: String(settings.sessionIdleMinutes || '') }} ids=${{ staleAfterSeconds: 'stale', sessionIdleMinutes: 'idle' }}
        save=${change(d => ({ requirePing: d.ping, staleAfterSeconds: whole(d.stale), sessionIdleMinutes: whole(d.idle) }))}>${({ draft, set, error }) => html`
      <${Check} checked=${draft.ping} input=${set('ping')} hint=${t('set.ping.hint')}>${t('set.ping')}</${Check}>
      <div class="duo"><${Field} id="stale" label=${t('set.stale')} hint=${t('set.stale.hint')} optional error=${error('stale')} inputmode="numeric" maxlength="4" value=${draft.stale} input=${set('stale')} />
        <${Field} id="idle" label=${t('set.idle')} hint=${t('set.idle.hint')} optional error=${error('idle')} inputmode="numeric" maxlength="5" value=${draft.idle} input=${set('idle')} /></div>`}</${Section}>

    <${Section} desk=${desk} title=${t('set.hooks')} lead=${t('set.hooks.lead')} start=${{ hooks: settings.webhooks || [] }} ids=${Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`webhooks[${i}].url`, 'hook-' + i]))}
        save=${change(d => ({ webhooks: d.hooks }))}>${({ draft, set, error }) => html`<${Hooks} desk=${desk} list=${draft.hooks} change=${set('hooks')} error=${error} />`}</${Section}>

    <${MailTest} desk=${desk} />
    <${MailServer} desk=${desk} />
    <${OpenID} desk=${desk} />

    <section class="plate"><h2>${t('set.backup')}</h2><p>${t('set.backup.how')}${' '}<code class="command">holdfast backup</code></p><p class="muted">${t('set.backup.hint')}</p></section>
  </${Office}>`
}
