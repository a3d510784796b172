/** Keys and values of a benchmark: the same on every machine and in every run, and made before the clock starts. */

import { createCipheriv, hash } from 'node:crypto'

/** Incompressible bytes: the key stream of AES in counter mode. */
export function noise(bytes: number, seed: number): Buffer {
  const key = Buffer.alloc(16)
  key.writeUInt32LE(seed)
  const cipher = createCipheriv('aes-128-ctr', key, Buffer.alloc(16))
  const all = Buffer.allocUnsafeSlow(bytes)
  const zeros = Buffer.alloc(Math.min(bytes, 2 ** 20))
  for (let at = 0; at < bytes; at += zeros.byteLength) {
    all.set(cipher.update(zeros.subarray(0, Math.min(zeros.byteLength, bytes - at))), at)
  }
  return all
}

/** A small generator of whole numbers below a bound (mulberry32). */
export function randomNumbers(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

/** Twenty-one bytes each, in hashed order, so that inserts land all over the tree. */
export function hashedKeys(count: number, family = 'user'): Buffer[] {
  return Array.from({ length: count }, (_, at) =>
    Buffer.from(`${family}:${hash('md5', String(at), 'hex').slice(0, 16)}`),
  )
}

/** `half`: every second value repeats one of those before it. */
export type Repeats = 'half' | 'none'

export function values(count: number, bytes: number, repeats: Repeats, seed: number): Buffer[] {
  const distinct = repeats === 'half' ? Math.ceil(count / 2) : count
  const pool = noise(distinct * bytes, seed)
  const pick = randomNumbers(seed)
  return Array.from({ length: count }, (_, at) => {
    const which = repeats === 'none' ? at : at % 2 === 0 ? at / 2 : pick((at + 1) / 2)
    return pool.subarray(which * bytes, (which + 1) * bytes)
  })
}

/** The numbers below `count`, in an order that has nothing to do with any tree. */
export function shuffled(count: number, seed: number): Uint32Array {
  const pick = randomNumbers(seed)
  const order = Uint32Array.from({ length: count }, (_, at) => at)
  for (let at = count - 1; at > 0; at--) {
    const other = pick(at + 1)
    const held = order[at]!
    order[at] = order[other]!
    order[other] = held
  }
  return order
}

export function scaled(count: number, scale: number): number {
  return Math.max(100, Math.round(count * scale))
}
