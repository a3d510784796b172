/**
 * Strict UTF-8: a value either is text from its first to its last byte, or it is refused.
 *
 * Invariant: nothing is ever replaced by U+FFFD and no byte order mark is dropped, because both
 * would make different values the same.
 *
 * Not here: repairing broken text or guessing another encoding.
 */

import { isUtf8 } from 'node:buffer'

import { invalidUtf8At } from '../platform/bytes.ts'
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
