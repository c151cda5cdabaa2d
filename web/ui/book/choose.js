// The detailed view for choosing a type, a place and a specialist. Types are listed under the clinic's groups, in their
// colours; patients can search them by name or by specialist. Specialists have pictures and can be searched by name.
// The page fetches this file only if boot.more is set: for a clinic with groups, places, pictures or lists long
// enough to search.
import { html, useEffect, useState } from '../lib/html.js'
import { boot, servingOf, typeOf } from '../lib/boot.js'
import { t } from '../lib/i18n.js'
import { Disc } from '../lib/disc.js'
import { Name } from './shell.js'

// From this number of entries on, a list has a search box and its groups are closed at first.
const many = 9
const fold = text =>
  (text || '')
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
const wordsOf = query => fold(query).split(/\s+/).filter(Boolean)
const finds = (words, ...texts) => {
  const all = fold(texts.join(' '))
  return words.every(w => all.includes(w))
}

// groupsOf returns [{id, name, types}] in the clinic's order. Types without a group come last.
function groupsOf(types) {
  const groups = boot.typeGroups
    .map(g => ({ ...g, types: types.filter(x => x.group === g.id) }))
    .filter(g => g.types.length)
  const rest = types.filter(x => !boot.typeGroups.some(g => g.id === x.group))
  return rest.length ? [...groups, { id: '', name: groups.length ? t('what.other') : '', types: rest }] : groups
}

const Search = ({ id, label, value, input, found }) => html`
  <div class="field search">
    <label for=${id}>${label}</label>
    <input
      id=${id}
      type="search"
      value=${value}
      autocomplete="off"
      enterkeyhint="search"
      onInput=${e => input(e.currentTarget.value)}
      onKeyDown=${e => e.key === 'Enter' && e.preventDefault()}
    />
    <p class="hint" role="status">${value.trim() ? t('what.found', { n: found }) : ''}</p>
  </div>
`

// Tags shows the special properties of a type, such as "new patients only", as one word each.
const Tags = ({ of }) => html`
  <span class="tags">
    ${
      of.newPatientsOnly &&
      html`
        <span>${t('type.new')}</span>
      `
    }${
      of.remote &&
      html`
        <span>${t('type.remote')}</span>
      `
    }${
      of.approval &&
      html`
        <span>${t('type.approval')}</span>
      `
    }
  </span>
`

const Option = ({ name, value, checked, input, children }) => html`
  <label class="option">
    <input type="radio" name=${name} value=${value} checked=${checked} onChange=${() => input(value)} />
    <span class="face">${children}</span>
  </label>
`

const placesOf = people => boot.places.filter(x => people.some(p => p.places?.includes(x.id)))

// Places lets the patient choose one of the places where the specialists work, if there are several.
export function Places({ people, place, setPlace, heading = 'h3' }) {
  const places = placesOf(people)
  const several = places.length > 1
  useEffect(() => {
    if (place && !(several && places.some(x => x.id === place))) setPlace('')
  }, [place, people.length])
  return (
    several &&
    html`
      <fieldset class="who">
        <legend><${heading}>${t('where.title')}</${heading}></legend>
        <div class="list">
          ${[{ id: '', name: t('where.any') }, ...places].map(
            x => html`
              <${Option} key=${x.id} name="place" value=${x.id} checked=${x.id === place} input=${setPlace}>
                <span>
                  <${Name} of=${x.name} />
                  ${
                    x.address &&
                    html`
                      <span class="muted line"><bdi>${x.address}</bdi></span>
                    `
                  }
                </span>
              </${Option}>
            `,
          )}
        </div>
      </fieldset>
    `
  )
}

