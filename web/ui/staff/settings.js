// The clinic and its settings. One button saves the changed sections. A setting that the page does not show keeps its
// value. The connections to other servers at the end are saved separately, because the server tests them first.
import { html, useState } from '../lib/html.js'
import { get, put } from '../lib/api.js'
import { boot } from '../lib/boot.js'
import { Field } from '../lib/form.js'
import { Notice } from '../lib/notice.js'
import { languages, need, t } from '../lib/i18n.js'
import { Copy } from './copy.js'
import { Door } from './door.js'
import { Accent } from './accent.js'
import { Check, reloadNext, Office, Select, useAsk } from './office.js'
import { Index } from './index.js'
import { Logo } from './logo.js'
import { MailServer } from './mailserver.js'
import { MailTest } from './mailtest.js'
import { MailTexts, saidOf } from './mailtexts.js'
import { OpenID } from './openid.js'
import { PagePreview } from './pagepreview.js'
import { Places } from './places.js'
import { Form, Section, useForm } from './section.js'
import { Translations } from './record.js'
import { Rule } from './rule.js'
import { SmsGateway } from './smsgateway.js'
import { SmsTexts, checkSms, smsDraftOf, smsOf } from './smstexts.js'
import { Webhooks } from './webhooks.js'
import { zonesWith } from './specialists.js'

const consentIds = Object.fromEntries(Object.keys(languages).map(tag => ['consent.texts.' + tag, 'consent-' + tag]))

// perHour contains the limits for public bookings, each with its text key and default.
const perHour = {
  perNetwork: ['network', 10],
  perEmail: ['email', 3],
  perPhone: ['phone', 3],
  confirmMinutes: ['minutes', 30],
}
// originsOf reads a list of origins, one per line. It removes a slash at the end.
const originsOf = text =>
  text
    .split(/\s+/)
    .map(x => x.replace(/\/+$/, ''))
    .filter(Boolean)
