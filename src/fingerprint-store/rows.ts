/**
 * What fingerprints are kept in, row by row. Numbers are big endian; times are milliseconds since 1970 in six bytes.
 * Every row starts with a byte whose high half is the row's format (1) and whose low half holds flags.
 *
 * A document is known by sixteen bytes of its id. Every time its fingerprints are added it gets a row of a new,
 * unique number, so that rows of what was there before are never taken for those of what is there now.
 */

import { asBuffer, type Bytes, concat } from '../platform/bytes.ts'
import { type Codec, rows, type Space, tallies } from '../backends/index.ts'
import { nearSpaces, rawCodec, spacesOf } from '../match/index.ts'
import { RowReader, RowWriter } from '../platform/rows.ts'

export const ID = 16

/**
 * The fingerprints of one document.
 *
 * `1f` at (6) digest of all fingerprints (16) chunks (4) lists of chunks (4) id (2 + n) [source (1 + n)]
 * [language (1 + n)], then three times a number (1), 0 or 1, and so many keys (16): the hash of the canonical form,
 * the partition of the MinHash, the partition of the SimHash. Flags: 1 source, 2 language, 4 all chunks are kept,
 * 8 gone: its rows are being removed.
 */
export interface FingerprintRow {
  readonly id: string
  readonly source: string | undefined
  readonly language: string | undefined
  readonly at: number
  readonly content: Buffer
  readonly chunks: number
  readonly lists: number
  readonly form: Buffer | undefined
  readonly minhash: Buffer | undefined
  readonly simhash: Buffer | undefined
  readonly isWhole: boolean
  readonly isGone: boolean
}

const WHAT = 'the fingerprints (documents)'

const fingerprintCodec: Codec<FingerprintRow> = {
  encode(row) {
    const { id, source, language, at, content, chunks, lists, form, minhash, simhash } = row
    const names = (source === undefined ? 0 : 1) | (language === undefined ? 0 : 2)
    const to = new RowWriter(names | (row.isWhole ? 4 : 0) | (row.isGone ? 8 : 0))
    to.time(at).bytes(content).number(chunks, 4).number(lists, 4).text(id, 2)
    if (source !== undefined) to.text(source, 1)
    if (language !== undefined) to.text(language, 1)
    for (const key of [form, minhash, simhash]) {
      to.number(key ? 1 : 0, 1)
      if (key) to.bytes(key)
    }
    return to.whole()
  },
  decode(bytes) {
    const from = new RowReader(WHAT, bytes)
    const key = () => from.list(from.number(1), () => from.bytes(ID))[0]
    return {
      at: from.time(),
      content: from.bytes(ID),
      chunks: from.number(4),
      lists: from.number(4),
      id: from.text(2),
      source: from.has(1) ? from.text(1) : undefined,
      language: from.has(2) ? from.text(1) : undefined,
      form: key(),
      minhash: key(),
      simhash: key(),
      isWhole: from.has(4),
      isGone: from.has(8),
    }
  },
}

/**
 * Who has a canonical form or a chunk: `1f` rows (16 each), the first so many; flags: 1 more than those have had it. A
 * row with this flag is not written again when others come, so what many share is contended by few.
 */
export interface Holders {
  readonly isCommon: boolean
  readonly rows: readonly Buffer[]
}

export const HOLDERS_MAX = 32
export const NOBODY: Holders = Object.freeze({ isCommon: false, rows: [] })

const holdersCodec: Codec<Holders> = {
  encode({ isCommon, rows: all }) {
    const to = new RowWriter(isCommon ? 1 : 0, all.length * ID)
    for (const row of all) to.bytes(row)
    return to.whole()
  },
  decode(bytes) {
    const from = new RowReader('the fingerprints (hashes)', bytes)
    const count = Math.floor((bytes.byteLength - 1) / ID)
    return { isCommon: from.has(1), rows: from.list(count, () => from.bytes(ID)) }
  },
}

const textCodec: Codec<string> = {
  encode: (text) => Buffer.from(text),
  decode: (bytes) => asBuffer(bytes).toString(),
}

export const minhashNear = nearSpaces('fingerprints.minhash')
export const simhashNear = nearSpaces('fingerprints.simhash')
/** Document → its row. */
export const ids: Space<Bytes> = rows('fingerprints.ids', rawCodec, { ordered: true })
/** Row → FingerprintRow. */
export const fingerprints: Space<FingerprintRow> = rows('fingerprints.rows', fingerprintCodec, {
  ordered: true,
})
/** Hash of a canonical form or of a chunk → Holders. */
export const hashes: Space<Holders> = rows('fingerprints.hashes', holdersCodec, { ordered: true })
/** Row and number (4) → hashes of chunks (16 each). */
export const chunkLists: Space<Bytes> = rows('fingerprints.chunkLists', rawCodec, {
  ordered: true,
  immutable: true,
})
/** Time (6) and row → nothing. */
export const byTime: Space<Bytes> = rows('fingerprints.byTime', rawCodec, { ordered: true })
/** Row of which something is still to be removed → nothing. */
export const gone: Space<Bytes> = rows('fingerprints.gone', rawCodec, { ordered: true })
/** `fingerprints` → what they were made with, as JSON. */
export const settings: Space<string> = rows('fingerprints.settings', textCodec)
/** `documents` → how many there are. */
export const fingerprintTallies: Space<number> = tallies('fingerprints.tallies')

export const PRESENT: Bytes = Buffer.of(0x10)
export const DOCUMENTS: Buffer = Buffer.from('documents')

export const fingerprintSpaces: readonly Space<unknown>[] = [
  ...spacesOf(minhashNear),
  ...spacesOf(simhashNear),
  ids,
  fingerprints,
  hashes,
  chunkLists,
  byTime,
  gone,
  settings,
  fingerprintTallies,
]

export function listKey(row: Bytes, number: number): Buffer {
  const last = Buffer.allocUnsafe(4)
  last.writeUInt32BE(number)
  return concat(row, last)
}

export function timeKey(at: number, row: Bytes): Buffer {
  const time = Buffer.allocUnsafe(6)
  time.writeUIntBE(at, 0, 6)
  return concat(time, row)
}
