// The page that opens the last downtime plan if the server is unreachable. Its only request asks whether the server is
// reachable again.
import { html, render, useEffect, useRef, useState } from '../lib/html.js'
import { boot, withLang } from '../lib/boot.js'
import { Field } from '../lib/form.js'
import { ready as words, t } from '../lib/i18n.js'
import { Notice } from '../lib/notice.js'
import { dateOf, dayAndTime, write } from '../lib/time.js'
import { canKeep, open, records, wrongPassword } from '../lib/vault.js'

const shut = 15 * 60e3 // the page closes a plan after 15 minutes without input

// The service worker may have sent this page in answer to a request for the desk's address. A link to that address
// would not load the desk, so reload the page.
const go = hash => e => {
  e.preventDefault()
  history.replaceState(null, '', withLang('/staff') + hash)
  location.reload()
}

const ageOf = madeAt => {
  const minutes = Math.max(0, Math.round((Date.now() - Date.parse(madeAt)) / 60e3))
  return minutes < 120 ? t('plan.minutes', { n: minutes }) : t('plan.hours', { n: Math.round(minutes / 60) })
}
const stand = plan => t('plan.asof', { when: dayAndTime(Date.parse(plan.madeAt)), age: ageOf(plan.madeAt) })

// useServer asks every 10 s whether the server is reachable. It returns null until the first answer.
function useServer() {
  const [there, set] = useState(null)
  const ask = () =>
    fetch('/livez', { cache: 'no-store', credentials: 'omit', signal: AbortSignal.timeout(8000) }).then(
      x => set(x.ok),
      () => set(false),
    )
  useEffect(() => {
    ask()
    const timer = setInterval(ask, 10000)
    return () => clearInterval(timer)
  }, [])
  return there
}

function Opening({ list, done }) {
  const [id, setId] = useState(list[0].id),
    [password, setPassword] = useState(''),
    [busy, setBusy] = useState(false),
    [failed, setFailed] = useState('')
  const form = useRef(),
    record = list.find(x => x.id === id)
  const submit = async e => {
    e.preventDefault()
    if (busy) return
    const field = form.current.elements['plan-password']
    if (!password) return field.focus()
    setBusy(true)
    setFailed('')
    try {
      done(await open(record, password))
    } catch (why) {
      setBusy(false)
      setFailed(why.message === wrongPassword ? 'plan.wrong' : 'plan.damaged')
      field.select()
    }
  }
  return html`
    <form class="plan-open" ref=${form} onSubmit=${submit} novalidate>
      ${
        failed &&
        html`
          <${Notice} kind="danger" role="alert" text=${failed} />
        `
      }
      <p>${stand(record.plan)}</p>
      ${
        list.length > 1
          ? html`
              <${Field} id="plan-who" label=${t('plan.who')}>
                <select id="plan-who" value=${id} onChange=${e => setId(e.currentTarget.value)}>
                  ${list.map(
                    x => html`
                      <option key=${x.id} value=${x.id}>${x.name}</option>
                    `,
                  )}
                </select>
              </${Field}>
            `
          : html`
              <p>
                ${t('plan.of')}${' '}
                <b><bdi>${record.name}</bdi></b>
              </p>
            `
      }
      <${Field}
        id="plan-password"
        label=${t('plan.password')}
        type="password"
        autocomplete="current-password"
        value=${password}
        input=${setPassword}
        autofocus
      />
      <div class="actions">
        <button type="submit" class="btn primary" aria-disabled=${busy ? 'true' : undefined}>
          ${t(busy ? 'plan.opening' : 'plan.open')}
        </button>
      </div>
    </form>
  `
}

