/**
 * Which documents of a run are written, and which are listed as duplicates: noted while a run is summed up, so that
 * publishing it need not read every row again.
 */

import { RejectedShards } from './rejects.ts'
import type { Cuts, CutSpans } from '../../input/index.ts'
import type { BatchEntry, DocumentRow } from '../rows.ts'

/** Positions in a shard, of documents. Eight bytes a document. */
export class Outcome {
  readonly rejected: RejectedShards = new RejectedShards()
  readonly #kept = new Map<number, number[]>()
  readonly #listed = new Map<number, number[]>()

  readonly #superseding = new Map<number, number[]>()

  readonly #cuts = new Map<number, Map<number, CutSpans>>()

  note(shard: number, { position, isRepeated }: BatchEntry, row: DocumentRow): void {
    const { action } = row
    if (!isRepeated && isCut(row)) this.#noteCut(shard, position, row.spans ?? [])
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

  /** What is cut from the texts that are written. */
  cuts(shard: number): Cuts {
    return this.#cuts.get(shard) ?? new Map()
  }

  /** In ascending order. */
  kept(shard: number): readonly number[] {
    return (this.#kept.get(shard) ?? []).toSorted((one, other) => one - other)
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

/** Whether it is written without its spans. */
export function isCut({ action, cutFor }: DocumentRow): boolean {
  return action === 'link' && cutFor !== undefined
}

function addTo(positions: Map<number, number[]>, shard: number, position: number): void {
  const known = positions.get(shard)
  if (known) known.push(position)
  else positions.set(shard, [position])
}
