/** Why something is no document. Checks that several formats share. */

import { isUtf8 } from 'node:buffer'

import { invalidUtf8At } from '../platform/bytes.ts'
import type { RejectReason } from './document.ts'

/** Thrown within this module only, and always caught: a reject on its way out of a field. */
export class Unfit {
  readonly reason: RejectReason
  readonly message: string

  constructor(reason: RejectReason, message: string) {
    this.reason = reason
    this.message = message
  }
}

/** Why a compressed file gave no more. */
export interface Damage {
  readonly why: string
  /** It is refused, and may be sound. */
  readonly isTooLarge?: boolean
  /** It may be sound, and was not read to its end. */
  readonly isBeyondLimit?: boolean
}

export function truncated({ why, isTooLarge, isBeyondLimit }: Damage, heldBytes: number): Unfit {
  if (isBeyondLimit) return new Unfit('truncated', why)
  if (isTooLarge) return new Unfit('too-long', why)
  const lost = heldBytes > 0 ? `; ${heldBytes} bytes of an unfinished line were dropped` : ''
  const message = `the compressed file is damaged or ends too early (${why})${lost}`
  return new Unfit('truncated', `${message}. What was read before is good; fetch the file again`)
}

export function tooLong(bytes: number, bytesMax: number): Unfit {
  const message = `it has ${bytes} bytes, more than the limit of ${bytesMax} (lineBytesMax)`
  return new Unfit('too-long', message)
}

/** Throws `Unfit` with the place of the first byte that does not fit. */
export function requireUtf8(bytes: Uint8Array): void {
  if (isUtf8(bytes)) return
  const at = invalidUtf8At(bytes)
  const found = `0x${(bytes[at] ?? 0).toString(16).padStart(2, '0')}`
  const isWide = at === 0 && (bytes[0] === 0xff || bytes[0] === 0xfe)
  const hint = isWide ? '; it looks like UTF-16, so convert it to UTF-8 first' : ''
  throw new Unfit('invalid-utf8', `it is not UTF-8 at byte ${at} (${found})${hint}`)
}

/** Text as people keep it has no NUL; what has one is mostly no text at all. Throws `Unfit`. */
export function requireNoNul(bytes: Buffer): void {
  const at = bytes.indexOf(0)
  if (at < 0) return
  throw new Unfit('nul-byte', `it has a NUL at byte ${at}; it may be binary, or UTF-16`)
}
