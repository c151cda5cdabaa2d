// The specialists: people and chairs with bookable time.
import { html, useRef, useState } from '../lib/html.js'
import { del, get, newKey, patch, post, put as replace } from '../lib/api.js'
import { boot } from '../lib/boot.js'
import { Field } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { list, t } from '../lib/i18n.js'
import { Elsewhere } from './elsewhere.js'
import { Feed } from './feed.js'
import { inOrder, usualHours } from './weekhours.js'
import { colourOf } from './words.js'
import { Check, Confirm, Office, Select, State, Trouble, useAsk, useSend, Nothing } from './office.js'
import { Plus, RecordForm, Translations, useDraft } from './record.js'

export const zonesWith = zone =>
  [...new Set([zone, 'UTC', ...(Intl.supportedValuesOf ? Intl.supportedValuesOf('timeZone') : [])])]
    .sort()
    .map(z => [z, z.replace(/_/g, ' ')])

const maxPicture = 150 * 1024
// read returns the content of a chosen file in base64, or null if the file is too large or not a picture.
const read = file =>
  new Promise(done => {
    if (!file || file.size > maxPicture || !/^image\/(png|jpeg|webp)$/.test(file.type)) return done(null)
    const reader = new FileReader()
    reader.onload = () => done(String(reader.result).split(',')[1])
    reader.onerror = () => done(null)
    reader.readAsDataURL(file)
  })

// Picture saves a chosen picture immediately, because it is not part of the form.
function Picture({ desk, person, changed }) {
  const [shown, setShown] = useState(person.picture || '')
  const sending = useSend(desk)
  const choose = async file => {
    const content = await read(file)
    if (!content) return file && sending.refuse({ content: t('people.picture.err') })
    const answer = await sending.send(() => replace(`/v1/specialists/${person.id}/picture`, { content }))
    if (answer) {
      setShown(answer.specialist.picture)
      changed()
    }
  }
  const remove = async () => {
    if (await sending.send(() => del(`/v1/specialists/${person.id}/picture`))) {
      setShown('')
      changed()
    }
  }
  return html`
    <div class="field">
      <label for="picture">${t('people.picture')}</label>
      <p class="hint" id="picture-hint">${t('people.picture.hint')}</p>
      ${
        sending.errors.content &&
        html`
          <p class="error" role="alert">${sending.errors.content}</p>
        `
      }
      <div class="logo">
        ${
          shown
            ? html`
                <img src=${shown} alt=${t('people.picture.of', { name: person.name })} />
              `
            : html`
                <span class="nologo">${t('set.logo.none')}</span>
              `
        }
        <input
          id="picture"
          type="file"
          accept="image/png,image/jpeg,image/webp"
          aria-describedby="picture-hint"
          onChange=${e => choose(e.currentTarget.files[0])}
        />
        ${
          shown &&
          html`
            <button type="button" class="btn quiet" onClick=${remove}>${t('set.logo.remove')}</button>
          `
        }
      </div>
    </div>
  `
}

// usualOf returns the clinic's usual weekly hours: those that most of the people have.
function usualOf(desk, people) {
  const s = desk.store.get(),
    all = new Map()
  for (const p of people) {
    const hours = inOrder(s.hours[p.id]?.weekly || []),
      key = JSON.stringify(hours.map(h => [h.weekday, h.start, h.end]))
    if (hours.length) all.set(key, { n: (all.get(key)?.n || 0) + 1, hours })
  }
  const most = [...all.values()].sort((a, b) => b.n - a.n)[0]
  return (most?.hours || usualHours).map(({ weekday, start, end }) => ({ weekday, start, end }))
}
// Beginning lets the user choose the hours and the types of a new specialist, so that patients can book as soon as the
// specialist is saved.
function Beginning({ desk, people, types, form, set }) {
  return html`
    <${Field} id="hours" label=${t('nav.hours')} hint=${t('people.hours.hint')}>
      <${Select}
        id="hours"
        value=${form.hours}
        input=${set('hours')}
        options=${[['usual', t('people.hours.usual')], ...people.map(p => [p.id, t('people.hours.as', { name: p.name })]), ['', t('people.hours.none')]]}
      />
    </${Field}>
    ${
      types.length > 0 &&
      html`
        <fieldset class="choice">
          <legend>${t('people.types')}</legend>
          <div class="checks">
            ${types.map(
              x => html`
                <${Check}
                  key=${x.id}
                  checked=${form.types.includes(x.id)}
                  input=${on => set('types')(on ? [...form.types, x.id] : form.types.filter(id => id !== x.id))}
                >
                  <span class=${'swatch ' + colourOf(desk.store.get(), x.id)}></span>
                  ${' '}
                  <bdi>${x.name}</bdi>
                </${Check}>
              `,
            )}
          </div>
        </fieldset>
      `
    }
  `
}

