// "What do you need?": the appointment types as cards, and the choice of a specialist next to the chosen type.
// choose.js replaces this list for a clinic with groups, places, pictures or long lists.
import { html, useState } from '../lib/html.js'
import { boot, servingOf, typeOf } from '../lib/boot.js'
import { t } from '../lib/i18n.js'
import { Disc } from '../lib/disc.js'
import { useHeading } from '../lib/router.js'
import { Eyebrow, Name } from './shell.js'

const Plain = ({ typeId, who, choose, setWho }) => html`
  <fieldset class="cards">
    <legend class="sr">${t('what.title')}</legend>
    ${boot.appointmentTypes.map(
      x => html`
        <div class="choice" key=${x.id}>
          <label class="card">
            <input type="radio" name="type" value=${x.id} checked=${x.id === typeId} onChange=${() => choose(x.id)} />
            <span class="face">
              <span class="card-head">
                <strong><${Name} of=${x.name} /></strong>
                <span class="muted">${t('minutes', { n: x.durationMinutes })}</span>
              </span>
              ${
                x.description &&
                html`
                  <span class="muted">${x.description}</span>
                `
              }
            </span>
          </label>
          ${
            x.id === typeId &&
            servingOf(x).length > 1 &&
            html`
              <fieldset class="who">
                <legend><h3>${t('who.title')}</h3></legend>
                <div class="list">
                  ${[{ id: '', name: t('who.any') }, ...servingOf(x)].map(
                    p => html`
                      <label class="option" key=${p.id}>
                        <input
                          type="radio"
                          name="who"
                          value=${p.id}
                          checked=${p.id === who}
                          onChange=${() => setWho(p.id)}
                        />
                        <span class="face">
                          ${
                            p.id &&
                            html`
                              <${Disc} name=${p.name} />
                            `
                          }
                          <${Name} of=${p.name} />
                        </span>
                      </label>
                    `,
                  )}
                </div>
              </fieldset>
            `
          }
        </div>
      `,
    )}
  </fieldset>
`

// What is the first step of the form. more is the module choose.js, if the page has fetched it.
export function What({ page, total, done, more }) {
  const heading = useHeading('what')
  const types = boot.appointmentTypes
  const [typeId, setType] = useState(page.typeId || (types.length === 1 ? types[0].id : ''))
  const [who, setWho] = useState(page.specialistId || ''),
    [place, setPlace] = useState(page.place || '')
  const type = typeOf(typeId),
    Choose = more?.Choose || Plain
  const choose = (id, wanted = who) => {
    setType(id)
    setWho(servingOf(typeOf(id)).some(p => p.id === wanted) ? wanted : '')
  }
  const submit = e => {
    e.preventDefault()
    if (type) done(typeId, who, place)
  }
  return html`
    <form onSubmit=${submit} novalidate>
      <${Eyebrow} n=${1} total=${total} />
      <h1 tabindex="-1" ref=${heading}>${t('what.title')}</h1>
      ${
        types.length
          ? html`
              <${Choose} ...${{ typeId, who, choose, setWho, place, setPlace }} />
            `
          : html`
              <p class="lead">${t('what.none')}</p>
            `
      }
      ${
        type &&
        html`
          <div class="bar">
            <p><${Name} of=${type.name} /></p>
            <button class="btn primary" type="submit">${t('continue')}</button>
          </div>
        `
      }
    </form>
  `
}
