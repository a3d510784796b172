/** The JSON values of a shard, as reader and writer both see them: each is a position. */

import { Decompressed, type ExpansionLimits } from './decompress.ts'
import type { Shard } from './document.ts'
import { type Input, openInput } from './open-input.ts'
import type { Damage } from './unfit.ts'
import { ValueScanner } from './value-scanner.ts'

export class ShardValues {
  /** Why a compressed file ended early; only known at the end. */
  damage: Damage | undefined
  readonly #shard: Shard
  readonly #bytesMax: number
  readonly #limits: ExpansionLimits | undefined

  constructor(shard: Shard, bytesMax: number, limits?: ExpansionLimits) {
    this.#shard = shard
    this.#bytesMax = bytesMax
    this.#limits = limits
  }

  /** The scanner once a block: ask it for `next()` until there is none. */
  async *scan(): AsyncGenerator<ValueScanner> {
    const input = openInput(this.#shard)
    const scanner = new ValueScanner(this.#bytesMax)
    try {
      for await (const block of this.#blocks(input)) {
        scanner.feed(block)
        yield scanner
        if (scanner.problem !== undefined) break
      }
      if (this.damage === undefined) scanner.end()
      yield scanner
      input.requireUnchanged()
    } finally {
      input.close()
    }
  }

  async *#blocks(input: Input): AsyncGenerator<Buffer> {
    const { compression } = this.#shard
    if (compression === 'none') {
      yield* input.blocks(0, input.bytes)
      return
    }
    const decompressed = new Decompressed(input, compression, this.#limits)
    yield* decompressed.blocks()
    this.damage = decompressed.damage
  }
}
