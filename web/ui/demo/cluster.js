// The parts of the demo: its server, or the nodes and Redis of its cluster. Each part has a button that kills it
// (kill -9). The process in front of the nodes reports their states and restarts a killed part; this page only sends
// requests. While a part is down, the rest of the page continues to work.
import { html, useEffect, useState } from '../lib/html.js'
import { get, post, wait } from '../lib/api.js'
import { t } from '../lib/i18n.js'
import { Icon } from '../lib/icons.js'
import { Notice } from '../lib/notice.js'
import { say } from '../lib/say.js'
import { booked, compared } from './cable.js'

const nameOf = id => (id === 'redis' || id === 'server' ? t('demo.' + id) : t('demo.node', { n: id.slice(4) }))
// wordOf returns the text for a part's state.
const wordOf = ({ id, state, backInSeconds, storageMode }) =>
  state === 'down'
    ? t('demo.down', { n: backInSeconds })
    : state === 'starting'
      ? t('demo.starting')
      : storageMode === 'fallback'
        ? t('demo.fallback')
        : id === 'redis'
          ? t('demo.up.redis')
          : t('demo.up')
const killOf = id => t('demo.kill.' + (id === 'redis' || id === 'server' ? id : 'node'))
const markOf = { up: 'check', starting: 'clock', down: 'offline' }

export function Cluster() {
  const [parts, setParts] = useState(null)
  const [lost, setLost] = useState(false),
    [kept, setKept] = useState(null),
    [counted, setCounted] = useState(null)
  useEffect(() => {
    let on = true
    const ask = async () => {
      while (on) {
        if (!document.hidden)
          await get('/demo/cluster', null, { tries: 1 }).then(
            all => {
              setParts(all.parts)
              setLost(false)
            },
            () => setLost(true),
          )
        await wait(1000)
      }
    }
    ask()
    return () => {
      on = false
    }
  }, [])
  const server = parts?.length === 1,
    up = parts?.every(x => x.state === 'up')
  // The page counted the appointments before a kill. Count them again from the remaining nodes, or, if there is only
  // one server, when it is back.
  useEffect(() => {
    if (!counted || (server && !up)) return
    booked().then(
      after => {
        setKept(compared(counted, after))
        setCounted(null)
      },
      () => {},
    )
  }, [counted, up])
  const act = (part, verb) => async () => {
    try {
      const before = verb === 'kill' && (await booked().catch(() => null))
      setParts((await post(`/demo/cluster/${part.id}/${verb}`)).parts)
      say(t(verb === 'kill' ? 'demo.killed' : 'demo.started', { name: nameOf(part.id) }))
      if (before) {
        setKept(null)
        setCounted(before)
      }
    } catch {
      setLost(true)
    }
  }
  if (lost)
    return html`
      <${Notice} kind="danger" role="alert" text="demo.lost" />
    `
  if (!parts) return null
  return html`
    <section class="cluster" aria-label=${t(server ? 'demo.server' : 'demo.cluster')}>
      <ul>
        ${parts.map(
          part => html`
            <li key=${part.id} data-part=${part.id} data-state=${part.state} data-mode=${part.storageMode}>
              <p>
                <${Icon} name=${markOf[part.state]} />
                <b>${nameOf(part.id)}</b>
                ${' '}
                <span class="muted">${wordOf(part)}</span>
              </p>
              ${
                part.state === 'down'
                  ? html`
                      <button
                        type="button"
                        class="btn"
                        aria-label=${t('demo.start') + ': ' + nameOf(part.id)}
                        onClick=${act(part, 'start')}
                      >
                        ${t('demo.start')}
                      </button>
                    `
                  : html`
                      <button
                        type="button"
                        class="btn danger"
                        aria-disabled=${part.state === 'starting' ? 'true' : undefined}
                        aria-label=${killOf(part.id) + ': ' + nameOf(part.id)}
                        onClick=${part.state === 'starting' ? undefined : act(part, 'kill')}
                      >
                        ${killOf(part.id)}
                      </button>
                    `
              }
            </li>
          `,
        )}
      </ul>
      <p class="muted">${t(server ? 'demo.server.hint' : 'demo.cluster.hint')}</p>
      <p role="status">
        ${
          kept &&
          html`
            <span data-lost=${kept.before - kept.there}>
              ${t(kept.there === kept.before ? 'demo.cable.kept' : 'demo.cable.lost', kept)}
            </span>
          `
        }
      </p>
    </section>
  `
}
