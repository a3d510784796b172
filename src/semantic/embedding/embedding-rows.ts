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
import { PrestigeError } from '../../platform/errors.ts'
import { type Codec, rows, type Space } from '../../backends/index.ts'

const FORMAT = 0x10
const HEAD = 3
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
  encode({ windows, vector }) {
    const row = Buffer.allocUnsafe(HEAD + vector.length * 4)
    row[0] = FORMAT
    row.writeUInt16BE(windows, 1)
    encodeVector(vector).copy(row, HEAD)
    return row
  },
  decode(bytes) {
    const row = asBuffer(bytes)
    if ((row[0] ?? 0) !== FORMAT || row.byteLength <= HEAD || (row.byteLength - HEAD) % 4 !== 0) {
      throw new PrestigeError(
        'CONTENT_CORRUPT',
        'A row of cached vectors cannot be read. Clear the cache of embeddings.',
      )
    }
    return { windows: row.readUInt16BE(1), vector: decodeVector(row.subarray(HEAD)) }
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
