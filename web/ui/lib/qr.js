// A QR code (ISO/IEC 18004) for a link: bytes, error correction M, versions 1 to 13 (331 bytes).
const perBlock = [0, 10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22]
const blockCount = [0, 1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9]

const exp = new Uint8Array(512),
  log = new Uint8Array(256)
for (let i = 0, x = 1; i < 255; i++) {
  exp[i] = exp[i + 255] = x
  log[x] = i
  x = (x << 1) ^ (x & 128 ? 0x11d : 0)
}
const times = (a, b) => (a && b ? exp[log[a] + log[b]] : 0)

function remainder(data, n) {
  let gen = [1]
  for (let i = 0; i < n; i++) {
    const up = [...gen, 0]
    gen.forEach((g, j) => {
      up[j + 1] ^= times(g, exp[i])
    })
    gen = up
  }
  const out = new Uint8Array(n)
  for (const byte of data) {
    const lead = byte ^ out[0]
    out.copyWithin(0, 1)
    out[n - 1] = 0
    for (let j = 0; j < n; j++) out[j] ^= times(gen[j + 1], lead)
  }
  return out
}

// rawModules returns the number of modules in a version that hold data and error correction, which are all modules
// outside the fixed patterns.
function rawModules(v) {
  let n = (16 * v + 128) * v + 64
  if (v > 1) {
    const a = Math.floor(v / 7) + 2
    n -= (25 * a - 10) * a - 55
    if (v > 6) n -= 36
  }
  return n
}
const capacity = v => (rawModules(v) >> 3) - perBlock[v] * blockCount[v]

function codewords(bytes, v) {
  const bits = []
  const put = (value, n) => {
    for (let i = n - 1; i >= 0; i--) bits.push((value >> i) & 1)
  }
  put(4, 4)
  put(bytes.length, v < 10 ? 8 : 16)
  bytes.forEach(b => put(b, 8))
  const room = capacity(v) * 8
  put(0, Math.min(4, room - bits.length))
  while (bits.length % 8) bits.push(0)
  for (let pad = 0xec; bits.length < room; pad ^= 0xec ^ 0x11) put(pad, 8)
  const data = Uint8Array.from({ length: room / 8 }, (_, i) => parseInt(bits.slice(i * 8, i * 8 + 8).join(''), 2))

  const total = rawModules(v) >> 3,
    n = blockCount[v],
    ec = perBlock[v]
  const short = Math.floor(total / n),
    shorts = n - (total % n)
  const blocks = []
  for (let i = 0, at = 0; i < n; i++) {
    const size = short - ec + (i < shorts ? 0 : 1)
    const part = data.slice(at, (at += size))
    blocks.push({ part, check: remainder(part, ec) })
  }
  const out = []
  for (let i = 0; i <= short - ec; i++) for (const b of blocks) if (i < b.part.length) out.push(b.part[i])
  for (let i = 0; i < ec; i++) for (const b of blocks) out.push(b.check[i])
  return out
}

