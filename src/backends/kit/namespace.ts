/**
 * How a namespace becomes the beginning of every key: its length in one byte, then its name. No name is
 * the beginning of another then, so no scan of one namespace can reach into another.
 */

import { concat, type Bytes, endOfPrefix, utf8 } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { Range } from '../contract.ts'

export const NAMESPACE_BYTES_MAX = 64

export function namespacePrefix(namespace = ''): Buffer {
  const name = utf8(namespace, 'INVALID_OPTIONS', 'The namespace')
  if (name.byteLength > NAMESPACE_BYTES_MAX) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `A namespace has at most ${NAMESPACE_BYTES_MAX} bytes; this one has ${name.byteLength}.`,
    )
  }
  return concat(Buffer.of(name.byteLength), name)
}

/** The range of a namespace's keys that answers a range of the caller's. */
export function within(prefix: Bytes, { start, end }: Range): { start: Buffer; end: Buffer } {
  return {
    start: start ? concat(prefix, start) : Buffer.from(prefix),
    // A prefix starts with a length of at most 64, so it always has an end.
    end: end ? concat(prefix, end) : (endOfPrefix(prefix) ?? Buffer.from(prefix)),
  }
}