function Edit({ desk, person, people, types, close, done, changed }) {
  const { form, put, sending, e } = useDraft(desk, {
    kind: '',
    name: '',
    line: '',
    lines: {},
    timezone: boot.clinic.timezone,
    email: '',
    maxSessions: '1',
    active: true,
    hours: 'usual',
    types: [],
    ...person,
    ...(person && { maxSessions: String(person.maxSessions) }),
  })
  const [zones] = useState(() => zonesWith(form.timezone))
  const submit = async () => {
    if (!form.name.trim()) return sending.refuse({ name: t('people.name.err') })
    const body = {
      name: form.name.trim(),
      timezone: form.timezone,
      email: form.email.trim(),
      maxSessions: Math.max(0, Math.round(+form.maxSessions) || 0),
      active: form.active,
      line: form.line.trim(),
      lines: form.lines,
    }
    if (!person) body.kind = form.kind
    const answer = await sending.send(() => (person ? patch('/v1/specialists/' + person.id, body) : add(body)))
    if (answer) {
      done(answer.specialist, !person && !form.hours)
      close()
    }
  }
  // add creates a specialist with hours and types. If one of the later steps fails, the next press continues with the
  // specialist that the first press created.
  const added = useRef(null),
    s = desk.store
  const add = async body => {
    added.current = added.current
      ? await patch('/v1/specialists/' + added.current.specialist.id, { ...body, kind: undefined })
      : await post('/v1/specialists', body, { key: newKey() })
    const { id } = added.current.specialist
    const hours = form.hours === 'usual' ? usualOf(desk, people) : s.get().hours[form.hours]?.weekly
    if (hours?.length) await replace(`/v1/specialists/${id}/weekly-hours`, hours)
    for (const type of form.kind === 'resource' ? [] : types.filter(x => form.types.includes(x.id)))
      await patch('/v1/appointment-types/' + type.id, {
        specialists: [
          ...type.specialists.filter(x => x.specialistId !== id),
          { specialistId: id, priority: Math.min(10, ...type.specialists.map(x => x.priority)) },
        ],
      })
    return added.current
  }
  const rest = html`
    <${Field}
      id="email"
      label=${t('field.email')}
      hint=${t('people.email.hint')}
      optional
      error=${e.email}
      type="email"
      value=${form.email}
      input=${put('email')}
    />
    <div class="duo">
      <${Field} id="timezone" label=${t('people.zone')} error=${e.timezone}>
        <${Select} id="timezone" value=${form.timezone} input=${put('timezone')} options=${zones} />
      </${Field}>
      ${
        form.kind !== 'resource' &&
        html`
          <${Field}
            id="maxSessions"
            label=${t('people.sessions')}
            hint=${t('people.sessions.hint')}
            error=${e.maxSessions}
            inputmode="numeric"
            value=${form.maxSessions}
            input=${put('maxSessions')}
            maxlength="3"
          />
        `
      }
    </div>
    <${Field}
      id="line"
      label=${t('people.line')}
      hint=${t('people.line.hint')}
      optional
      error=${e.line}
      value=${form.line}
      input=${put('line')}
      maxlength="120"
    />
    <div class="duo">
      <${Translations}
        id="lines."
        label="people.line.in"
        values=${form.lines}
        input=${put('lines')}
        error=${id => e[id]}
        maxlength="120"
      />
    </div>
    ${
      person &&
      html`
        <${Picture} desk=${desk} person=${person} changed=${changed} />
        <${Feed} desk=${desk} specialistId=${person.id} level="h3" />
        <${Elsewhere} desk=${desk} specialistId=${person.id} level="h3" />
      `
    }
    <${Check} checked=${form.active} input=${put('active')} hint=${t('people.active.hint')}>
      ${t('people.active')}
    </${Check}>
  `
  return html`
    <${RecordForm}
      title=${person ? t('people.edit', { name: person.name }) : t('people.add')}
      sending=${sending}
      submit=${submit}
      close=${close}
    >
      ${
        !person &&
        html`
          <${Field} id="kind" label=${t('people.kind')} hint=${t('people.kind.hint')} error=${e.kind}>
            <${Select}
              id="kind"
              value=${form.kind}
              input=${put('kind')}
              describedby="kind-hint"
              options=${[
                ['', t('people.kind.person')],
                ['resource', t('people.kind.resource')],
              ]}
            />
          </${Field}>
        `
      }
      <${Field}
        id="name"
        label=${t('people.name')}
        hint=${t('people.name.hint')}
        error=${e.name}
        value=${form.name}
        input=${put('name')}
        maxlength="200"
        autofocus
      />
      ${
        !person &&
        html`
          <${Beginning}
            desk=${desk}
            people=${people}
            types=${form.kind === 'resource' ? [] : types}
            form=${form}
            set=${put}
          />
        `
      }
      ${
        person
          ? rest
          : html`
              <details open=${Object.keys(e).some(x => x !== 'name' && x !== 'kind') || undefined}>
                <summary>${t('people.more')}</summary>
                <div class="pile">${rest}</div>
              </details>
            `
      }
    </${RecordForm}>
  `
}

