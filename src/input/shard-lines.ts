/**
 * The lines of a shard, as reader and writer both see them: what counts as a position is decided here alone.
 */

import type { InputFormat, Shard } from './document.ts'
import { Decompressed, type ExpansionLimits } from './decompress.ts'
import { firstByteOf, LineScanner } from './line-scanner.ts'
import { openInput } from './open-input.ts'
import type { Damage } from './unfit.ts'

export class ShardLines {
  /** Why a compressed file ended early; only known at the end. */
  damage: Damage | undefined
  readonly #shard: Shard
  readonly #lineBytesMax: number
  readonly #limits: ExpansionLimits | undefined

  /** `limits`: of what a compressed file may expand to. A writer stops by itself at the last kept document. */
  constructor(shard: Shard, lineBytesMax: number, limits?: ExpansionLimits) {
    this.#shard = shard
    this.#lineBytesMax = lineBytesMax
    this.#limits = limits
  }

  /** The scanner once a block: ask it for `next()` until there is none. */
  async *scan(): AsyncGenerator<LineScanner> {
    const { compression, start, end } = this.#shard
    const input = openInput(this.#shard)
    try {
      const isWhole = compression !== 'none'
      const scanner = new LineScanner(
        this.#lineBytesMax,
        isWhole ? 0 : start,
        isWhole ? Infinity : end,
      )
      if (compression === 'none') {
        for await (const block of input.blocks(firstByteOf(start), end)) {
          scanner.feed(block)
          yield scanner
          if (scanner.isDone) break
        }
        scanner.end()
      } else {
        const decompressed = new Decompressed(input, compression, this.#limits)
        for await (const block of decompressed.blocks()) {
          scanner.feed(block)
          yield scanner
        }
        this.damage = decompressed.damage
        if (this.damage === undefined) scanner.end()
      }
      if (!scanner.isDone) yield scanner
      input.requireUnchanged()
    } finally {
      input.close()
    }
  }
}

const MARK = [0xef, 0xbb, 0xbf] as const

/** The line without a byte order mark, which only the first line of a file may have. */
export function withoutMark(line: Buffer): Buffer {
  return line[0] === MARK[0] && line[1] === MARK[1] && line[2] === MARK[2] ? line.subarray(3) : line
}

/** Blank lines have no position. In JSON white space means nothing; in plain lines it is text. */
export function isBlank(line: Buffer, format: InputFormat): boolean {
  if (format !== 'jsonl') return line.length === 0 || (line.length === 1 && line[0] === 13)
  for (const byte of line) if (byte !== 32 && byte !== 9 && byte !== 13) return false
  return true
}
