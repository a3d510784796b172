/** What an output should hold, as the ledger has it. */

import type { Shard } from '../../input/index.ts'
import type { RunRow } from '../runs.ts'
import type { KeptOfShard } from './kept-of-shard.ts'
import type { OutputRow, RecordId } from './output-rows.ts'
import type { PublishedRuns } from './published-runs.ts'
import type { CutPart } from './write-kept.ts'

/** Records of its newest version, and others that are still kept. */
export interface Wanted {
  readonly shards: readonly (KeptOfShard & { readonly shard: Shard })[]
  readonly others: ReadonlySet<RecordId>
  readonly superseded: ReadonlySet<RecordId>
}

/** `maybe`: records that it holds, or that may come back. */
export async function wantedOf(
  runs: PublishedRuns,
  row: OutputRow,
  run: RunRow,
  maybe: ReadonlySet<RecordId>,
): Promise<Wanted> {
  const { from = 0, to = 0, at } = row.versions.at(-1) ?? {}
  const shards: (KeptOfShard & { readonly shard: Shard })[] = []
  for (let index = from; index < to; index++) {
    const shard = run.shards[index]
    const kept = await runs.keptOf(run.id, index)
    if (shard) shards.push(at === undefined ? { ...kept, shard } : oneFileOf(kept, shard, at))
  }
  const newest = new Set(shards.flatMap(({ ids }) => ids))
  // Of one document, less may be cut in one version than in another.
  const inNewest = new Set(shards.flatMap((one) => one.ids.map((id) => one.whole.get(id) ?? id)))
  const superseded = new Set(shards.flatMap((one) => [...one.superseded]))
  const left = new Set([...maybe].filter((id) => !newest.has(id) && !superseded.has(id)))
  const others = new Set<RecordId>()
  // What the newest version of an input has no more is kept as long as its run stands.
  for (const version of row.versions.slice(0, -1).toReversed()) {
    for (let index = version.from; index < version.to && left.size > 0; index++) {
      const kept = await runs.keptOf(version.run, index)
      for (const id of kept.ids) {
        if (left.delete(id) && !inNewest.has(kept.whole.get(id) ?? id)) others.add(id)
      }
      for (const id of kept.superseded) if (left.delete(id)) superseded.add(id)
    }
  }
  return { shards, others, superseded }
}

export function ofInput({ shard, positions, ids, cuts }: Wanted['shards'][number]): CutPart {
  return { shard, positions, ids, cuts }
}

/** Of a shard of many files, one file as a shard of its own. */
function oneFileOf(kept: KeptOfShard, shard: Shard, at: number): Wanted['shards'][number] {
  const file = shard.files?.[at]
  const found = kept.positions.indexOf(at)
  const isKept = found >= 0
  const cut = kept.cuts.get(at)
  return {
    shard: { ...shard, ...file, start: 0, end: 1, files: file ? [file] : [] },
    positions: isKept ? [0] : [],
    ids: isKept ? [kept.ids[found] ?? ''] : [],
    cuts: cut ? new Map([[0, cut]]) : new Map(),
    whole: kept.whole,
    superseded: kept.superseded,
  }
}
