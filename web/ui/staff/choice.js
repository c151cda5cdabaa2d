// A server that an owner chooses in the settings: the mail server, the SMS gateway or the identity provider. The server
// checks the owner's input before it saves the choice. The server never returns the secret that the browser has sent.
import { html } from '../lib/html.js'
import { del, get, put } from '../lib/api.js'
import { t } from '../lib/i18n.js'
import { Notice } from '../lib/notice.js'
import { say } from '../lib/say.js'
import { Errors, useAsk, useSend } from './office.js'

// useChoice loads, saves and removes the choice at an address. name is the choice's field in the answers. words is the
// prefix of its texts, which load() loads. useChoice calls changed with each new answer.
export function useChoice(desk, { address, name, words, load = async () => {}, changed = _ => {} }) {
  const asked = useAsk(desk, async () => {
      await load()
      return (await get(address))[name]
    }),
    saving = useSend(desk)
  const done = (answer, result) => {
    if (!answer) return false
    asked.set(answer[name])
    changed(answer[name])
    desk.toast('office.done')
    say(t(words + result))
    return true
  }
  return {
    data: asked.data,
    problem: asked.problem,
    saving,
    save: async (body, options) => done(await saving.send(() => put(address, body, options)), '.saved'),
    remove: async () => done(await saving.send(() => del(address)), '.removed'),
  }
}

// ChoiceForm is the form around the fields. isUnreadable means that the stored secret was encrypted with a different
// secret.key.
export const ChoiceForm = ({
  id,
  words,
  about,
  isUnreadable,
  errors,
  n,
  problem,
  submit,
  actions,
  remove,
  removeWord = words + '.remove',
  children,
}) => html`
  <form class="plate setting" id=${id} onSubmit=${submit} novalidate autocomplete="off">
    <h2>${t(words + '.title')}</h2>
    <p class="muted">${t(words + '.lead')}</p>
    ${about}
    ${
      isUnreadable &&
      html`
        <${Notice} kind="danger" text=${words + '.unreadable'} />
      `
    }
    <${Errors} errors=${errors} n=${n} problem=${problem} />
    ${children}
    <div class="actions">
      ${actions}
      ${
        remove &&
        html`
          <button type="button" class="btn quiet" onClick=${remove}>${t(removeWord)}</button>
        `
      }
    </div>
  </form>
`

// Act is a button that shows whether its request is running.
export const Act = ({ busy, doing, label, ...rest }) => html`
  <button class="btn" aria-disabled=${busy ? 'true' : undefined} ...${rest}>${t(busy ? doing : label)}</button>
`