export function Page({ desk }) {
  const [editing, setEditing] = useState(null),
    [leaving, setLeaving] = useState(null)
  const lists = useAsk(desk, async () => ({
    ...(await get('/v1/specialists')),
    ...(await get('/v1/appointment-types')),
  }))
  const refresh = () => {
    lists.again()
    desk.loadSchedule().catch(() => {})
  }
  const serves = id =>
    (lists.data?.appointmentTypes || [])
      .filter(x => x.specialists.some(s => s.specialistId === id) || x.needs?.some(group => group.includes(id)))
      .map(x => x.name)
  // The deactivated ones come last.
  const people = [...(lists.data?.specialists || [])].sort((a, b) => b.active - a.active)
  const restoring = useSend(desk)
  const restore = async p => {
    if (!(await restoring.send(() => patch('/v1/specialists/' + p.id, { active: true })))) return
    refresh()
    desk.toast('people.restored', { name: p.name })
  }
  return html`
    <${Office}
      desk=${desk}
      name="specialists"
      lead=${t('people.lead')}
      ask=${lists}
      tools=${html`
        <${Plus} primary label="people.add" onClick=${() => setEditing({})} />
      `}
    >
      <${Trouble} problem=${restoring.problem} />
      ${
        people.length
          ? html`
              <ul class="lines">
                ${people.map(
                  p => html`
                    <li class="line" key=${p.id}>
                      <div class="line-main">
                        <p class="line-title">
                          <b><bdi>${p.name}</bdi></b>
                        </p>
                        <p class="line-facts">
                          <${State} kind=${p.active ? 'ok' : ''} icon=${p.active ? 'check' : 'stop'}>
                            ${t(p.active ? 'people.on' : 'people.off')}
                          </${State}>
                          ${
                            p.kind === 'resource' &&
                            html`
                              <span>${t('people.kind.resource')}</span>
                            `
                          }
                          <span>${serves(p.id).length ? list(serves(p.id)) : t('people.notypes')}</span>
                          ${
                            p.timezone !== boot.clinic.timezone &&
                            html`
                              <span class="muted">${p.timezone.replace(/_/g, ' ')}</span>
                            `
                          }
                        </p>
                      </div>
                      <div class="line-do">
                        <a
                          class="btn"
                          href=${'#hours/' + encodeURIComponent(p.id)}
                          aria-label=${t('people.hours.of', { name: p.name })}
                        >
                          <${Icon} name="clock" />
                          ${t('nav.hours')}
                        </a>
                        <button
                          type="button"
                          class="btn"
                          aria-label=${t('people.edit', { name: p.name })}
                          onClick=${() => setEditing(p)}
                        >
                          ${t('office.edit')}
                        </button>
                        <button
                          type="button"
                          class="btn quiet"
                          aria-label=${t(p.active ? 'people.archive.of' : 'people.restore.of', { name: p.name })}
                          onClick=${() => (p.active ? setLeaving(p) : restore(p))}
                        >
                          ${t(p.active ? 'people.archive' : 'people.restore')}
                        </button>
                      </div>
                    </li>
                  `,
                )}
              </ul>
            `
          : html`
              <${Nothing} icon="people" label="people.add" add=${() => setEditing({})}>${t('people.none')}</${Nothing}>
            `
      }
      ${
        editing &&
        html`
          <${Edit}
            desk=${desk}
            person=${editing.id ? editing : null}
            people=${people.filter(p => p.active)}
            types=${(lists.data?.appointmentTypes || []).filter(x => x.active)}
            changed=${refresh}
            close=${() => setEditing(null)}
            done=${(p, bare) => {
              refresh()
              desk.toast(bare ? 'people.added' : 'office.saved.named', { name: p.name })
              if (bare) location.hash = 'hours/' + encodeURIComponent(p.id)
            }}
          />
        `
      }
      ${
        leaving &&
        html`
          <${Confirm}
            desk=${desk}
            title=${t('people.archive.of', { name: leaving.name })}
            text=${t(leaving.kind === 'resource' ? 'people.archive.room' : 'people.archive.text')}
            action=${t('people.archive')}
            close=${() => setLeaving(null)}
            run=${async () => {
              await patch('/v1/specialists/' + leaving.id, { active: false })
              refresh()
              desk.toast('office.done')
            }}
          />
        `
      }
    </${Office}>
  `
}
