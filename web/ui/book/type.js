// "What do you need?": the appointment types as cards, then with whom.
import { html, useState } from '../lib/html.js'
import { boot, servingOf, typeOf } from '../lib/boot.js'
import { t } from '../lib/i18n.js'
import { useHeading } from '../lib/router.js'
import { Eyebrow, Name } from './shell.js'

export function What({ page, total, done }) {
  const heading = useHeading('what')
  const [typeId, setType] = useState(page.typeId || (boot.appointmentTypes.length === 1 ? boot.appointmentTypes[0].id : ''))
  const [who, setWho] = useState(page.specialistId || '')
  const type = typeOf(typeId)
  const people = servingOf(type)
  const chooseType = id => {
    setType(id)
    if (!servingOf(typeOf(id)).some(p => p.id === who)) setWho('')
  }
  const submit = e => {
    e.preventDefault()
    if (type) done(typeId, who)
  }
  return html`<form onSubmit=${submit} noValidate>
    <${Eyebrow} n=${1} total=${total} />
    <h1 tabIndex="-1" ref=${heading}>${t('what.title')}</h1>
    ${!boot.appointmentTypes.length && html`<p class="lead">${t('what.none')}</p>`}
    <fieldset class="cards">
      <legend class="sr">${t('what.title')}</legend>
      ${boot.appointmentTypes.map(x => html`<label class="card" key=${x.id}>
        <input type="radio" name="type" value=${x.id} checked=${x.id === typeId} onChange=${() => chooseType(x.id)} />
        <span class="face">
          <span class="card-head"><strong><${Name} of=${x.name} /></strong><span class="muted">${t('minutes', { n: x.durationMinutes })}</span></span>
          ${x.description && html`<span class="muted">${x.description}</span>`}
        </span>
      </label>`)}
    </fieldset>
    ${type && people.length > 1 && html`<fieldset class="who">
      <legend><h2>${t('who.title')}</h2></legend>
      <div class="list">${[{ id: '', name: t('who.any') }, ...people].map(p => html`<label class="option" key=${p.id}>
        <input type="radio" name="who" value=${p.id} checked=${p.id === who} onChange=${() => setWho(p.id)} />
        <span class="face"><${Name} of=${p.name} /></span>
      </label>`)}</div>
    </fieldset>`}
    ${type && html`<div class="bar"><p><${Name} of=${type.name} /></p>
      <button class="btn primary" type="submit">${t('continue')}</button></div>`}
  </form>`
}
