// Signs the user out after a time without input. Two minutes before, it shows a warning. It shows the same warning two
// minutes before a sign-in reaches its maximum lifetime.
import { html, useEffect, useState } from '../lib/html.js'
import { Dialog } from '../lib/dialog.js'
import { get, post } from '../lib/api.js'
import { mono, serverNow } from '../lib/clock.js'
import { t } from '../lib/i18n.js'
import { countdown } from '../lib/time.js'
import { say } from '../lib/say.js'

const ahead = 120

export function createIdle(desk) {
  let touched = mono(),
    told = mono(),
    last = 0,
    ticking
  const idle = () => desk.store.get().me.idleSeconds
  // Every request extends the sign-in, up to its maximum lifetime. If the server returns an earlier expiry than the
  // idle time allows, the lifetime is the limit.
  const learn = me => {
    if (desk.reopen(me)) return
    const end = Date.parse(me.expiresAt)
    last = end - serverNow() < (me.idleSeconds - 90) * 1000 ? end : 0
    told = mono()
  }
  learn(desk.store.get().me)

  const left = () =>
    Math.ceil(Math.min(idle() - (mono() - touched) / 1000, last ? (last - serverNow()) / 1000 : Infinity))
  const ask = () => {
    told = mono()
    return desk.call(() => get('/v1/auth/me')).then(learn, () => {})
  }
  const touch = () => {
    if (desk.store.get().idle || desk.store.get().locked) return
    touched = mono()
    if (touched - told > 300e3) ask()
  }
  function tick() {
    const s = desk.store.get()
    if (s.locked) return
    const seconds = left()
    if (seconds <= 0) {
      desk.patch({ idle: 0 })
      // Also end the sign-in on the server. Otherwise anyone who opens the laptop could continue it.
      desk.signedOut()
      if (!last) post('/v1/auth/sign-out').catch(() => {})
      desk.lock('idle')
    } else if (seconds <= ahead) desk.patch({ idle: seconds })
    else if (s.idle) desk.patch({ idle: 0 })
  }
  const events = ['pointerdown', 'keydown', 'wheel']
  return {
    start() {
      for (const e of events) addEventListener(e, touch, { capture: true, passive: true })
      document.addEventListener('visibilitychange', tick)
      ticking = setInterval(tick, 1000)
    },
    stop() {
      for (const e of events) removeEventListener(e, touch, { capture: true })
      document.removeEventListener('visibilitychange', tick)
      clearInterval(ticking)
    },
    // stay extends the sign-in. If the maximum lifetime is the limit, it asks for the password instead.
    async stay() {
      touched = mono()
      await ask()
      if (left() <= ahead) desk.lock('expired')
      desk.patch({ idle: 0 })
    },
    again(me) {
      touched = mono()
      learn(me)
    },
  }
}

export function IdleWarning({ desk, idle, seconds }) {
  const [spoken, setSpoken] = useState(false)
  useEffect(() => {
    if (spoken || seconds > 30) return
    setSpoken(true)
    say(t('idle.left', { clock: countdown(seconds) }))
  }, [seconds])
  return html`
    <${Dialog} title=${t('idle.title')} close=${idle.stay}>
      <p role="timer">${t('idle.left', { clock: countdown(seconds) })}</p>
      <p class="muted">${t('idle.kept')}</p>
      <div class="actions">
        <button type="button" class="btn primary" autofocus onClick=${idle.stay}>${t('idle.stay')}</button>
        <button type="button" class="btn" onClick=${desk.signOut}>${t('sign.out')}</button>
      </div>
    </${Dialog}>
  `
}
