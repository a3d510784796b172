/**
 * The vectors of texts, row by row. A text has a row for its first window, which also says how many there are, and
 * one for each further window; so a row is small on any engine.
 *
 * Key: 16 bytes of the embedder's id, SHA-256 of the text (32), and of further windows their number (2). Every row
 * starts with a byte whose high half is its format (1). Numbers are big endian, those of vectors singles in little
 * endian.
 */

import { createHash } from 'node:crypto'

import { asBuffer, type Bytes, concat } from '../../platform/bytes.ts'
import { RowReader, RowWriter, unreadable } from '../../platform/rows.ts'
import { type Codec, rows, type Space } from '../../backends/index.ts'

const CACHED = 'the cache of vectors'
const HINT = 'Clear the cache of embeddings.'
const SCOPE_BYTES = 16
const DIGEST_BYTES = 32
export const TEXT_KEY_BYTES = SCOPE_BYTES + DIGEST_BYTES
export const WINDOWS_MAX = 65_535

/** `10` number of windows, or 0 of a further one (2), the vector. */
export interface EmbeddingRow {
  readonly windows: number
  readonly vector: Float32Array
}

const codec: Codec<EmbeddingRow> = {
  encode: ({ windows, vector }) =>
    new RowWriter(0, 2 + vector.byteLength).number(windows, 2).bytes(encodeVector(vector)).whole(),
  decode(bytes) {
    const row = new RowReader(CACHED, bytes, HINT)
    const windows = row.number(2)
    const vector = row.rest()
    if (row.flags !== 0 || vector.byteLength === 0 || vector.byteLength % 4 !== 0) {
      throw unreadable(CACHED, HINT)
    }
    return { windows, vector: decodeVector(vector) }
  },
}

export const embeddings: Space<EmbeddingRow> = rows('semantic.embeddings', codec, { ordered: true })

/** To be named when a backend is opened that caches embeddings. */
export const semanticSpaces: readonly Space<unknown>[] = [embeddings]

/** Singles, little endian, whatever the machine. */
export function encodeVector(vector: Float32Array): Buffer {
  const bytes = Buffer.allocUnsafe(vector.length * 4)
  for (let at = 0; at < vector.length; at++) bytes.writeFloatLE(vector[at] ?? 0, at * 4)
  return bytes
}

export function decodeVector(bytes: Bytes): Float32Array {
  const buffer = asBuffer(bytes)
  const vector = new Float32Array(buffer.byteLength >> 2)
  for (let at = 0; at < vector.length; at++) vector[at] = buffer.readFloatLE(at * 4)
  return vector
}

/** What all rows of one embedder begin with. */
export function scopeOf(embedderId: string): Buffer {
  return createHash('sha256').update(embedderId).digest().subarray(0, SCOPE_BYTES)
}

export function textKey(scope: Bytes, text: string): Buffer {
  return concat(scope, createHash('sha256').update(text.toWellFormed()).digest())
}

export function windowKey(key: Bytes, window: number): Buffer {
  const number = Buffer.allocUnsafe(2)
  number.writeUInt16BE(window)
  return window === 0 ? asBuffer(key) : concat(key, number)
}
