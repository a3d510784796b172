/**
 * Small, pure helpers for bytes: order, equality, concatenation and the end of a prefix.
 *
 * Everything that comes out is a Buffer, because a Buffer prints as text and compares in C. Nothing here
 * copies unless its name says so.
 */

import { PrestigeError } from './errors.ts'

export type Bytes = Uint8Array

export const EMPTY: Buffer = Buffer.alloc(0)

/** Of the machine: how it has the bytes of a number in memory. */
export const IS_LITTLE_ENDIAN: boolean = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

/** The same memory seen as a Buffer. */
export function asBuffer(bytes: Bytes): Buffer {
  return bytes instanceof Buffer
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** One character a byte: the cheapest thing a Map can be keyed by, and it sorts as the bytes do. */
export function latin1(bytes: Bytes): string {
  return asBuffer(bytes).toString('latin1')
}

/** A copy nobody else can change. */
export function copyOf(bytes: Bytes): Buffer {
  const copy = Buffer.allocUnsafe(bytes.byteLength)
  copy.set(bytes)
  return copy
}

const SLAB_BYTES = 512 * 1024
const SLAB_ALIGNMENT = 8

/**
 * Memory for pieces that come together and are gone together: one large piece costs less than many small ones, to
 * make and to take away. Whoever keeps one of them keeps all, so what stays is copied.
 */
export class Slab {
  #slab: Buffer = EMPTY
  #used = 0

  /** What is in it is whatever was there. */
  take(bytes: number): Buffer {
    if (bytes > SLAB_BYTES / 8) return Buffer.allocUnsafeSlow(bytes)
    if (bytes > this.#slab.length - this.#used) {
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
      this.#used = 0
    }
    const from = this.#used
    this.#used = Math.ceil((from + bytes) / SLAB_ALIGNMENT) * SLAB_ALIGNMENT
    return this.#slab.subarray(from, from + bytes)
  }
}

export function concat(first: Bytes, second: Bytes): Buffer {
  const both = Buffer.allocUnsafe(first.byteLength + second.byteLength)
  both.set(first)
  both.set(second, first.byteLength)
  return both
}

export function equalBytes(first: Bytes, second: Bytes): boolean {
  return first.byteLength === second.byteLength && Buffer.compare(first, second) === 0
}

/** The least bytes that are greater than everything starting with `prefix`; `undefined`: no end. */
export function endOfPrefix(prefix: Bytes): Buffer | undefined {
  let length = prefix.byteLength
  while (length > 0 && prefix[length - 1] === 0xff) length--
  if (length === 0) return undefined
  const end = copyOf(prefix.subarray(0, length))
  end.writeUInt8(end.readUInt8(length - 1) + 1, length - 1)
  return end
}

export function startsWith(bytes: Bytes, prefix: Bytes): boolean {
  return (
    bytes.byteLength >= prefix.byteLength &&
    Buffer.compare(bytes.subarray(0, prefix.byteLength), prefix) === 0
  )
}

/**
 * UTF-8 of a text. A lone surrogate has no UTF-8: encoders replace it, and two different texts would
 * become the same bytes, so it is refused instead.
 */
export function utf8(
  text: string,
  code: 'INVALID_KEY' | 'INVALID_VALUE' | 'INVALID_OPTIONS',
  what: string,
): Buffer {
  if (!text.isWellFormed()) {
    throw new PrestigeError(
      code,
      `${what} holds a lone surrogate, which has no UTF-8 form. Give bytes, or call toWellFormed() first.`,
    )
  }
  return Buffer.from(text, 'utf8')
}

/** Where the first broken sequence starts. Runs only on the way to an error, so it may be slow. */
export function invalidUtf8At(bytes: Uint8Array): number {
  let at = 0
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at)
    if (length === 0) return at
    at += length
  }
  return at
}

/** The length of the well-formed sequence at `at`, or 0 (Unicode 15.0, table 3-7). */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0
  if (lead < 0x80) return 1
  if (lead < 0xc2 || lead > 0xf4) return 0
  const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
  const second = bytes[at + 1] ?? 0
  const [low, high] = secondByteRange(lead)
  if (second < low || second > high) return 0
  for (let next = at + 2; next < at + length; next++) {
    if (((bytes[next] ?? 0) & 0xc0) !== 0x80) return 0
  }
  return length
}

/** Narrower than 80..BF where overlong forms, surrogates and points above U+10FFFF would begin. */
function secondByteRange(lead: number): readonly [number, number] {
  if (lead === 0xe0) return [0xa0, 0xbf]
  if (lead === 0xed) return [0x80, 0x9f]
  if (lead === 0xf0) return [0x90, 0xbf]
  if (lead === 0xf4) return [0x80, 0x8f]
  return [0x80, 0xbf]
}
