/**
 * The row of a pack of evidence: texts compressed in blocks, so that one of them costs decompressing its block and not
 * all, while the row as a whole fills the pages of an engine.
 *
 * Row: `10` texts as they are, `11` deflated (only read), `12` in Brotli, `13` evidence other than texts, as it is
 * (match/evidence.ts), or `14` texts in blocks; number of parts (2), length of each (4). Then all of them; of blocks
 * their number (2), of each how many parts it has (2) and how many bytes it takes here (4), then all blocks. A block
 * that takes as many bytes as its parts have is as they are, others are in Brotli.
 */

import { brotliCompressSync, brotliDecompressSync, constants, inflateRawSync } from 'node:zlib'

import { asBuffer, type Bytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'

const PLAIN = 0x10
const DEFLATED = 0x11
const BROTLI = 0x12
const OTHERS = 0x13
const BLOCKS = 0x14
const HEAD_BYTES = 3
export const LENGTH_BYTES = 4
const COUNT_BYTES = 2
/** Blocks of 256 KB would be 6 % smaller, and take four times as long to decompress. */
const BLOCK_BYTES = 64 * 1024
/** Of texts: a fifth smaller than deflated in the same time. 4 takes half as long again for 3 % less. */
const QUALITY = 3
const WINDOW_BITS = 18

export function encodePack(parts: readonly Bytes[], areTexts = true): Buffer {
  const blocks = areTexts ? inBlocks(parts) : [parts]
  const isOne = blocks.length <= 1
  const encoded = blocks.map((block) => encodedBlock(block, areTexts))
  const [only] = encoded
  const head = Buffer.allocUnsafe(HEAD_BYTES + parts.length * LENGTH_BYTES)
  head[0] = !areTexts ? OTHERS : !isOne ? BLOCKS : only?.isSmaller ? BROTLI : PLAIN
  head.writeUInt16BE(parts.length, 1)
  parts.forEach(({ byteLength }, at) =>
    head.writeUInt32BE(byteLength, HEAD_BYTES + at * LENGTH_BYTES),
  )
  const bodies = encoded.map(({ bytes }) => bytes)
  if (isOne) return Buffer.concat([head, ...bodies])
  const table = Buffer.allocUnsafe(COUNT_BYTES + blocks.length * (COUNT_BYTES + LENGTH_BYTES))
  let at = table.writeUInt16BE(blocks.length)
  blocks.forEach(({ length }, index) => {
    at = table.writeUInt16BE(length, at)
    at = table.writeUInt32BE(bodies[index]?.byteLength ?? 0, at)
  })
  return Buffer.concat([head, table, ...bodies])
}

/** Parts that come one after another, of so many bytes, or one of more. */
function inBlocks(parts: readonly Bytes[]): Bytes[][] {
  const blocks: Bytes[][] = []
  let bytes = Infinity
  for (const part of parts) {
    bytes += part.byteLength
    if (bytes > BLOCK_BYTES) {
      blocks.push([])
      bytes = part.byteLength
    }
    blocks.at(-1)?.push(part)
  }
  return blocks
}

function encodedBlock(
  parts: readonly Bytes[],
  areTexts: boolean,
): { readonly bytes: Buffer; readonly isSmaller: boolean } {
  const whole = Buffer.concat(parts)
  const packed = areTexts ? compressed(whole) : whole
  const isSmaller = packed.byteLength < whole.byteLength
  return { bytes: isSmaller ? packed : whole, isSmaller }
}

function compressed(whole: Buffer): Buffer {
  const { byteLength } = whole
  return brotliCompressSync(whole, {
    // One chunk holds it all: memory is asked for once.
    chunkSize: Math.max(4096, byteLength),
    params: {
      [constants.BROTLI_PARAM_QUALITY]: QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: byteLength,
    },
  })
}

export function isOfTexts(row: Bytes): boolean {
  return row[0] !== OTHERS
}

/** Of texts their bytes, of other evidence all of it. */
export function decodePack(row: Bytes): Bytes[] {
  return new PackRow(row).parts()
}

interface Block {
  /** Its first part, and the one after its last. */
  readonly from: number
  readonly to: number
  readonly format: number
  /** Where it begins in the row, and ends. */
  readonly start: number
  readonly end: number
  parts: readonly Bytes[] | undefined
}

/** A row whose blocks are decompressed when one of their parts is asked for, and kept. */
export class PackRow {
  readonly row: Buffer
  readonly #blocks: readonly Block[]

  constructor(row: Bytes) {
    this.row = asBuffer(row)
    this.#blocks = orCorrupt(() => blocksIn(this.row))
  }

  get isOfTexts(): boolean {
    return isOfTexts(this.row)
  }

  /** Of texts its bytes, of other evidence all of it. It lies in memory that others share. */
  part(at: number): Bytes | undefined {
    const block = this.#blocks.find(({ to }) => at < to)
    return block && this.#partsOf(block)[at - block.from]
  }

  parts(): Bytes[] {
    return this.#blocks.flatMap((block) => this.#partsOf(block))
  }

  #partsOf(block: Block): readonly Bytes[] {
    return (block.parts ??= orCorrupt(() => partsIn(this.row, block)))
  }
}

