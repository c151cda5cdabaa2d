// The part of a type's form that defines how the booking page shows the type, and the groups of types.
import { html, useState } from '../lib/html.js'
import { get, put } from '../lib/api.js'
import { Field } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { Check, Select, useSend } from './office.js'
import { freshId, languagesOf, Order, Plus, RecordForm, Translations } from './record.js'

export const hues = ['kelp', 'ocean', 'plum', 'amber', 'rose', 'olive']

export const freshPage = {
  group: '',
  color: '',
  price: '',
  deskOnly: false,
  newPatientsOnly: false,
  texts: {},
  approval: false,
  approvalHours: 0,
  cancelText: '',
  remote: false,
  videoLink: '',
}
const pageFields = Object.keys(freshPage)
export const pageOf = form =>
  Object.fromEntries(
    pageFields.map(name => [
      name,
      name === 'approvalHours'
        ? Math.max(0, Math.round(+form[name]) || 0)
        : name === 'videoLink' && !form.remote
          ? ''
          : form[name],
    ]),
  )

export function PageFields({ form, set, errors, groups }) {
  const word = (tag, name) => value => set('texts')({ ...form.texts, [tag]: { ...form.texts?.[tag], [name]: value } })
  return html`
    <details open=${pageFields.some(name => errors[name]) || undefined}>
      <summary>${t('page.title')}</summary>
      <div class="pile">
        <div class="trio">
          <${Field} id="group" label=${t('page.group')} error=${errors.group}>
            <${Select}
              id="group"
              value=${form.group}
              input=${set('group')}
              options=${[['', t('page.group.none')], ...groups.map(g => [g.id, g.name])]}
            />
          </${Field}>
          <${Field} id="color" label=${t('page.color')} error=${errors.color}>
            <${Select}
              id="color"
              value=${form.color}
              input=${set('color')}
              options=${[['', t('page.color.none')], ...hues.map(h => [h, t('hue.' + h)])]}
            />
          </${Field}>
          <${Field}
            id="price"
            label=${t('page.price')}
            optional
            error=${errors.price}
            value=${form.price}
            input=${set('price')}
            maxlength="100"
          />
        </div>
        <${Check} checked=${form.deskOnly} input=${set('deskOnly')} hint=${t('page.desk.hint')}>
          ${t('page.desk')}
        </${Check}>
        <${Check} checked=${form.newPatientsOnly} input=${set('newPatientsOnly')} hint=${t('page.new.hint')}>
          ${t('page.new')}
        </${Check}>
        <${Check} checked=${form.approval} input=${set('approval')} hint=${t('page.approval.hint')}>
          ${t('page.approval')}
        </${Check}>
        ${
          form.approval &&
          html`
            <${Field}
              id="approvalHours"
              label=${t('page.hours')}
              hint=${t('page.hours.hint')}
              error=${errors.approvalHours}
            >
              <span class="unit">
                <input
                  id="approvalHours"
                  inputmode="numeric"
                  maxlength="3"
                  value=${form.approvalHours || ''}
                  aria-describedby="approvalHours-hint"
                  onInput=${e => set('approvalHours')(e.currentTarget.value)}
                />
                <span aria-hidden="true">${t('unit.hours')}</span>
              </span>
            </${Field}>
          `
        }
        <${Check} checked=${form.remote} input=${set('remote')} hint=${t('page.remote.hint')}>
          ${t('page.remote')}
        </${Check}>
        ${
          form.remote &&
          html`
            <${Field}
              id="videoLink"
              label=${t('page.video')}
              hint=${t('page.video.hint')}
              optional
              error=${errors.videoLink}
              type="url"
              value=${form.videoLink}
              input=${set('videoLink')}
              maxlength="500"
            />
          `
        }
        <${Field}
          id="cancelText"
          label=${t('page.cancel')}
          hint=${t('page.cancel.hint')}
          optional
          rows="2"
          error=${errors.cancelText}
          value=${form.cancelText}
          input=${set('cancelText')}
          maxlength="1000"
        />
        ${languagesOf(form.texts).map(
          ([tag, name]) => html`
            <fieldset class="hook" key=${tag} lang=${tag}>
              <legend>${t('page.in', { language: name })}</legend>
              <${Field}
                id=${'texts.' + tag + '.name'}
                label=${t('type.name')}
                optional
                error=${errors['texts.' + tag + '.name']}
                value=${form.texts?.[tag]?.name || ''}
                input=${word(tag, 'name')}
                maxlength="200"
              />
              <${Field}
                id=${'texts.' + tag + '.description'}
                label=${t('type.description')}
                optional
                rows="2"
                error=${errors['texts.' + tag + '.description']}
                value=${form.texts?.[tag]?.description || ''}
                input=${word(tag, 'description')}
                maxlength="1000"
              />
              <${Field}
                id=${'texts.' + tag + '.price'}
                label=${t('page.price')}
                optional
                error=${errors['texts.' + tag + '.price']}
                value=${form.texts?.[tag]?.price || ''}
                input=${word(tag, 'price')}
                maxlength="100"
              />
              <${Field}
                id=${'texts.' + tag + '.cancelText'}
                label=${t('page.cancel')}
                optional
                rows="2"
                error=${errors['texts.' + tag + '.cancelText']}
                value=${form.texts?.[tag]?.cancelText || ''}
                input=${word(tag, 'cancelText')}
                maxlength="1000"
              />
            </fieldset>
          `,
        )}
      </div>
    </details>
  `
}

// Groups edits the groups, which are part of the settings. Saving them does not change the other settings.
export function Groups({ desk, groups, close, done }) {
  const [list, setList] = useState(groups)
  const sending = useSend(desk)
  const edit = (i, part) => setList(list.map((g, j) => (j === i ? { ...g, ...part } : g)))
  const swap = (i, by) => setList(list.map((g, j) => (j === i ? list[i + by] : j === i + by ? list[i] : g)))
  const submit = async () => {
    const answer = await sending.send(async () => {
      const { settings } = await get('/v1/settings')
      return put('/v1/settings', { ...settings, typeGroups: list })
    })
    if (answer) {
      done()
      close()
    }
  }
  return html`
    <${RecordForm} wide title=${t('group.title')} sending=${sending} submit=${submit} close=${close}>
      <p class="muted">${t('group.lead')}</p>
      ${list.map(
        (g, i) => html`
          <fieldset class="hook" key=${g.id}>
            <legend>${g.name || t('group.n', { n: i + 1 })}</legend>
            <div class="trio">
              <${Field}
                id=${`typeGroups[${i}].name`}
                label=${t('group.name')}
                value=${g.name}
                input=${name => edit(i, { name })}
                error=${sending.errors[`typeGroups[${i}].name`]}
                maxlength="100"
              />
              <${Translations}
                id=${`typeGroups[${i}].names.`}
                values=${g.names}
                input=${names => edit(i, { names })}
                maxlength="100"
              />
            </div>
            <div class="prio-do">
              <${Order} name=${g.name} i=${i} n=${list.length} move=${by => swap(i, by)} />
              <button
                type="button"
                class="btn quiet"
                aria-label=${t('group.remove.of', { name: g.name })}
                onClick=${() => setList(list.filter((_, j) => j !== i))}
              >
                ${t('set.hook.remove')}
              </button>
            </div>
          </fieldset>
        `,
      )}
      <${Plus} label="group.add" onClick=${() => setList([...list, { id: freshId('g-'), name: '', names: {} }])} />
    </${RecordForm}>
  `
}