// originIds maps an error in any origin of the list to the field of the whole list.
const originIds = (list, field) => ({
  [list]: field,
  ...Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${list}[${i}]`, field])),
})
const https = location.protocol === 'https:'

const clinicOf = d => ({
  name: d.name.trim(),
  timezone: d.timezone,
  locale: d.locale,
  contact: { phone: d.phone.trim(), email: d.email.trim(), address: d.address.trim(), website: d.website.trim() },
})

export function Page({ desk }) {
  const asked = useAsk(desk, async () => {
    await Promise.all([need('mail'), need('texts')])
    return { ...(await get('/v1/clinic')), ...(await get('/v1/settings')) }
  })
  const [zones] = useState(() => zonesWith('UTC'))
  const form = useForm(desk, async list => {
    let saved = asked.data
    const keep = answer => {
      saved = { ...saved, ...answer }
      asked.set(saved)
    }
    const about = list.find(x => x.name === 'clinic')
    if (about) {
      keep(await put('/v1/clinic', clinicOf(about.draft)))
      if (saved.clinic.timezone !== boot.clinic.timezone) reloadNext()
    }
    const parts = list.filter(x => x.part).map(x => x.part(x.draft))
    if (parts.length) {
      // The server replaces all settings, so load them before saving, to keep the changes of other users.
      const { settings: now } = await get('/v1/settings')
      keep(await put('/v1/settings', Object.assign(now, ...parts)))
      boot.places = saved.settings.places || []
    }
    return saved
  })
  if (!asked.data)
    return html`
      <${Office} desk=${desk} name="settings" ask=${asked} />
    `
  const { clinic, settings, address } = asked.data
  const limits = settings.publicBookings || {}
  const whole = text => Math.max(0, Math.round(+text) || 0)
  const required = settings.requiredFields || []
  return html`
    <${Office}
      desk=${desk}
      name="settings"
      ask=${asked}
      index=${html`
        <${Index} />
      `}
      aside=${html`
        <${PagePreview} form=${form} clinic=${clinic} settings=${settings} />
      `}
    >
      <${Form} form=${form}>
        <${Section}
          form=${form}
          name="clinic"
          title=${t('set.clinic')}
          start=${{ name: clinic.name, timezone: clinic.timezone, locale: clinic.locale, ...clinic.contact }}
          check=${d => (d.name.trim() ? {} : { name: t('set.name.err') })}
          ids=${{ 'contact.phone': 'phone', 'contact.email': 'email', 'contact.website': 'website' }}
        >
          ${({ draft, set, error }) => html`
            <${Field}
              id="name"
              label=${t('set.name')}
              error=${error('name')}
              value=${draft.name}
              input=${set('name')}
              maxlength="200"
            />
            <div class="duo">
              <${Field} id="timezone" label=${t('people.zone')} error=${error('timezone')}>
                <${Select}
                  id="timezone"
                  value=${draft.timezone}
                  input=${set('timezone')}
                  options=${zones.some(z => z[0] === draft.timezone) ? zones : [[draft.timezone, draft.timezone], ...zones]}
                />
              </${Field}>
              <${Field} id="locale" label=${t('set.locale')} error=${error('locale')}>
                <${Select}
                  id="locale"
                  value=${draft.locale}
                  input=${set('locale')}
                  options=${[...new Map([...Object.entries(languages), [draft.locale, languages[draft.locale] || draft.locale]])]}
                />
              </${Field}>
            </div>
            <div class="duo">
              <${Field}
                id="phone"
                label=${t('field.phone')}
                optional
                error=${error('phone')}
                type="tel"
                value=${draft.phone}
                input=${set('phone')}
              />
              <${Field}
                id="email"
                label=${t('field.email')}
                optional
                error=${error('email')}
                type="email"
                value=${draft.email}
                input=${set('email')}
              />
            </div>
            <${Field}
              id="address"
              label=${t('set.address')}
              optional
              error=${error('address')}
              value=${draft.address}
              input=${set('address')}
            />
            <${Field}
              id="website"
              label=${t('set.website')}
              optional
              error=${error('website')}
              type="url"
              value=${draft.website}
              input=${set('website')}
            />
          `}
        </${Section}>

        <${Section}
          form=${form}
          name="links"
          title=${t('set.links')}
          lead=${t('set.links.lead')}
          start=${{ baseUrl: settings.baseUrl || '' }}
          ids=${{ baseUrl: 'baseurl' }}
          part=${d => ({ baseUrl: d.baseUrl.trim() })}
        >
          ${({ draft, set, error }) => html`
            ${
              address.from !== 'settings' &&
              html`
                <${Notice}
                  kind=${address.from === 'start' ? 'info' : 'warn'}
                  icon=${address.from === 'start' ? undefined : 'alert'}
                  text=${'set.links.' + address.from}
                  params=${{ url: address.url }}
                />
              `
            }
            <${Field}
              id="baseurl"
              label=${t('set.links.url')}
              hint=${t('set.links.hint')}
              optional
              error=${error('baseUrl') || error('baseurl')}
              type="url"
              value=${draft.baseUrl}
              input=${set('baseUrl')}
              placeholder=${address.url}
              maxlength="300"
              spellcheck="false"
            />
          `}
        </${Section}>

        <${Section}
          form=${form}
          name="look"
          title=${t('set.look')}
          lead=${t('set.look.lead')}
          start=${{ accent: settings.accent || 'kelp', logo: settings.logo || '' }}
          part=${d => d}
        >
          ${({ draft, set }) => html`
            <${Accent} value=${draft.accent} set=${set('accent')} />
            <${Logo} value=${draft.logo} set=${set('logo')} />
          `}
        </${Section}>

        <${Section}
          form=${form}
          name="booking"
          title=${t('set.booking')}
          start=${{ required, cutoff: String(settings.changeCutoffHours || 0), reminder: String(settings.reminderHours || 0), arrival: Boolean(settings.onlineArrival), recall: Boolean(settings.onlineRecall) }}
          ids=${{ changeCutoffHours: 'cutoff', reminderHours: 'reminder' }}
          part=${d => ({ requiredFields: d.required, changeCutoffHours: whole(d.cutoff), reminderHours: whole(d.reminder), onlineArrival: d.arrival, onlineRecall: d.recall })}
        >
          ${({ draft, set, error }) => html`
            <fieldset class="choice">
              <legend>${t('set.required')}</legend>
              <p class="hint">${t('set.required.hint')}</p>
              <div class="checks">
                ${['contact', 'email', 'phone', 'birthDate'].map(
                  f => html`
                    <${Check}
                      key=${f}
                      checked=${draft.required.includes(f)}
                      input=${on => set('required')(on ? [...draft.required, f] : draft.required.filter(x => x !== f))}
                    >
                      ${t('set.required.' + f)}
                    </${Check}>
                  `,
                )}
              </div>
            </fieldset>
            <div class="duo">
              <${Field}
                id="cutoff"
                label=${t('set.cutoff')}
                hint=${t('set.cutoff.hint')}
                error=${error('cutoff')}
                inputmode="numeric"
                maxlength="4"
                value=${draft.cutoff}
                input=${set('cutoff')}
              />
              <${Field}
                id="reminder"
                label=${t('set.reminder')}
                hint=${t('set.reminder.hint')}
                error=${error('reminder')}
                inputmode="numeric"
                maxlength="3"
                value=${draft.reminder}
                input=${set('reminder')}
              />
            </div>
            <${Check} checked=${draft.arrival} input=${set('arrival')} hint=${t('set.arrival.hint')}>
              ${t('set.arrival')}
            </${Check}>
            ${
              draft.arrival &&
              html`
                <${Door} link=${address.url + '/arrived'} />
              `
            }
            <${Check} checked=${draft.recall} input=${set('recall')} hint=${t('set.recall.hint')}>
              ${t('set.recall')}
            </${Check}>
          `}
        </${Section}>

        <${Section}
          form=${form}
          name="places"
          title=${t('set.places')}
          lead=${t('set.places.lead')}
          start=${{ places: settings.places || [] }}
          part=${d => ({ places: d.places.map(x => ({ ...x, names: Object.fromEntries(Object.entries(x.names || {}).filter(([, v]) => v.trim())) })) })}
        >
          ${({ draft, set, error }) => html`
            <${Places} list=${draft.places} change=${set('places')} error=${error} />
          `}
        </${Section}>

        <${Section}
          form=${form}
          name="legal"
          title=${t('set.legal')}
          lead=${t('set.legal.lead')}
          start=${{ privacyUrl: settings.privacyUrl || '', imprintUrl: settings.imprintUrl || '', text: settings.consent?.text || '', texts: settings.consent?.texts || {} }}
          ids=${{ 'consent.text': 'consent', ...consentIds }}
          part=${d => ({ privacyUrl: d.privacyUrl.trim(), imprintUrl: d.imprintUrl.trim(), consent: { text: d.text.trim(), texts: Object.fromEntries(Object.entries(d.texts).filter(([, x]) => x.trim())) } })}
        >
          ${({ draft, set, error }) => html`
            <div class="duo">
              <${Field}
                id="privacyUrl"
                label=${t('set.privacy')}
                optional
                error=${error('privacyUrl')}
                type="url"
                value=${draft.privacyUrl}
                input=${set('privacyUrl')}
                maxlength="500"
                placeholder="https://www.example.org/privacy"
              />
              <${Field}
                id="imprintUrl"
                label=${t('set.imprint')}
                optional
                error=${error('imprintUrl')}
                type="url"
                value=${draft.imprintUrl}
                input=${set('imprintUrl')}
                maxlength="500"
              />
            </div>
            <${Field}
              id="consent"
              label=${t('set.consent')}
              hint=${t('set.consent.hint')}
              optional
              rows="3"
              error=${error('consent')}
              value=${draft.text}
              input=${set('text')}
              maxlength="2000"
            />
            ${
              draft.text.trim() &&
              html`
                <${Translations}
                  id="consent-"
                  values=${draft.texts}
                  input=${set('texts')}
                  error=${error}
                  rows="3"
                  maxlength="2000"
                />
              `
            }
          `}
        </${Section}>

        <${Section}
          form=${form}
          name="mails"
          title=${t('mails.title')}
          lead=${t('mails.lead')}
          start=${{ texts: settings.mailTexts || {} }}
          part=${d => ({ mailTexts: saidOf(d.texts) })}
        >
          ${({ draft, set, error }) => html`
            <${MailTexts} desk=${desk} texts=${draft.texts} change=${set('texts')} error=${error} />
          `}
        </${Section}>

        <${Section}
          form=${form}
          name="embed"
          title=${t('set.embed')}
          lead=${t('set.embed.lead')}
          start=${{ origins: (settings.embedOrigins || []).join('\n'), cors: (settings.corsOrigins || []).join('\n') }}
          ids=${{ ...originIds('embedOrigins', 'origins'), ...originIds('corsOrigins', 'cors') }}
          part=${d => ({ embedOrigins: originsOf(d.origins), corsOrigins: originsOf(d.cors) })}
        >
          ${({ draft, set, error }) => html`
            <${Field}
              id="origins"
              label=${t('set.origins')}
              hint=${t('set.origins.hint')}
              error=${error('origins')}
              rows="3"
              value=${draft.origins}
              input=${set('origins')}
              spellcheck="false"
              placeholder="https://www.example.org"
            />
            <${Field}
              id="cors"
              label=${t('set.cors')}
              hint=${t('set.cors.hint')}
              optional
              error=${error('cors')}
              rows="2"
              value=${draft.cors}
              input=${set('cors')}
              spellcheck="false"
              placeholder="https://www.example.org"
            />
            ${
              !https &&
              html`
                <${Notice} kind="info" text="set.embed.http" />
              `
            }
            <${Copy}
              id="snippet"
              label=${t('set.snippet')}
              value=${`<script src="${address.url}/embed.js" async></script>`}
              code
            />
          `}
        </${Section}>

        <${Section}
          form=${form}
          name="public"
          title=${t('set.public')}
          lead=${t('set.public.lead')}
          start=${{ confirm: Boolean(limits.confirm), ...Object.fromEntries(Object.keys(perHour).map(k => [k, String(limits[k] || '')])) }}
          ids=${Object.fromEntries(Object.keys(perHour).map(k => ['publicBookings.' + k, k]))}
          part=${d => ({ publicBookings: { confirm: d.confirm, ...Object.fromEntries(Object.keys(perHour).map(k => [k, whole(d[k])])) } })}
        >
          ${({ draft, set, error }) => html`
            <${Check} checked=${draft.confirm} input=${set('confirm')} hint=${t('set.public.confirm.hint')}>
              ${t('set.public.confirm')}
            </${Check}>
            ${Object.entries(perHour).map(
              ([k, [word, n]]) => html`
                <${Field}
                  key=${k}
                  id=${k}
                  label=${t('set.public.' + word)}
                  hint=${t('set.public.default', { n })}
                  optional
                  error=${error(k)}
                  inputmode="numeric"
                  maxlength="5"
                  value=${draft[k]}
                  input=${set(k)}
                />
              `,
            )}
          `}
        </${Section}>

        <${Section}
          form=${form}
          name="waitlist"
          title=${t('set.waitlist')}
          lead=${t('set.waitlist.lead')}
          start=${{ deskOnly: Boolean(settings.waitlist?.deskOnly), minutes: String(settings.waitlist?.offerMinutes || '') }}
          ids=${{ 'waitlist.offerMinutes': 'offerMinutes' }}
          part=${d => ({ waitlist: { deskOnly: d.deskOnly, offerMinutes: whole(d.minutes) } })}
        >
          ${({ draft, set, error }) => html`
            <${Check} checked=${draft.deskOnly} input=${set('deskOnly')} hint=${t('set.waitlist.desk.hint')}>
              ${t('set.waitlist.desk')}
            </${Check}>
            <${Field}
              id="offerMinutes"
              label=${t('set.waitlist.minutes')}
              hint=${t('set.waitlist.minutes.hint')}
              optional
              error=${error('offerMinutes')}
              inputmode="numeric"
              maxlength="4"
              value=${draft.minutes}
              input=${set('minutes')}
            />
          `}
        </${Section}>

        <${Section}
          form=${form}
          name="sessions"
          title=${t('set.sessions')}
          start=${{ onDemand: Boolean(settings.onDemand), ping: settings.requirePing !== false, stale: String(settings.staleAfterSeconds || ''), idle: String(settings.sessionIdleMinutes || '') }}
          ids=${{ staleAfterSeconds: 'stale', sessionIdleMinutes: 'idle' }}
          part=${d => ({ onDemand: d.onDemand, requirePing: d.ping, staleAfterSeconds: whole(d.stale), sessionIdleMinutes: whole(d.idle) })}
        >
          ${({ draft, set, error }) => html`
            <${Check} checked=${draft.onDemand} input=${set('onDemand')} hint=${t('set.ondemand.hint')}>
              ${t('set.ondemand')}
            </${Check}>
            <${Check} checked=${draft.ping} input=${set('ping')} hint=${t('set.ping.hint')}>${t('set.ping')}</${Check}>
            <div class="duo">
              <${Field}
                id="stale"
                label=${t('set.stale')}
                hint=${t('set.stale.hint')}
                optional
                error=${error('stale')}
                inputmode="numeric"
                maxlength="4"
                value=${draft.stale}
                input=${set('stale')}
              />
              <${Field}
                id="idle"
                label=${t('set.idle')}
                hint=${t('set.idle.hint')}
                optional
                error=${error('idle')}
                inputmode="numeric"
                maxlength="5"
                value=${draft.idle}
                input=${set('idle')}
              />
            </div>
          `}
        </${Section}>

        <${Section}
          form=${form}
          name="hooks"
          title=${t('set.hooks')}
          lead=${t('set.hooks.lead')}
          start=${{ hooks: settings.webhooks || [] }}
          ids=${Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`webhooks[${i}].url`, 'hook-' + i]))}
          part=${d => ({ webhooks: d.hooks })}
        >
          ${({ draft, set, error }) => html`
            <${Webhooks} desk=${desk} list=${draft.hooks} change=${set('hooks')} error=${error} />
          `}
        </${Section}>

        <${Section}
          form=${form}
          name="rule"
          title=${t('set.rule')}
          lead=${t('set.rule.lead')}
          start=${{ rule: settings.bookingRule || {} }}
          ids=${{ 'bookingRule.url': 'rule-url', 'bookingRule.timeoutMillis': 'rule-timeout' }}
          part=${d => ({ bookingRule: d.rule.url ? { ...d.rule, url: d.rule.url.trim() } : undefined })}
        >
          ${({ draft, set, error }) => html`
            <${Rule} desk=${desk} rule=${draft.rule} change=${set('rule')} error=${error} />
          `}
        </${Section}>

        <${Section}
          form=${form}
          name="texts"
          title=${t('texts.texts')}
          lead=${t('texts.texts.lead')}
          start=${smsDraftOf(settings.sms)}
          check=${checkSms}
          ids=${{ 'sms.countryCode': 'sms-country', ...originIds('sms.reminderHours', 'sms-hours') }}
          part=${d => ({ sms: smsOf(d) })}
        >
          ${({ draft, set, error }) => html`
            <${SmsTexts} desk=${desk} draft=${draft} set=${set} error=${error} />
          `}
        </${Section}>
      </${Form}>

      <${MailTest} desk=${desk} />
      <${MailServer} desk=${desk} />
      <${SmsGateway} desk=${desk} />
      <${OpenID} desk=${desk} />

      <section class="plate">
        <h2>${t('set.backup')}</h2>
        <p>
          ${t('set.backup.how')}${' '}
          <code class="command">holdfast backup</code>
        </p>
        <p class="muted">${t('set.backup.hint')}</p>
      </section>
    </${Office}>
  `
}
