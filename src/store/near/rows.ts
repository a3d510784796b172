/**
 * What the store keeps besides its index when near duplicates are linked. Numbers are big endian; the first byte
 * of a row holds its format (1) in the high half and flags in the low one.
 */

import { asBuffer, type Bytes, concat } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { type Codec, hasFormat, rows, sealed, type Space, tallies } from '../../backends/index.ts'
import { nearSpaces, rawCodec, spacesOf } from '../../match/index.ts'

const FORMAT = 0x10
const ID = 16
const DIGEST = 32

/** What a content is to those like it. */
export interface Link {
  /** The group of the index it is in, or would be. */
  readonly group: Buffer
  /** Absent: it is a representative itself. */
  readonly to: LinkedTo | undefined
}

export interface LinkedTo {
  readonly id: Buffer
  readonly digest: Buffer
  readonly similarity: number
  readonly storedAt: number
  readonly firstKey: Buffer
}

/** `1f` group (16) [content it is linked to (16) its digest (32) similarity (8) stored at (6) first key]; flags: 1 linked. */
const linkCodec: Codec<Link> = {
  encode({ group, to }) {
    const head = concat(Buffer.of(FORMAT | (to ? 1 : 0)), group)
    if (!to) return head
    const numbers = Buffer.allocUnsafe(14)
    numbers.writeDoubleBE(to.similarity)
    numbers.writeUIntBE(to.storedAt, 8, 6)
    return Buffer.concat([head, to.id, to.digest, numbers, to.firstKey])
  },
  decode(bytes) {
    const row = asBuffer(bytes)
    const isLinked = ((row[0] ?? 0) & 1) !== 0
    const numbersAt = 1 + 2 * ID + DIGEST
    const bytesMin = isLinked ? numbersAt + 14 : 1 + ID
    if (row.byteLength < bytesMin || !hasFormat(row)) throw unreadable('links')
    const group = row.subarray(1, 1 + ID)
    if (!isLinked) return { group, to: undefined }
    return {
      group,
      to: {
        id: row.subarray(1 + ID, 1 + 2 * ID),
        digest: row.subarray(1 + 2 * ID, numbersAt),
        similarity: row.readDoubleBE(numbersAt),
        storedAt: row.readUIntBE(numbersAt + 8, 6),
        firstKey: row.subarray(numbersAt + 14),
      },
    }
  },
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

export function decodePayload(payload: Buffer): Payload {
  if (payload.byteLength !== DIGEST + 6) throw unreadable('representatives')
  return { digest: payload.subarray(0, DIGEST), bytes: payload.readUIntBE(DIGEST, 6) }
}

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

function unreadable(what: string): PrestigeError {
  const message = `A row of near duplicates (${what}) cannot be read. Run verify on this store.`
  return new PrestigeError('CONTENT_CORRUPT', message)
}

export const storeNear = nearSpaces('near')
/** Content id → Link. */
export const links: Space<Link> = rows('near.links', sealed('near.links', linkCodec), {
  ordered: true,
})
/** Content id of a representative and of a content that is linked to it → the latter's digest. */
export const linked: Space<Bytes> = rows('near.linked', rawCodec, {
  ordered: true,
  gatherBytes: 16,
})
/** Content id of a representative that is gone → nothing: those linked to it are to be re-evaluated. */
export const orphaned: Space<Bytes> = rows('near.orphaned', rawCodec, { ordered: true })
/** `links`: contents that are linked; `passedOver`: values found new although full buckets were passed over. */
export const nearTallies: Space<number> = tallies('near.tallies')

export const nearStoreSpaces: readonly Space<unknown>[] = [
  ...spacesOf(storeNear),
  links,
  linked,
  orphaned,
  nearTallies,
]

export function linkedKey(representative: Bytes, id: Bytes): Buffer {
  return concat(representative, id)
}
