/**
 * Small, pure helpers for bytes: order, equality, concatenation and the end of a prefix.
 *
 * Everything that comes out is a Buffer, because a Buffer prints as text and compares in C. Nothing here
 * copies unless its name says so.
 */

import { PrestigeError } from './errors.ts'

export type Bytes = Uint8Array

export const EMPTY: Buffer = Buffer.alloc(0)

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