const masks = [
  (x, y) => (x + y) % 2,
  (x, y) => y % 2,
  x => x % 3,
  (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2,
  (x, y) => ((x * y) % 2) + ((x * y) % 3),
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
]

// matrix returns the modules as rows of booleans, without the quiet zone.
function matrix(text) {
  const bytes = new TextEncoder().encode(text)
  let v = 1
  while (v <= 13 && capacity(v) < bytes.length + (v < 10 ? 2 : 3)) v++
  if (v > 13) throw new RangeError('too long for a QR code')
  const size = v * 4 + 17
  const dark = Array.from({ length: size }, () => new Uint8Array(size))
  const fixed = Array.from({ length: size }, () => new Uint8Array(size))
  const set = (x, y, on) => {
    if (x < 0 || y < 0 || x >= size || y >= size) return
    dark[y][x] = on ? 1 : 0
    fixed[y][x] = 1
  }

  for (let i = 0; i < size; i++) {
    set(6, i, i % 2 === 0)
    set(i, 6, i % 2 === 0)
  }
  for (const [cx, cy] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ]) {
    for (let dy = -4; dy <= 4; dy++)
      for (let dx = -4; dx <= 4; dx++) {
        const d = Math.max(Math.abs(dx), Math.abs(dy))
        set(cx + dx, cy + dy, d !== 2 && d !== 4)
      }
  }
  const spots = []
  if (v > 1) {
    const n = Math.floor(v / 7) + 2,
      step = Math.ceil((size - 13) / (n * 2 - 2)) * 2
    for (let i = 0, p = size - 7; i < n - 1; i++, p -= step) spots.unshift(p)
    spots.unshift(6)
  }
  for (const cy of spots)
    for (const cx of spots) {
      const corner = (cx === 6 && cy === 6) || (cx === 6 && cy === size - 7) || (cx === size - 7 && cy === 6)
      if (corner) continue
      for (let dy = -2; dy <= 2; dy++)
        for (let dx = -2; dx <= 2; dx++) set(cx + dx, cy + dy, Math.max(Math.abs(dx), Math.abs(dy)) !== 1)
    }
  if (v >= 7) {
    let rem = v
    for (let i = 0; i < 12; i++) rem = (rem << 1) ^ ((rem >> 11) * 0x1f25)
    const bits = (v << 12) | rem
    for (let i = 0; i < 18; i++) {
      const a = size - 11 + (i % 3),
        b = Math.floor(i / 3),
        on = (bits >> i) & 1
      set(a, b, on)
      set(b, a, on)
    }
  }
  // The two level bits of the format are 0 for level M, so the format value equals the mask number.
  const format = mask => {
    let rem = mask
    for (let i = 0; i < 10; i++) rem = (rem << 1) ^ ((rem >> 9) * 0x537)
    const bits = ((mask << 10) | rem) ^ 0x5412
    const bit = i => (bits >> i) & 1
    for (let i = 0; i < 6; i++) set(8, i, bit(i))
    set(8, 7, bit(6))
    set(8, 8, bit(7))
    set(7, 8, bit(8))
    for (let i = 9; i < 15; i++) set(14 - i, 8, bit(i))
    for (let i = 0; i < 8; i++) set(size - 1 - i, 8, bit(i))
    for (let i = 8; i < 15; i++) set(8, size - 15 + i, bit(i))
    set(8, size - 8, 1)
  }
  format(0)

  const words = codewords(bytes, v)
  let at = 0
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right = 5
    for (let i = 0; i < size; i++)
      for (const x of [right, right - 1]) {
        const y = ((right + 1) & 2) === 0 ? size - 1 - i : i
        if (fixed[y][x]) continue
        dark[y][x] = at < words.length * 8 ? (words[at >> 3] >> (7 - (at % 8))) & 1 : 0
        at++
      }
  }

  const flip = mask => {
    for (let y = 0; y < size; y++)
      for (let x = 0; x < size; x++) if (!fixed[y][x] && masks[mask](x, y) === 0) dark[y][x] ^= 1
  }
  let best = 0,
    least = Infinity
  for (let mask = 0; mask < 8; mask++) {
    flip(mask)
    format(mask)
    const cost = penalty(dark)
    if (cost < least) {
      least = cost
      best = mask
    }
    flip(mask)
  }
  flip(best)
  format(best)
  return dark.map(row => Array.from(row, Boolean))
}

function penalty(m) {
  const size = m.length
  let cost = 0,
    on = 0
  for (let turn = 0; turn < 2; turn++)
    for (let a = 0; a < size; a++) {
      let line = ''
      for (let b = 0; b < size; b++) line += turn ? m[b][a] : m[a][b]
      for (const run of line.match(/0{5,}|1{5,}/g) || []) cost += run.length - 2
      for (let i = 0; i + 11 <= size; i++) if (/^(10111010000|00001011101)/.test(line.slice(i, i + 11))) cost += 40
    }
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
      on += m[y][x]
      if (x && y && m[y][x] === m[y][x - 1] && m[y][x] === m[y - 1][x] && m[y][x] === m[y - 1][x - 1]) cost += 3
    }
  return cost + Math.floor(Math.abs(on / size / size - 0.5) * 20) * 10
}

// path returns the dark modules as one SVG path, and the size of its viewBox. The viewBox includes the quiet zone of
// four modules on each side.
export function path(text) {
  const rows = matrix(text)
  const d = rows.map((row, y) => row.map((on, x) => (on ? `M${x + 4} ${y + 4}h1v1h-1z` : '')).join('')).join('')
  return { d, size: rows.length + 8 }
}
