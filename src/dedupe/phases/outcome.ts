/**
 * Which documents of a run are written, and which are listed as duplicates: noted while a run is summed up, so that
 * publishing it need not read every row again.
 */

import { RejectedShards } from './rejects.ts'
import type { BatchEntry, DocumentRow } from '../rows.ts'

/** Positions in a shard, of documents. Eight bytes a document. */
export class Outcome {
  readonly rejected: RejectedShards = new RejectedShards()
  readonly #kept = new Map<number, number[]>()
  readonly #listed = new Map<number, number[]>()

  readonly #superseding = new Map<number, number[]>()

  note(shard: number, { position, isRepeated }: BatchEntry, { action }: DocumentRow): void {
    if (!isRepeated && (action === 'keep' || action === 'link')) addTo(this.#kept, shard, position)
    if (isRepeated || action !== 'keep') addTo(this.#listed, shard, position)
  }

  /** It superseded a document of an earlier run. */
  noteSuperseding(shard: number, { position }: BatchEntry): void {
    addTo(this.#superseding, shard, position)
  }

  superseding(shard: number): ReadonlySet<number> {
    return new Set(this.#superseding.get(shard))
  }

  /** In ascending order. */
  kept(shard: number): readonly number[] {
    return (this.#kept.get(shard) ?? []).toSorted((one, other) => one - other)
  }

  /** In no order. */
  listed(shard: number): ReadonlySet<number> {
    return new Set(this.#listed.get(shard))
  }
}

function addTo(positions: Map<number, number[]>, shard: number, position: number): void {
  const known = positions.get(shard)
  if (known) known.push(position)
  else positions.set(shard, [position])
}
