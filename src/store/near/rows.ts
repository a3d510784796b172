/**
 * What the store keeps besides its index when near duplicates are linked. Numbers are big endian; the first byte
 * of a row holds its format (1) in the high half and flags in the low one.
 */

import { asBuffer, type Bytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { Codec, Space } from '../../backends/index.ts'
import {
  type Link,
  type LinkFields,
  type LinkSpaces,
  linkSpaces,
  linkSpacesOf,
  nearSpaces,
  spacesOf,
} from '../../match/index.ts'

const FORMAT = 0x10
const ID = 16
const DIGEST = 32

/** What a content is to those like it: a representative, unless it is linked to one. */
export interface NearLink extends Link {
  /** The group of the index it is in, or would be. */
  readonly group: Buffer
}

/** The row begins with its group (16). */
const nearFields: LinkFields<NearLink> = {
  bytes: ID,
  flagsOf: () => 0,
  encode: ({ group }) => group,
  decode: (group, to) => ({ group, to }),
}

/** The payload of a representative: its digest (32) and its length (6). */
export interface Payload {
  readonly digest: Buffer
  readonly bytes: number
}

export function encodePayload({ digest, bytes }: Payload): Buffer {
  const payload = Buffer.allocUnsafe(DIGEST + 6)
  payload.set(digest)
  payload.writeUIntBE(bytes, DIGEST, 6)
  return payload
}

export function decodePayload(bytes: Bytes): Payload {
  const payload = asBuffer(bytes)
  if (payload.byteLength !== DIGEST + 6) {
    const message = 'A row of near.representatives cannot be read. Run verify on this store.'
    throw new PrestigeError('CONTENT_CORRUPT', message)
  }
  return { digest: payload.subarray(0, DIGEST), bytes: payload.readUIntBE(DIGEST, 6) }
}

export const payloadCodec: Codec<Payload> = { encode: encodePayload, decode: decodePayload }

/** How similar a value is whose key shares a representative's bytes: `10` similarity (8), kept in `refs`. */
export function encodeSimilarity(similarity: number): Buffer {
  const row = Buffer.allocUnsafe(9)
  row[0] = FORMAT
  row.writeDoubleBE(similarity, 1)
  return row
}

export function decodeSimilarity(bytes: Bytes | undefined): number | undefined {
  if (bytes?.byteLength !== 9) return undefined
  return asBuffer(bytes).readDoubleBE(1)
}

export const storeNear = nearSpaces('near')
/** Winnowed fingerprints of representatives, where containment is looked for. */
export const storeContainment = nearSpaces('near.containment')
/** Besides its links, `tallies` counts `passedOver`: values found new although full buckets were passed over. */
export const nearLinks: LinkSpaces<NearLink> = linkSpaces('near', nearFields, { gatherBytes: 16 })

export const nearStoreSpaces: readonly Space<unknown>[] = [
  ...spacesOf(storeNear),
  ...spacesOf(storeContainment),
  ...linkSpacesOf(nearLinks),
]
