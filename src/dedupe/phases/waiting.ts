/**
 * Prepared documents that wait until all are there, in the order in which they will be decided about. A row of an
 * engine has a limit, so one document may be several rows; they lie together.
 */

import { deserialize, serialize } from 'node:v8'

import { asBuffer, type Bytes } from '../../platform/bytes.ts'
import type { Row } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { PreparedDocument } from '../decision/prepare.ts'
import { documentKey, type Rank, runPrefix } from '../rows.ts'

export interface Waiting {
  readonly document: PreparedDocument
  readonly shard: number
  readonly position: number
}

export interface WaitingRows {
  readonly waiting: Waiting
  readonly keys: readonly Buffer[]
}

/** What a waiting document takes, a little more rather than less. */
export function waitingBytes({
  id,
  source,
  looks,
  chunks,
  fingerprints,
  unprobed,
}: PreparedDocument): number {
  const sketches = looks.reduce(
    (sum, look) => sum + look.slots.byteLength + look.evidence.length,
    0,
  )
  const prints = (fingerprints?.hashes.byteLength ?? 0) + (unprobed?.byteLength ?? 0)
  return sketches + prints + chunks.length * 64 + (id.length + source.length) * 2 + 1024
}

/** The best first; of equals, whatever their order, the same one. */
export function pendingKey(
  run: string,
  rank: Rank,
  { id, digest }: PreparedDocument,
  shard: number,
  position: number,
): Buffer {
  const numbers = Buffer.allocUnsafe(rank.length * 8)
  rank.forEach((number, at) => numbers.set(descending(number), at * 8))
  const place = Buffer.allocUnsafe(8)
  place.writeUInt32BE(shard)
  place.writeUInt32BE(position, 4)
  return Buffer.concat([runPrefix(run), numbers, documentKey(id), digest, place])
}

/** Eight bytes that sort the other way round than the numbers do. */
function descending(number: number): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeDoubleBE(number === 0 ? 0 : number)
  // Negative numbers sort the other way round as they are; of the others all bits but the sign are turned.
  if ((bytes[0] ?? 0) < 0x80)
    bytes.forEach((byte, at) => (bytes[at] = byte ^ (at === 0 ? 0x7f : 0xff)))
  return bytes
}

/** Part (2) and number of parts (2) end the key of every row. */
const PART_BYTES = 4

export function encodeWaiting(
  key: Buffer,
  waiting: Waiting,
  valueBytesMax: number,
): { readonly key: Buffer; readonly value: Buffer }[] {
  const bytes = serialize(waiting)
  const parts = Math.ceil(bytes.byteLength / valueBytesMax)
  return Array.from({ length: parts }, (_, part) => {
    const place = Buffer.allocUnsafe(PART_BYTES)
    place.writeUInt16BE(part)
    place.writeUInt16BE(parts, 2)
    const value = bytes.subarray(part * valueBytesMax, (part + 1) * valueBytesMax)
    return { key: Buffer.concat([key, place]), value }
  })
}

export async function* decodeWaiting(rows: AsyncIterable<Row<Bytes>>): AsyncGenerator<WaitingRows> {
  let values: Bytes[] = []
  let keys: Buffer[] = []
  for await (const { key, value } of rows) {
    const end = key.byteLength - PART_BYTES
    if (key.readUInt16BE(end) !== values.length) throw torn()
    values.push(value)
    keys.push(key)
    if (values.length < key.readUInt16BE(end + 2)) continue
    const bytes = values.length === 1 ? asBuffer(value) : Buffer.concat(values)
    // safe: only encodeWaiting makes these rows
    yield { waiting: deserialize(bytes) as Waiting, keys }
    values = []
    keys = []
  }
  if (values.length > 0) throw torn()
}

function torn(): PrestigeError {
  return new PrestigeError('CONTENT_CORRUPT', 'A part of a document that waits is missing.')
}