function blocksIn(row: Buffer): Block[] {
  const format = row[0] ?? 0
  const count = row.readUInt16BE(1)
  const from = HEAD_BYTES + count * LENGTH_BYTES
  if (format !== BLOCKS) {
    return [{ from: 0, to: count, format, start: from, end: row.byteLength, parts: undefined }]
  }
  const blocks: Block[] = []
  const width = COUNT_BYTES + LENGTH_BYTES
  const blockCount = row.readUInt16BE(from)
  let start = from + COUNT_BYTES + blockCount * width
  let first = 0
  for (let at = from + COUNT_BYTES; blocks.length < blockCount; at += width) {
    const to = first + row.readUInt16BE(at)
    const end = start + row.readUInt32BE(at + COUNT_BYTES)
    if (to > count || end > row.byteLength) throw new TypeError('other lengths')
    const isPlain = end - start === lengthsIn(row, first, to).bytes
    const own = isPlain ? PLAIN : BROTLI
    blocks.push({ from: first, to, format: own, start, end, parts: undefined })
    first = to
    start = end
  }
  if (first !== count || start !== row.byteLength) throw new TypeError('other lengths')
  return blocks
}

function lengthsIn(row: Buffer, from: number, to: number): { lengths: number[]; bytes: number } {
  const lengths: number[] = []
  let bytes = 0
  for (let at = from; at < to; at++) {
    const length = row.readUInt32BE(HEAD_BYTES + at * LENGTH_BYTES)
    lengths.push(length)
    bytes += length
  }
  return { lengths, bytes }
}

function partsIn(row: Buffer, { from, to, format, start, end }: Block): Bytes[] {
  const { lengths, bytes } = lengthsIn(row, from, to)
  const whole = decompressed(format, row.subarray(start, end), bytes)
  if (whole.byteLength !== bytes) throw new TypeError('other lengths')
  let done = 0
  return lengths.map((length) => whole.subarray(done, (done += length)))
}

function decompressed(format: number, body: Buffer, bytes: number): Buffer {
  const options = { maxOutputLength: bytes + 1, chunkSize: Math.max(64, bytes + 1) }
  if (format === BROTLI) return brotliDecompressSync(body, options)
  if (format === DEFLATED) return inflateRawSync(body, options)
  if (format === PLAIN || format === OTHERS) return body
  throw new TypeError('another format')
}

function orCorrupt<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    const message = 'A row of the corpus job (packs) cannot be read.'
    throw new PrestigeError('CONTENT_CORRUPT', message, { cause: error })
  }
}
