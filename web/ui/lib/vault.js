// The encrypted downtime plans that this browser stores: one for each person who has signed in here.
//
// Each person has a pair of keys. The public key encrypts, so the page can replace the plan at any time without a
// password. The private key decrypts, and is itself encrypted with a key derived from the sign-in password. An attacker
// with this machine must guess the password, with 600,000 rounds for each guess. Neither the password nor a plan is
// ever stored in clear.
const rounds = 600000,
  curve = { name: 'ECDH', namedCurve: 'P-256' }
const bytes = text => new TextEncoder().encode(text)
const random = n => crypto.getRandomValues(new Uint8Array(n))

// A browser offers this storage only on https and on localhost.
export const canKeep = () =>
  isSecureContext && 'indexedDB' in globalThis && Boolean(crypto.subtle) && 'serviceWorker' in navigator

function within(mode, act) {
  return new Promise((done, fail) => {
    const opening = indexedDB.open('holdfast-plan', 1)
    opening.onupgradeneeded = () => opening.result.createObjectStore('people', { keyPath: 'id' })
    opening.onerror = () => fail(opening.error)
    opening.onsuccess = () => {
      const db = opening.result,
        change = db.transaction('people', mode),
        asked = act(change.objectStore('people'))
      change.oncomplete = () => {
        db.close()
        done(asked?.result)
      }
      change.onabort = change.onerror = () => {
        db.close()
        fail(change.error)
      }
    }
  })
}
/** @param {string} id @returns {Promise<any>} */
export const recordOf = id => within('readonly', people => people.get(id))
/** @returns {Promise<any[]>} */
export const records = () => within('readonly', people => people.getAll())
export const forget = id => within('readwrite', people => people.delete(id))
const put = record => within('readwrite', people => people.put(record))
// note changes the unencrypted fields of a record, such as whether its person is signed in here. It reads and writes in
// one transaction. Otherwise two concurrent notes could overwrite each other, and a plan could be lost.
export const note = (id, change) =>
  within('readwrite', people => {
    const was = people.get(id)
    was.onsuccess = () => {
      if (was.result) people.put({ ...was.result, ...change })
    }
  })

async function lockOf(password, salt, n) {
  const given = await crypto.subtle.importKey('raw', bytes(password), 'PBKDF2', false, ['deriveKey'])
  return crypto.subtle.deriveKey(
    { name: 'PBKDF2', hash: 'SHA-256', salt, iterations: n },
    given,
    { name: 'AES-GCM', length: 256 },
    false,
    ['encrypt', 'decrypt'],
  )
}
async function unlocked(record, password) {
  const lock = await lockOf(password, record.salt, record.rounds)
  const key = await crypto.subtle.decrypt(
    { name: 'AES-GCM', iv: record.iv, additionalData: bytes(record.id) },
    lock,
    record.locked,
  )
  return crypto.subtle.importKey('pkcs8', key, curve, false, ['deriveBits'])
}

// remember creates the keys of a person, or keeps the existing keys if this password opens them. If the password has
// changed, the old plan is lost.
export async function remember(user, password) {
  const old = await recordOf(user.id)
  if (old && (await unlocked(old, password).catch(() => null))) return note(user.id, { name: user.name || user.email })
  const pair = await crypto.subtle.generateKey(curve, true, ['deriveBits'])
  const salt = random(16),
    iv = random(12),
    lock = await lockOf(password, salt, rounds)
  const locked = await crypto.subtle.encrypt(
    { name: 'AES-GCM', iv, additionalData: bytes(user.id) },
    lock,
    await crypto.subtle.exportKey('pkcs8', pair.privateKey),
  )
  await put({
    id: user.id,
    name: user.name || user.email,
    salt,
    rounds,
    iv,
    locked,
    open: await crypto.subtle.exportKey('raw', pair.publicKey),
  })
}

// The unencrypted fields of a plan (id, madeAt, to) are authenticated together with the ciphertext. So decryption fails
// if anyone changes the age of a plan.
const said = (id, plan) => bytes([id, plan.madeAt, plan.to].join('|'))
async function keyOf(secret, publicKey, salt, use) {
  const bits = await crypto.subtle.deriveBits({ name: 'ECDH', public: publicKey }, secret, 256)
  const shared = await crypto.subtle.importKey('raw', bits, 'HKDF', false, ['deriveKey'])
  return crypto.subtle.deriveKey(
    { name: 'HKDF', hash: 'SHA-256', salt, info: bytes('holdfast plan') },
    shared,
    { name: 'AES-GCM', length: 256 },
    false,
    [use],
  )
}
const imported = raw => crypto.subtle.importKey('raw', raw, curve, true, [])

// seal encrypts a downtime kit and stores it as the plan of a person. It returns false if the person has no keys here.
export async function seal(id, kit) {
  const record = await recordOf(id)
  if (!record) return false
  const once = await crypto.subtle.generateKey(curve, true, ['deriveBits']),
    iv = random(12)
  const with_ = await crypto.subtle.exportKey('raw', once.publicKey)
  const key = await keyOf(once.privateKey, await imported(record.open), with_, 'encrypt')
  const plan = { madeAt: kit.madeAt, to: kit.to }
  const sealed = await crypto.subtle.encrypt(
    { name: 'AES-GCM', iv, additionalData: said(id, plan) },
    key,
    bytes(JSON.stringify(kit)),
  )
  await note(id, { plan: { ...plan, iv, with: with_, sealed } })
  return true
}

// The messages of the errors that open throws.
export const wrongPassword = 'wrong',
  damaged = 'damaged'

// open decrypts the plan of a record and returns the kit. It throws an Error with the message wrongPassword or damaged.
export async function open(record, password) {
  let secret
  try {
    secret = await unlocked(record, password)
  } catch {
    throw new Error(wrongPassword)
  }
  try {
    const { plan } = record,
      key = await keyOf(secret, await imported(plan.with), plan.with, 'decrypt')
    const text = await crypto.subtle.decrypt(
      { name: 'AES-GCM', iv: plan.iv, additionalData: said(record.id, plan) },
      key,
      plan.sealed,
    )
    return JSON.parse(new TextDecoder().decode(text))
  } catch {
    throw new Error(damaged)
  }
}

// tidy deletes the plans of past days.
export async function tidy(today) {
  for (const r of await records()) if (r.plan && r.plan.to <= today) await note(r.id, { plan: undefined })
}
