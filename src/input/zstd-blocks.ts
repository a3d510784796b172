/**
 * Cuts Zstandard data into pieces that stand for one block of output each, so that a decoder never produces more than
 * a block at a time, and refuses what would make it allocate without bound: a window is allocated from six bytes of
 * header, before there is any data to fill it.
 *
 * Nothing is decoded here. Format: RFC 8878, section 3.1.
 */

import { size } from '../platform/units.ts'

/** As the zstd tool refuses without `--long` or `--memory`. */
export const ZSTD_WINDOW_LOG_MAX = 27
const WINDOW_BYTES_MAX = 2 ** ZSTD_WINDOW_LOG_MAX
const BLOCK_BYTES_MAX = 128 * 1024
const MAGIC = 0xfd2fb528
const SKIPPABLE = 0x184d2a5
const CHECKSUM_BYTES = 4

/** What is not damaged, and not decoded either. */
export class TooLarge extends Error {}

type Next = 'frame' | 'block' | 'passed'

export class ZstdBlocks {
  #held: Buffer = Buffer.alloc(0)
  #next: Next = 'frame'
  /** Bytes that are handed on as they are: contents of skippable frames, and checksums. */
  #passing = 0
  #hasChecksum = false

  /** What is not a whole piece yet. */
  get rest(): Buffer {
    return this.#held
  }

  /** Throws `TooLarge`, and `Error` where the bytes are no Zstandard. The bytes must not change afterwards. */
  *feed(bytes: Buffer): Generator<Buffer> {
    this.#held = this.#held.length > 0 ? Buffer.concat([this.#held, bytes]) : bytes
    for (;;) {
      const length = this.#pieceBytes()
      if (length === undefined || length > this.#held.length) return
      yield this.#held.subarray(0, length)
      this.#held = this.#held.subarray(length)
    }
  }

  /** `undefined` if there are too few bytes to decide. May be asked again for the same bytes. */
  #pieceBytes(): number | undefined {
    if (this.#next === 'passed') {
      const length = Math.min(this.#passing, this.#held.length)
      if (length === 0) return undefined
      this.#passing -= length
      if (this.#passing === 0) this.#next = 'frame'
      return length
    }
    return this.#next === 'frame' ? this.#frameBytes() : this.#blockBytes()
  }

  #frameBytes(): number | undefined {
    const held = this.#held
    if (held.length < 5) return undefined
    const magic = held.readUInt32LE(0)
    if (magic >>> 4 === SKIPPABLE) return held.length < 8 ? undefined : this.#skip(held)
    if (magic !== MAGIC) throw new Error('it is not Zstandard')
    const { bytes, windowBytes, hasChecksum } = headerOf(held)
    if (bytes > held.length) return undefined
    if (windowBytes > WINDOW_BYTES_MAX) throw windowTooLarge(windowBytes)
    this.#hasChecksum = hasChecksum
    this.#next = 'block'
    return bytes
  }

  #skip(held: Buffer): number {
    this.#pass(held.readUInt32LE(4))
    return 8
  }

  #pass(bytes: number): void {
    this.#passing = bytes
    this.#next = bytes > 0 ? 'passed' : 'frame'
  }

  #blockBytes(): number | undefined {
    const held = this.#held
    if (held.length < 3) return undefined
    const header = held.readUIntLE(0, 3)
    const isRepeated = ((header >> 1) & 3) === 1
    const declared = header >> 3
    if (declared > BLOCK_BYTES_MAX) throw blockTooLarge(declared)
    const length = 3 + (isRepeated ? 1 : declared)
    if (length > held.length) return undefined
    if ((header & 1) === 1) this.#pass(this.#hasChecksum ? CHECKSUM_BYTES : 0)
    return length
  }
}

interface FrameHeader {
  readonly bytes: number
  readonly windowBytes: number
  readonly hasChecksum: boolean
}

/** `bytes` may be more than there are; only then may `windowBytes` be wrong. */
function headerOf(held: Buffer): FrameHeader {
  const flags = held[4] ?? 0
  const isSingle = (flags & 32) !== 0
  const dictionaryBytes = [0, 1, 2, 4][flags & 3] ?? 0
  const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][flags >> 6] ?? 0
  const sizeAt = 5 + (isSingle ? 0 : 1) + dictionaryBytes
  const bytes = sizeAt + sizeBytes
  const windowBytes = isSingle
    ? littleEndian(held.subarray(sizeAt, bytes)) + (sizeBytes === 2 ? 256 : 0)
    : windowOf(held[5] ?? 0)
  return { bytes, windowBytes, hasChecksum: (flags & 4) !== 0 }
}

function windowOf(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3))
  return base + (base / 8) * (descriptor & 7)
}

/** Eight bytes are not exact, and need not be. */
function littleEndian(bytes: Buffer): number {
  return bytes.reduceRight((sum, byte) => sum * 256 + byte, 0)
}

export function windowTooLarge(bytes?: number): TooLarge {
  const has = bytes === undefined ? 'is larger' : `has ${size(bytes)}, more`
  return new TooLarge(
    `its zstd window ${has} than the limit of ${size(WINDOW_BYTES_MAX)}; compress it again with zstd --long=${ZSTD_WINDOW_LOG_MAX} or without --long`,
  )
}

function blockTooLarge(bytes: number): TooLarge {
  return new TooLarge(
    `a zstd block of it declares ${size(bytes)}, more than the ${size(BLOCK_BYTES_MAX)} that the format allows`,
  )
}