function save(name, text) {
  const url = URL.createObjectURL(new Blob(['\ufeff' + text], { type: 'text/csv' }))
  Object.assign(document.createElement('a'), { href: url, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(url), 60000)
}

function Sheets({ kit, close }) {
  const dates = [...new Set(kit.sheets.map(x => x.date))],
    people = new Map(kit.sheets.map(x => [x.specialistId, x.specialist])),
    today = dateOf(Date.now())
  const [date, setDate] = useState(dates.includes(today) ? today : dates[0] || ''),
    [who, setWho] = useState('')
  const shown = kit.sheets.filter(x => (!date || x.date === date) && (!who || x.specialistId === who)),
    heading = useRef()
  useEffect(() => {
    heading.current?.focus()
  }, [])
  useEffect(() => {
    let timer
    const touch = () => {
      clearTimeout(timer)
      timer = setTimeout(close, shut)
    }
    touch()
    for (const e of ['pointerdown', 'keydown', 'wheel']) addEventListener(e, touch, { passive: true })
    return () => {
      clearTimeout(timer)
      for (const e of ['pointerdown', 'keydown', 'wheel']) removeEventListener(e, touch)
    }
  }, [])
  return html`
    <div class="plan-tools">
      <h2 tabindex="-1" ref=${heading}>${stand(kit)}</h2>
      <${Field} id="plan-date" label=${t('plan.day')}>
        <select id="plan-date" value=${date} onChange=${e => setDate(e.currentTarget.value)}>
          ${dates.map(
            x => html`
              <option key=${x} value=${x}>${write('longDay', x)}</option>
            `,
          )}
          <option value="">${t('plan.all.days', { n: dates.length })}</option>
        </select>
      </${Field}>
      ${
        people.size > 1 &&
        html`
          <${Field} id="plan-specialist" label=${t('plan.specialist')}>
            <select id="plan-specialist" value=${who} onChange=${e => setWho(e.currentTarget.value)}>
              <option value="">${t('plan.everybody')}</option>
              ${[...people].map(
                ([id, name]) => html`
                  <option key=${id} value=${id}>${name}</option>
                `,
              )}
            </select>
          </${Field}>
        `
      }
      <div class="actions">
        <button type="button" class="btn primary" onClick=${() => print()}>${t('plan.print')}</button>
        <button
          type="button"
          class="btn"
          onClick=${() => save(`plan-${date || kit.from}.csv`, kit.csvHead + shown.map(x => x.csv).join(''))}
        >
          ${t('plan.csv')}
        </button>
        <button type="button" class="btn" onClick=${close}>${t('plan.close')}</button>
      </div>
    </div>
    ${
      !shown.length &&
      html`
        <p>${t('plan.nobody')}</p>
      `
    }
    <div class="plan-sheets" dangerouslySetInnerHTML=${{ __html: shown.map(x => x.html).join('') }}></div>
  `
}

function Page({ list }) {
  const [kit, setKit] = useState(null),
    there = useServer()
  const close = () => setKit(null)
  useEffect(() => {
    document.title = [t('plan.title'), boot.clinic.name].filter(Boolean).join(' – ')
  }, [])
  return html`
    <main class="plan">
      <header class="plan-head">
        <h1>${t('plan.title')}</h1>
        <p><bdi>${boot.clinic.name}</bdi></p>
      </header>
      <div class="plan-said" role="status">
        ${
          there === false &&
          html`
            <${Notice} kind="warn" icon="offline" text="plan.gone">
              <button type="button" class="btn" onClick=${go('')}>${t('plan.again')}</button>
            </${Notice}>
          `
        }
        ${
          there &&
          html`
            <${Notice} kind="ok" text="plan.there">
              <a class="btn" href="/staff" onClick=${go('')}>${t('plan.desk')}</a>
              ${' '}
              <a class="btn" href="/staff#byhand" onClick=${go('#byhand')}>${t('plan.enter')}</a>
            </${Notice}>
          `
        }
      </div>
      ${
        kit
          ? html`
              <${Sheets} kit=${kit} close=${close} />
            `
          : list.length
            ? html`
                <${Opening} list=${list} done=${setKit} />
              `
            : html`
                <p>${t('plan.none')}</p>
              `
      }
    </main>
  `
}

await words
const kept = canKeep() ? await records().catch(() => []) : []
render(
  html`
    <${Page} list=${kept.filter(x => x.plan).sort((a, b) => (a.plan.madeAt < b.plan.madeAt ? 1 : -1))} />
  `,
  document.getElementById('app'),
)
