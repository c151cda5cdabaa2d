// The users and their roles. Users are never deleted: an account of a former colleague is deactivated.
import { html, useState } from '../lib/html.js'
import { get, newKey, patch, post } from '../lib/api.js'
import { Dialog } from '../lib/dialog.js'
import { ErrorSummary, Field, looksLikeEmail } from '../lib/form.js'
import { Icon } from '../lib/icons.js'
import { t } from '../lib/i18n.js'
import { write, zone } from '../lib/time.js'
import { Busy, Check, listed, Office, Select, State, Trouble, useAsk, useSend } from './office.js'

const roles = ['owner', 'reception', 'specialist'],
  least = 12

function Edit({ desk, user, people, close, done }) {
  const [form, setForm] = useState({
    name: '',
    email: '',
    role: 'reception',
    specialistId: people[0]?.id || '',
    active: true,
    ...user,
    password: '',
  })
  const [seen, setSeen] = useState(false)
  const put = name => value => setForm(f => ({ ...f, [name]: value }))
  const sending = useSend(desk),
    e = sending.errors
  const submit = async event => {
    event.preventDefault()
    const wrong = {}
    if (!form.name.trim()) wrong.name = t('users.name.err')
    if (!looksLikeEmail(form.email)) wrong.email = t('field.email.err')
    if ((!user || form.password) && [...form.password].length < least)
      wrong.password = t('users.password.err', { n: least })
    if (Object.keys(wrong).length) return sending.refuse(wrong)
    const body = {
      name: form.name.trim(),
      email: form.email.trim(),
      role: form.role,
      ...(form.role === 'specialist' && { specialistId: form.specialistId }),
      ...(form.password && { password: form.password }),
      ...(user && { active: form.active }),
    }
    const answer = await sending.send(() =>
      user ? patch('/v1/users/' + user.id, body) : post('/v1/users', body, { key: newKey() }),
    )
    if (answer) {
      done(answer.user)
      close()
    }
  }
  return html`
    <${Dialog} title=${user ? t('users.edit', { name: user.name }) : t('users.add')} close=${close}>
      <form class="office-form" onSubmit=${submit} novalidate>
        <${ErrorSummary} errors=${listed(e)} n=${sending.n} />
        ${
          !Object.keys(e).length &&
          html`
            <${Trouble} problem=${sending.problem} />
          `
        }
        <${Field}
          id="name"
          label=${t('users.name')}
          error=${e.name}
          value=${form.name}
          input=${put('name')}
          maxlength="200"
          autofocus
          autocomplete="off"
        />
        <${Field}
          id="email"
          label=${t('field.email')}
          error=${e.email}
          type="email"
          value=${form.email}
          input=${put('email')}
          spellcheck="false"
          autocomplete="off"
        />
        <fieldset class="choice">
          <legend>${t('users.role')}</legend>
          ${roles.map(
            role => html`
              <label class="check" key=${role}>
                <input type="radio" name="role" checked=${form.role === role} onChange=${() => put('role')(role)} />
                <span>
                  ${t('role.' + role)}
                  <small>${t('users.role.' + role)}</small>
                </span>
              </label>
            `,
          )}
        </fieldset>
        ${
          form.role === 'specialist' &&
          html`
            <${Field} id="specialistId" label=${t('users.calendar')} error=${e.specialistId}>
              <${Select}
                id="specialistId"
                value=${form.specialistId}
                input=${put('specialistId')}
                options=${people.map(p => [p.id, p.name])}
              />
            </${Field}>
          `
        }
        <${Field}
          id="password"
          label=${t(user ? 'users.password.new' : 'users.password')}
          hint=${t(user ? 'users.password.keep' : 'users.password.hint', { n: least })}
          optional=${Boolean(user)}
          error=${e.password}
        >
          <span class="with">
            <input
              id="password"
              type=${seen ? 'text' : 'password'}
              autocomplete="new-password"
              aria-describedby=${'password-hint' + (e.password ? ' password-error' : '')}
              value=${form.password}
              onInput=${x => put('password')(x.currentTarget.value)}
            />
            <button type="button" class="btn" aria-pressed=${seen ? 'true' : 'false'} onClick=${() => setSeen(!seen)}>
              ${t(seen ? 'sign.hide' : 'sign.show')}
            </button>
          </span>
        </${Field}>
        ${
          user &&
          html`
            <${Check} checked=${form.active} input=${put('active')} hint=${t('users.active.hint')}>
              ${t('users.active')}
            </${Check}>
          `
        }
        <div class="actions">
          <${Busy} busy=${sending.busy}>${t('office.save')}</${Busy}>
          <button type="button" class="btn" onClick=${() => close()}>${t('office.cancel')}</button>
        </div>
      </form>
    </${Dialog}>
  `
}

export function Page({ desk }) {
  const [editing, setEditing] = useState(null)
  const asked = useAsk(desk, async () => ({ ...(await get('/v1/users')), ...(await get('/v1/specialists')) }))
  const users = asked.data?.users || [],
    people = asked.data?.specialists || []
  const me = desk.store.get().me.user
  return html`
    <${Office}
      desk=${desk}
      name="users"
      lead=${t('users.lead')}
      ask=${asked}
      tools=${html`
        <button type="button" class="btn primary" onClick=${() => setEditing({})}>
          <${Icon} name="plus" />
          ${t('users.add')}
        </button>
      `}
    >
      <ul class="lines">
        ${users.map(
          u => html`
            <li class="line" key=${u.id}>
              <div class="line-main">
                <p class="line-title">
                  <b><bdi>${u.name}</bdi></b>
                  ${
                    u.id === me.id &&
                    html`
                      ${' '}
                      <span class="muted">${t('users.you')}</span>
                    `
                  }
                </p>
                <p class="line-facts">
                  <${State}
                    kind=${u.active ? 'ok' : ''}
                    icon=${html`
                      <${Icon} name=${u.active ? 'check' : 'stop'} />
                    `}
                  >
                    ${t(u.active ? 'users.on' : 'users.off')}
                  </${State}>
                  <span>
                    ${t('role.' + u.role)}${
                      u.specialistId &&
                      html`
                        ,${' '}
                        <bdi>${people.find(p => p.id === u.specialistId)?.name}</bdi>
                      `
                    }
                  </span>
                  <span class="muted">${u.email}</span>
                  <span class="muted">${t(u.totp ? 'users.totp' : 'users.nototp')}</span>
                  <span class="muted">
                    ${u.lastSignInAt ? t('users.last', { when: `${write('shortDay', u.lastSignInAt, zone)}, ${write('time', u.lastSignInAt, zone)}` }) : t('users.never')}
                  </span>
                </p>
              </div>
              <div class="line-do">
                <button
                  type="button"
                  class="btn"
                  aria-label=${t('users.edit', { name: u.name })}
                  onClick=${() => setEditing(u)}
                >
                  ${t('office.edit')}
                </button>
              </div>
            </li>
          `,
        )}
      </ul>
      ${
        editing &&
        html`
          <${Edit}
            desk=${desk}
            people=${people}
            user=${editing.id ? editing : null}
            close=${() => setEditing(null)}
            done=${u => {
              asked.again()
              desk.toast('office.saved.named', { name: u.name })
            }}
          />
        `
      }
    </${Office}>
  `
}
