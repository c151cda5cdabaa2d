// The users and their roles. Users are never deleted: the account of a former colleague is deactivated.
import { html, useState } from '../lib/html.js'
import { get, newKey, patch, post } from '../lib/api.js'
import { Field, looksLikeEmail } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { dayAndTime } from '../lib/time.js'
import { Check, Office, Select, State, useAsk } from './office.js'
import { Plus, Radios, RecordForm, useDraft } from './record.js'
import { Secret } from './secret.js'
import { specialistName } from './words.js'

const roles = ['owner', 'reception', 'specialist'],
  least = 12

// canSignIn reports whether a user can sign in: a specialist's account needs an active specialist.
const canSignIn = (u, people) =>
  u.active && (u.role !== 'specialist' || people.some(p => p.id === u.specialistId && p.active))

function Edit({ desk, user, people, close, done }) {
  const { form, put, sending, e } = useDraft(desk, {
    name: '',
    email: '',
    role: 'reception',
    specialistId: people[0]?.id || '',
    active: true,
    ...user,
    password: '',
    linked: Boolean(user?.linked),
  })
  const submit = async () => {
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
      ...(user?.linked && !form.linked && { linked: false }),
    }
    const answer = await sending.send(() =>
      user ? patch('/v1/users/' + user.id, body) : post('/v1/users', body, { key: newKey() }),
    )
    if (answer) {
      done(answer.user)
      close()
    }
  }
  const calendars = people.map(p => [p.id, p.name])
  // A user keeps the calendar of a specialist who has left.
  if (user?.specialistId && !people.some(p => p.id === user.specialistId))
    calendars.push([user.specialistId, specialistName(desk.store.get(), user.specialistId)])
  return html`
    <${RecordForm}
      title=${user ? t('users.edit', { name: user.name }) : t('users.add')}
      sending=${sending}
      submit=${submit}
      close=${close}
    >
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
      <${Radios}
        name="role"
        legend=${t('users.role')}
        value=${form.role}
        input=${put('role')}
        options=${roles.map(role => [role, t('role.' + role), t('users.role.' + role)])}
      />
      ${
        form.role === 'specialist' &&
        html`
          <${Field} id="specialistId" label=${t('users.calendar')} error=${e.specialistId}>
            <${Select} id="specialistId" value=${form.specialistId} input=${put('specialistId')} options=${calendars} />
          </${Field}>
        `
      }
      <${Secret}
        id="password"
        label=${t(user ? 'users.password.new' : 'users.password')}
        hint=${t(user ? 'users.password.keep' : 'users.password.hint', { n: least })}
        optional=${Boolean(user)}
        error=${e.password}
        value=${form.password}
        input=${put('password')}
        autocomplete="new-password"
      />
      ${
        user &&
        html`
          <${Check} checked=${form.active} input=${put('active')} hint=${t('users.active.hint')}>
            ${t('users.active')}
          </${Check}>
        `
      }
      ${
        user?.linked &&
        html`
          <${Check} checked=${form.linked} input=${put('linked')} hint=${t('users.linked.hint')}>
            ${t('users.linked')}
          </${Check}>
        `
      }
    </${RecordForm}>
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
        <${Plus} primary label="users.add" onClick=${() => setEditing({})} />
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
                  <${State} kind=${canSignIn(u, people) ? 'ok' : ''} icon=${canSignIn(u, people) ? 'check' : 'stop'}>
                    ${t(canSignIn(u, people) ? 'users.on' : u.active ? 'users.idle' : 'users.off')}
                  </${State}>
                  <span>
                    ${t('role.' + u.role)}${
                      u.specialistId &&
                      html`
                        ,${' '}
                        <bdi>${specialistName(desk.store.get(), u.specialistId)}</bdi>
                      `
                    }
                  </span>
                  <span class="muted">${u.email}</span>
                  <span class="muted">${t(u.totp ? 'users.totp' : 'users.nototp')}</span>
                  <span class="muted">
                    ${u.lastSignInAt ? t('users.last', { when: dayAndTime(u.lastSignInAt) }) : t('users.never')}
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
