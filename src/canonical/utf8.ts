/**
 * Strict UTF-8: a value either is text from its first to its last byte, or it is refused.
 *
 * Invariant: nothing is ever replaced by U+FFFD and no byte order mark is dropped, because both
 * would make different values the same.
 *
 * Not here: repairing broken text or guessing another encoding.
 */

import { isUtf8 } from 'node:buffer'
import { unreadable } from './unreadable.ts'

/**
 * More text than this is never held as one string. A JavaScript string ends at 2^29 units, and a
 * canonical text can be several times longer than its original (U+FDFA alone becomes 18
 * characters).
 */
export const textBytesMax: number = 64 * 1024 * 1024

const decoder = new TextDecoder('utf-8', { ignoreBOM: true }) // true keeps the mark in the text
const encoder = new TextEncoder()

/** Throws UNREADABLE_VALUE with the place of the first byte that does not fit. */
export function requireUtf8(bytes: Uint8Array, profile: string): void {
  if (isUtf8(bytes)) return
  const at = invalidUtf8At(bytes)
  const found = `0x${(bytes[at] ?? 0).toString(16).padStart(2, '0')}`
  throw unreadable(profile, `it is not valid UTF-8 at byte ${at} (${found})`)
}

/** The bytes must have passed `requireUtf8`: what is broken here is replaced, not refused. */
export function decodeUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes)
}

export function encodeUtf8(text: string): Uint8Array {
  return encoder.encode(text)
}

/** Where the first broken sequence starts. Runs only on the way to an error, so it may be slow. */
function invalidUtf8At(bytes: Uint8Array): number {
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
