/** XXH64 and classic MinHash in TypeScript. Big integers make it slow; it is only here to be the same. */

import type { MinHashCoefficients } from './minhash-coefficients.ts'
import { decode } from './twin-text.ts'

const PRIME_1 = 0x9e3779b185ebca87n
const PRIME_2 = 0xc2b2ae3d27d4eb4fn
const PRIME_3 = 0x165667b19e3779f9n
const PRIME_4 = 0x85ebca77c2b2ae63n
const PRIME_5 = 0x27d4eb2f165667c5n

const u64 = (value: bigint) => BigInt.asUintN(64, value)
const rotate = (value: bigint, by: bigint) => u64((value << by) | (value >> (64n - by)))
const round = (lane: bigint, input: bigint) =>
  u64(rotate(u64(lane + input * PRIME_2), 31n) * PRIME_1)

export function hash64(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const length = bytes.byteLength
  let at = length - (length % 32)
  let hash = u64((length >= 32 ? stripes(view, at) : PRIME_5) + BigInt(length))
  for (; at + 8 <= length; at += 8) {
    hash ^= round(0n, view.getBigUint64(at, true))
    hash = u64(rotate(hash, 27n) * PRIME_1 + PRIME_4)
  }
  if (at + 4 <= length) {
    hash ^= u64(BigInt(view.getUint32(at, true)) * PRIME_1)
    hash = u64(rotate(hash, 23n) * PRIME_2 + PRIME_3)
    at += 4
  }
  for (; at < length; at++) {
    hash = u64(rotate(hash ^ u64(BigInt(view.getUint8(at)) * PRIME_5), 11n) * PRIME_1)
  }
  return avalanche(hash)
}

function stripes(view: DataView, end: number): bigint {
  const lanes = [u64(PRIME_1 + PRIME_2), PRIME_2, 0n, u64(-PRIME_1)]
  for (let at = 0; at < end; at += 32) {
    lanes.forEach((lane, index) => {
      lanes[index] = round(lane, view.getBigUint64(at + index * 8, true))
    })
  }
  const turns = [1n, 7n, 12n, 18n]
  const joined = lanes.reduce((sum, lane, index) => sum + rotate(lane, turns[index] ?? 0n), 0n)
  return lanes.reduce(
    (hash, lane) => u64((hash ^ round(0n, lane)) * PRIME_1 + PRIME_4),
    u64(joined),
  )
}

function avalanche(hash: bigint): bigint {
  const first = u64((hash ^ (hash >> 33n)) * PRIME_2)
  const second = u64((first ^ (first >> 29n)) * PRIME_3)
  return second ^ (second >> 32n)
}

export function minhashOf(
  bytes: Uint8Array,
  width: number,
  { multipliers, addends }: MinHashCoefficients,
): BigUint64Array {
  const signature = new BigUint64Array(multipliers.length).fill(2n ** 64n - 1n)
  for (const token of new Set(tokensOf(bytes, width))) {
    multipliers.forEach((multiplier, slot) => {
      const value = u64(multiplier * token + (addends[slot] ?? 0n))
      if (value < (signature[slot] ?? 0n)) signature[slot] = value
    })
  }
  return signature
}

/** A text of fewer code points than a token has is one token. */
function* tokensOf(bytes: Uint8Array, width: number): Generator<bigint> {
  if (bytes.length === 0) return
  const starts: number[] = []
  for (let at = 0; at < bytes.length; at += decode(bytes, at) >>> 24) starts.push(at)
  starts.push(bytes.length)
  const last = Math.max(1, starts.length - width)
  for (let token = 0; token < last; token++) {
    yield hash64(bytes.subarray(starts[token], starts[token + width] ?? bytes.length))
  }
}
