/**
 * How keys look on a line of text and in JSON. A key is bytes; most are text, and print as they are.
 *
 * Invariant: the notation is reversible. `\\` is a backslash and `\xHH` one byte; everything else is itself.
 * So `caf\xe9` is Latin-1, `a\x0ab` has a line feed in it, and what is printed can be given back with -e.
 */

import { isUtf8 } from 'node:buffer'

import { usageFailure } from '../call/failure.ts'

/**
 * Controls, line separators and the marks that reorder text on a screen, so that a key can neither break a
 * line nor pretend to be another; U+FFFD, which arguments cannot carry (see arguments.ts).
 */
const UNPRINTABLE = /[\p{Cc}\\\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffd]/gu

export function notationOf(key: Uint8Array): string {
  const bytes = bufferOf(key)
  if (isUtf8(bytes)) return escapeText(bytes.toString())
  let notation = ''
  for (let at = 0; at < bytes.length;) {
    const length = characterLength(bytes, at)
    const part = bytes.subarray(at, at + Math.max(length, 1))
    notation += length > 0 ? escapeText(part.toString()) : escapeBytes(part)
    at += part.length
  }
  return notation
}

/** The bytes of the character at this place; 0 where none begins. */
function characterLength(bytes: Buffer, at: number): number {
  for (let length = 1; length <= 4 && at + length <= bytes.length; length++) {
    if (isUtf8(bytes.subarray(at, at + length))) return length
  }
  return 0
}

function escapeText(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) =>
    character === '\\' ? '\\\\' : escapeBytes(Buffer.from(character)),
  )
}

function escapeBytes(bytes: Buffer): string {
  return bytes.toString('hex').replaceAll(/../g, '\\x$&')
}

export function bytesOfNotation(notation: string): Buffer {
  const parts: Buffer[] = []
  let at = 0
  for (const { 0: escape, index } of notation.matchAll(/\\(?:x[0-9a-f]{2}|.|$)/gisu)) {
    parts.push(Buffer.from(notation.slice(at, index)), byteOfEscape(escape))
    at = index + escape.length
  }
  parts.push(Buffer.from(notation.slice(at)))
  return Buffer.concat(parts)
}

function byteOfEscape(escape: string): Buffer {
  if (escape === '\\\\') return Buffer.from('\\')
  if (escape.length === 4) return Buffer.from(escape.slice(2), 'hex')
  throw usageFailure(
    `"${escape}" means nothing with -e. Write \\xHH for a byte, \\\\ for a backslash.`,
  )
}

/** Text where a key is text, `{ "base64": "…" }` where it is not. */
export function keyInJson(key: Uint8Array): string | { readonly base64: string } {
  const bytes = bufferOf(key)
  return isUtf8(bytes) ? bytes.toString() : { base64: bytes.toString('base64') }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
