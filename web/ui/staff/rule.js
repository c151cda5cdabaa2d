// The booking rule in the settings: an external program that the server asks before it books for a patient or an agent.
import { html, useEffect, useState } from '../lib/html.js'
import { get, post } from '../lib/api.js'
import { Field } from '../lib/form.js'
import { t } from '../lib/i18n.js'
import { Notice } from '../lib/notice.js'
import { dayAndTime } from '../lib/time.js'
import { Copy } from './copy.js'
import { Check, Select, Trouble, useSend } from './office.js'

// RuleTest sends the program an invented booking and shows its answer. It uses the values of the form, even if they are
// not saved.
function RuleTest({ desk, rule }) {
  const [result, setResult] = useState(null),
    sending = useSend(desk)
  const run = async () => {
    setResult(null)
    const answer = await sending.send(() => post('/v1/settings/booking-rule/test', rule, { tries: 1 }))
    if (answer) setResult(answer)
  }
  const failed = result?.decision === 'failed'
  return html`
    <${Trouble} problem=${sending.problem} />
    <div role="status">
      ${
        result &&
        html`
          <${Notice}
            kind=${failed ? 'danger' : 'ok'}
            icon=${failed ? 'alert' : undefined}
            text=${'set.rule.' + result.decision}
            params=${{ why: result.detail || result.reason || '' }}
          />
          <p class="hint">${t('set.rule.took', { n: result.durationMillis })}</p>
        `
      }
    </div>
    <p>
      <button type="button" class="btn" aria-disabled=${sending.busy ? 'true' : undefined} onClick=${run}>
        ${t(sending.busy ? 'set.mail.doing' : 'set.rule.test')}
      </button>
    </p>
  `
}

// LastFailure shows the time of the last failed call since this server started.
function LastFailure() {
  const [last, setLast] = useState(null)
  useEffect(() => {
    get('/v1/settings/booking-rule').then(
      answer => setLast(answer.bookingRule.lastFailure),
      () => {}, // ignore a failure: the rest of the page works without it
    )
  }, [])
  return (
    last &&
    html`
      <${Notice}
        kind="warn"
        icon="alert"
        text="set.rule.last"
        params=${{ when: dayAndTime(last.at), why: last.detail }}
      />
    `
  )
}

export function Rule({ desk, rule, change, error }) {
  const edit = part => change({ ...rule, ...part })
  const [isShown, setIsShown] = useState(false)
  return html`
    <${Field}
      id="rule-url"
      label=${t('set.rule.url')}
      hint=${t('set.rule.url.hint')}
      optional
      error=${error('rule-url')}
      type="url"
      value=${rule.url || ''}
      input=${url => edit({ url })}
      placeholder="https://"
      spellcheck="false"
    />
    ${
      rule.url &&
      html`
        <div class="duo">
          <${Field} id="rule-failure" label=${t('set.rule.failure')}>
            <${Select}
              id="rule-failure"
              value=${rule.onFailure || 'allow'}
              input=${onFailure => edit({ onFailure })}
              options=${[
                ['allow', t('set.rule.failure.allow')],
                ['refuse', t('set.rule.failure.refuse')],
              ]}
            />
          </${Field}>
          <${Field} id="rule-timeout" label=${t('set.rule.timeout')} error=${error('rule-timeout')}>
            <${Select}
              id="rule-timeout"
              value=${String(rule.timeoutMillis || 1000)}
              input=${ms => edit({ timeoutMillis: +ms })}
              options=${[...new Set([200, 500, 1000, 2000, rule.timeoutMillis || 1000])]
                .sort((a, b) => a - b)
                .map(ms => [String(ms), t('set.rule.ms', { n: ms })])}
            />
          </${Field}>
        </div>
        <${Check}
          checked=${!!rule.sendPatient}
          input=${sendPatient => edit({ sendPatient })}
          hint=${t('set.rule.patient.hint')}
        >
          ${t('set.rule.patient')}
        </${Check}>
        ${
          rule.secret
            ? isShown
              ? html`
                  <${Copy} id="rule-secret" label=${t('set.hook.secret')} value=${rule.secret} code />
                `
              : html`
                  <p>
                    <button type="button" class="textlink" onClick=${() => setIsShown(true)}>
                      ${t('set.hook.secret.show')}
                    </button>
                  </p>
                `
            : html`
                <p class="hint">${t('set.hook.secret.later')}</p>
              `
        }
        <${LastFailure} />
        <${RuleTest} desk=${desk} rule=${rule} />
      `
    }
  `
}