// Who lets the patient choose a specialist. If the type's specialists work at several places, the patient first chooses
// a place.
function Who({ people, who, setWho, place, setPlace }) {
  const [query, search] = useState('')
  const there = place && placesOf(people).length > 1 ? people.filter(p => p.places?.includes(place)) : people
  const words = wordsOf(query),
    long = there.length >= many
  const shown = long ? there.filter(p => p.id === who || finds(words, p.name, p.line)) : there
  useEffect(() => {
    if (who && !there.some(p => p.id === who)) setWho('')
  }, [place, who, people.length])
  return html`
    <${Places} people=${people} place=${place} setPlace=${setPlace} />
    ${
      there.length > 1 &&
      html`
        <fieldset class=${'who' + (long ? ' among' : '')}>
          <legend><h3>${t('who.title')}</h3></legend>
          ${
            long &&
            html`
              <${Search}
                id="who-search"
                label=${t('who.search')}
                value=${query}
                input=${search}
                found=${shown.length}
              />
            `
          }
          <div class="list">
            ${[{ id: '', name: t('who.any') }, ...shown].map(
              p => html`
                <${Option} key=${p.id} name="who" value=${p.id} checked=${p.id === who} input=${setWho}>
                  ${
                    p.picture
                      ? html`
                          <img src=${p.picture} alt="" loading="lazy" />
                        `
                      : p.id &&
                        html`
                          <${Disc} name=${p.name} />
                        `
                  }
                  <span>
                    <${Name} of=${p.name} />
                    ${
                      p.line &&
                      html`
                        <span class="muted line">${p.line}</span>
                      `
                    }
                  </span>
                </${Option}>
              `,
            )}
          </div>
        </fieldset>
      `
    }
  `
}

const Card = ({ x, typeId, choose, ...rest }) => html`
  <div class="choice">
    <label class="card">
      <input type="radio" name="type" value=${x.id} checked=${x.id === typeId} onChange=${() => choose(x.id)} />
      <span class=${'face' + (x.color ? ' hue ' + x.color : '')}>
        <span class="card-head">
          <strong><${Name} of=${x.name} /></strong>
          <span class="muted">
            ${t('minutes', { n: x.durationMinutes })}${
              x.price &&
              html`
                ${' '}·${' '}
                <bdi class="price">${x.price}</bdi>
              `
            }
          </span>
        </span>
        ${
          x.description &&
          html`
            <span class="muted">${x.description}</span>
          `
        }
        <${Tags} of=${x} />
      </span>
    </label>
    ${
      x.id === typeId &&
      html`
        <${Who} people=${servingOf(x)} ...${rest} />
      `
    }
  </div>
`

export function Choose({ choose, ...chosen }) {
  const [query, search] = useState('')
  const all = boot.appointmentTypes,
    words = wordsOf(query)
  const named = x => (words.length ? servingOf(x).filter(p => finds(words, p.name)) : [])
  const called = x => finds(words, x.name, x.description, boot.typeGroups.find(g => g.id === x.group)?.name)
  const found = all.filter(x => called(x) || named(x).length)
  const groups = groupsOf(found),
    folded = all.length >= many && groups.length > 1 && !words.length
  // If the search matched one person and not the type itself, preselect that person.
  const pick = id => {
    const people = named(typeOf(id))
    choose(id, people.length === 1 && !called(typeOf(id)) ? people[0].id : undefined)
  }
  const cards = types =>
    types.map(
      x => html`
        <${Card} key=${x.id} x=${x} ...${chosen} choose=${pick} />
      `,
    )
  return html`
    ${
      all.length >= many &&
      html`
        <${Search} id="what-search" label=${t('what.search')} value=${query} input=${search} found=${found.length} />
      `
    }
    <fieldset class="cards">
      <legend class="sr">${t('what.title')}</legend>
      ${groups.map(g =>
        !g.name
          ? cards(g.types)
          : folded
            ? html`
                <details class="group" key=${g.id} open=${g.types.some(x => x.id === chosen.typeId) || undefined}>
                  <summary>
                    <h2><bdi>${g.name}</bdi></h2>
                    <span class="muted">${g.types.length}</span>
                  </summary>
                  <div class="cards">${cards(g.types)}</div>
                </details>
              `
            : html`
                <section class="group" key=${g.id + '*'}>
                  <h2><bdi>${g.name}</bdi></h2>
                  <div class="cards">${cards(g.types)}</div>
                </section>
              `,
      )}
    </fieldset>
    ${
      words.length > 0 &&
      !found.length &&
      html`
        <p class="lead">${t('what.nothing')}</p>
      `
    }
  `
}
