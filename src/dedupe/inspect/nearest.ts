/**
 * What a document is similar to but not a duplicate of. A search that leaves no trace, with a lower threshold than that
 * of the state: the bands of its index are made for the threshold, so below it most is found, and not all.
 */

import type { RowVeto } from '../../ledger/index.ts'
import { hex } from '../names.ts'
import type { State } from '../state.ts'
import type { StoredDocument } from './find-documents.ts'

export interface NearKey {
  /** Of the other document, in hex. */
  readonly key: string
  /** Jaccard similarity, measured. */
  readonly similarity: number
  /** What keeps the two apart, however similar they are. */
  readonly vetoes: readonly RowVeto[]
}

/** So far below the threshold is searched. */
const BELOW = 0.3
const LEAST = 0.05

/** The least similarity that is searched for. */
export function searchedFrom(threshold: number): number {
  return Math.max(LEAST, threshold - BELOW)
}

/** The most similar first; only those that `counts`. Nothing where near duplicates are not looked for. */
export async function nearestTo(
  state: State,
  { row }: StoredDocument,
  text: string,
  hitsMax: number,
  counts: (key: string) => boolean,
): Promise<NearKey[]> {
  const { engine, backend } = state
  if (!engine.config.near.enabled) return []
  const probes = engine.probesOf(state.prepare({ id: row.id, source: row.source, text }))
  const similarityMin = searchedFrom(engine.settings.similarityMin)
  const { hits } = await backend.read(() =>
    engine.near.find(probes, undefined, {
      similarityMin,
      hitsMax,
      takesRefused: true,
      counts: ({ payload }) => counts(hex(payload)),
    }),
  )
  return hits.slice(0, hitsMax).map(({ payload, similarity, verdict }) => ({
    key: hex(payload),
    similarity,
    vetoes: verdict?.vetoes ?? [],
  }))
}
