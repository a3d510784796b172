/**
 * Which documents of a run are written, and which are listed as duplicates: noted while a run is summed up, so that
 * publishing it need not read every row again.
 */

import { type KeptOfShard, ownCut, recordIdOf } from '../output/kept-of-shard.ts'
import { RejectedShards } from './rejects.ts'
import type { CutSpans } from '../../input/index.ts'
import type { BatchEntry, DocumentRow } from '../rows.ts'

/** Positions in a shard, of documents, and ids of the records that are written. About 40 bytes a document. */
export class Outcome {
  readonly rejected: RejectedShards = new RejectedShards()
  /** Keys of documents whose former text others were dropped for. */
  readonly orphaning: Buffer[] = []
  readonly #kept = new Map<number, number[]>()
  readonly #ids = new Map<number, string[]>()
  readonly #listed = new Map<number, number[]>()

  readonly #superseding = new Map<number, number[]>()

  readonly #whole = new Map<string, string>()
  readonly #cuts = new Map<number, Map<number, CutSpans>>()

  note(shard: number, entry: BatchEntry, row: DocumentRow): void {
    const { position, isRepeated, key } = entry
    const { action } = row
    const cut = ownCut(row)
    if (!isRepeated && cut) this.#noteCut(shard, position, cut)
    if (!isRepeated && (action === 'keep' || action === 'link')) {
      addTo(this.#kept, shard, position)
      const id = recordIdOf(key, row, cut)
      addTo(this.#ids, shard, id)
      if (cut) this.#whole.set(id, recordIdOf(key, row, undefined))
    }
    if (isRepeated || action !== 'keep') addTo(this.#listed, shard, position)
  }

  /** It superseded a document of an earlier run. */
  noteSuperseding(shard: number, { position }: BatchEntry): void {
    addTo(this.#superseding, shard, position)
  }

  superseding(shard: number): ReadonlySet<number> {
    return new Set(this.#superseding.get(shard))
  }

  /** What is written of a shard. Rows are noted in the order of their positions. */
  kept(shard: number): KeptOfShard {
    const [positions, ids] = [this.#kept.get(shard) ?? [], this.#ids.get(shard) ?? []]
    const cuts = this.#cuts.get(shard) ?? new Map<number, CutSpans>()
    return { positions, ids, cuts, whole: this.#whole, superseded: new Set() }
  }

  #noteCut(shard: number, position: number, spans: CutSpans): void {
    const known = this.#cuts.get(shard) ?? new Map<number, CutSpans>()
    this.#cuts.set(shard, known.set(position, spans))
  }

  /** In no order. */
  listed(shard: number): ReadonlySet<number> {
    return new Set(this.#listed.get(shard))
  }
}

function addTo<T>(items: Map<number, T[]>, shard: number, item: T): void {
  const known = items.get(shard)
  if (known) known.push(item)
  else items.set(shard, [item])
}
