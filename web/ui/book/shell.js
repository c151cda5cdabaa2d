// The frame around a patient's page: the clinic's name, the live indicator, and a footer with the clinic's contact
// details and the languages. An embedded page has only the live indicator.
import { html, useLayoutEffect } from '../lib/html.js'
import { boot, embedded } from '../lib/boot.js'
import { Icon } from '../lib/icons.js'
import { lang, languages, setLanguage, t } from '../lib/i18n.js'

const { clinic, settings } = boot,
  legal = [
    ['privacy', settings.privacyUrl],
    ['imprint', settings.imprintUrl],
  ].filter(x => x[1])
export const phone = () => clinic.contact.phone || clinic.name
// PhoneLink shows the clinic's phone number as a link. If the clinic has no number, it shows the clinic's name instead.
export const PhoneLink = () =>
  clinic.contact.phone
    ? html`
        <a class="nowrap" href=${'tel:' + clinic.contact.phone.replace(/[^\d+]/g, '')}>
          <bdi>${clinic.contact.phone}</bdi>
        </a>
      `
    : html`
        <bdi>${clinic.name}</bdi>
      `
export const Name = ({ of }) => html`
  <bdi>${of}</bdi>
`

// Where shows one of the clinic's places, or the clinic itself.
export function Where({ id }) {
  const at = boot.places.find(x => x.id === id),
    address = at?.address || clinic.contact.address
  return html`
    <${Name} of=${at?.name || clinic.name} />
    ${
      address &&
      html`
        <span class="muted"><bdi>${address}</bdi></span>
      `
    }
  `
}

const Brand = () => html`
  <div class="brand">
    ${
      settings.logo
        ? html`
            <img src=${settings.logo} alt="" />
          `
        : html`
            <span class="mark" aria-hidden="true">${[...clinic.name][0] || ''}</span>
          `
    }
    <bdi>${clinic.name}</bdi>
  </div>
`

const LiveSign = ({ link }) =>
  link &&
  html`
    <p class="live" data-link=${link}>
      <span class="dot" aria-hidden="true"></span>
      ${t('live.' + link)}
    </p>
  `

const Foot = () => html`
  <footer class="foot">
    <address>
      ${
        clinic.contact.address &&
        html`
          <span>
            <${Icon} name="pin" />
            <bdi>${clinic.contact.address}</bdi>
          </span>
        `
      }
      ${
        clinic.contact.phone &&
        html`
          <span>
            <${Icon} name="phone" />
            <${PhoneLink} />
          </span>
        `
      }
      ${
        clinic.contact.email &&
        html`
          <span>
            <${Icon} name="mail" />
            <a href=${'mailto:' + clinic.contact.email}><bdi>${clinic.contact.email}</bdi></a>
          </span>
        `
      }
    </address>
    ${
      legal.length > 0 &&
      html`
        <p class="legal">
          ${legal.map(
            ([key, url]) => html`
              <a href=${url} target="_blank" rel="noopener">${t('foot.' + key)}</a>
            `,
          )}
        </p>
      `
    }
    <nav aria-label=${t('language')}>
      ${Object.entries(languages).map(
        ([tag, name]) => html`
          <button
            type="button"
            class="textlink"
            lang=${tag}
            aria-current=${tag === lang ? 'true' : undefined}
            onClick=${() => setLanguage(tag)}
          >
            ${name}
          </button>
        `,
      )}
    </nav>
  </footer>
`

// offer is a button next to the live indicator. The step "when" shows several days and also uses the space of the
// aside.
export function Shell({ link, children, aside, step, offer }) {
  useLayoutEffect(() => {
    document.body.className = !aside ? 'narrow' : step === 'when' ? 'wide' : ''
  }, [!aside, step])
  const main = html`
    <div class="page">
      <main id="main" data-step=${step}>
        ${
          embedded &&
          html`
            <${LiveSign} link=${link} />
          `
        }${children}${embedded && offer}
      </main>
      ${aside}
    </div>
  `
  if (embedded)
    return html`
      <div class="embed">${main}</div>
    `
  const skip = e => {
    e.preventDefault()
    document.querySelector('main h1')?.focus()
  }
  return html`
    <a class="skip" href="#main" onClick=${skip}>${t('skip')}</a>
    <header class="top">
      <div>
        <${Brand} />
        ${offer}
        <${LiveSign} link=${link} />
      </div>
    </header>
    ${main}
    <${Foot} />
  `
}

// Aside lists the patient's choices so far, next to the step on a wide screen.
export const Aside = ({ rows }) => html`
  <aside class="aside" aria-label=${t('summary.title')}>
    <h2>${t('summary.title')}</h2>
    <dl>
      ${rows
        .filter(([, value]) => value)
        .map(
          ([label, value]) => html`
            <div>
              <dt>${label}</dt>
              <dd>${value}</dd>
            </div>
          `,
        )}
    </dl>
  </aside>
`

export const Eyebrow = ({ back, n, total }) => html`
  <div class="eyebrow">
    ${
      back
        ? html`
            <button type="button" class="textlink back" onClick=${back}>
              <${Icon} name="back" flip />
              ${t('back')}
            </button>
          `
        : html`
            <span></span>
          `
    }
    ${
      total > 1 &&
      html`
        <p class="steps">
          <span class="sr">${t('step', { n, total })}</span>
          ${Array.from(
            { length: total },
            (_, i) => html`
              <i class=${i < n ? 'on' : ''}></i>
            `,
          )}
        </p>
      `
    }
  </div>
`
