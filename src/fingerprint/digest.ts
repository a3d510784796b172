/**
 * SHA-256, the identity of bytes. It fails by throwing, never by answering with a digest of its own:
 * an all-zero digest would make every value "the same".
 */

import { createHash, hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'

import { type Bytes, latin1 } from '../platform/bytes.ts'

export const DIGEST_BYTES = 32
/** Up to here hashing takes a few milliseconds at most, and is done at once. */
const AT_ONCE_BYTES_MAX = 4 * 1024 * 1024

/** The one-shot hash with text output costs a third of any form that makes a Buffer itself. */
export function digestOf(bytes: Bytes): Buffer {
  return Buffer.from(hash('sha256', bytes, 'binary'), 'latin1')
}

/** Whether bytes have this digest. Without a Buffer for theirs. */
export function hasDigest(bytes: Bytes, digest: Bytes): boolean {
  return hash('sha256', bytes, 'binary') === latin1(digest)
}

/** For large values: lets the event loop turn between slices. */
export async function digestOfLarge(bytes: Bytes): Promise<Buffer> {
  if (bytes.byteLength <= AT_ONCE_BYTES_MAX) return digestOf(bytes)
  const sha256 = createHash('sha256')
  for (let from = 0; from < bytes.byteLength; from += AT_ONCE_BYTES_MAX) {
    sha256.update(bytes.subarray(from, from + AT_ONCE_BYTES_MAX))
    await nextTurn()
  }
  return sha256.digest()
}
