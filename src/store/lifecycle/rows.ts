/**
 * What the store keeps about the use of keys, only where that is asked for: rows of their own, so that all other stores
 * neither read nor write them. Numbers are big endian; times are milliseconds since 1970 in six bytes.
 *
 * A process that opened the store before the first of these rows was written does not maintain them. So none of them is
 * believed alone: whoever acts on one compares it with the key's entry in the same transaction.
 */

import { asBuffer, type Bytes } from '../../platform/bytes.ts'
import { RowWriter, unreadable } from '../../platform/rows.ts'
import { type Codec, hasFormat, rows, sealed, type Space } from '../../backends/index.ts'

const HINT = 'Run prestige verify --repair on this store.'
const raw: Codec<Bytes> = { encode: (bytes) => bytes, decode: (bytes) => bytes }

function checked(what: string, bytes: Bytes, length: number): Buffer {
  const row = asBuffer(bytes)
  if (row.byteLength === length && hasFormat(row)) return row
  throw unreadable(what, HINT)
}

/** `10` last use (6). */
const useCodec: Codec<number> = {
  encode: (usedAt) => new RowWriter(0, 6).time(usedAt).whole(),
  decode: (bytes) => checked('uses', bytes, 7).readUIntBE(1, 6),
}

/** That reads extend the expiry of a key. */
export interface Sliding {
  readonly ttlMs: number
  /** The expiry that this is about: one that was set by a process that knows nothing of sliding is another. */
  readonly expiresAt: number
}

/** `10` time to live (6) expires at (6). */
const slidingCodec: Codec<Sliding> = {
  encode: ({ ttlMs, expiresAt }) => new RowWriter(0, 12).time(ttlMs).time(expiresAt).whole(),
  decode(bytes) {
    const row = checked('sliding', bytes, 13)
    return { ttlMs: row.readUIntBE(1, 6), expiresAt: row.readUIntBE(7, 6) }
  },
}

/** Time (6) of the last use and key → nothing: the least recently used first. Pinned keys have none. */
export const recency: Space<Bytes> = rows('recency', raw, { ordered: true })
/** Key → when it was last used, as `recency` has it. */
export const uses: Space<number> = rows('uses', sealed('uses', useCodec))
/** Key → Sliding. */
export const sliding: Space<Sliding> = rows('sliding', sealed('sliding', slidingCodec))
/** Key → nothing: it is exempt from eviction and from pruning. */
export const pins: Space<Bytes> = rows('pins', raw, { ordered: true })

export const lifecycleSpaces: readonly Space<unknown>[] = [recency, uses, sliding, pins]
