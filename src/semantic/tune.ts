/**
 * The threshold for likeness in meaning, by example: labelled pairs in, and out comes what every threshold would have
 * got right with this embedder and these guards.
 *
 * A pair that a guard keeps apart is never called a duplicate, so it counts with a similarity of 0. There is no
 * threshold that fits all models and all texts, which is why none is a default.
 */

import {
  type GuardName,
  guardNames,
  type GuardOptions,
  type MeasuredPair,
  scoreThresholds,
  type ThresholdTuning,
  veto,
  type Wanted,
} from '../compare/index.ts'
import { documentSimilarity, embedDocuments } from './document.ts'
import type { Embedder } from './embedding/embedder.ts'

export interface SemanticPair {
  readonly a: string
  readonly b: string
  /** What a person says. `undefined`: nobody has yet; such pairs are only proposed for labelling. */
  readonly isDuplicate: boolean | undefined
}

export interface SemanticTuneOptions extends Wanted {
  /** Which guards are asked; `false`: none. */
  readonly guards?: GuardOptions | false | undefined
  /** Stops when it is aborted, with its reason. Default: none. */
  readonly signal?: AbortSignal | undefined
}

export interface VetoCount {
  /** Duplicates that it kept apart: recall that was lost. */
  readonly duplicates: number
  readonly different: number
}

export interface SemanticTuning extends ThresholdTuning {
  readonly embedder: string
  /** Of all pairs, whatever their similarity. */
  readonly vetoes: Readonly<Record<GuardName, VetoCount>>
}

const BATCH = 64

export async function tuneSemantic(
  pairs: Iterable<SemanticPair>,
  embedder: Embedder,
  options: SemanticTuneOptions = {},
): Promise<SemanticTuning> {
  const all = [...pairs]
  const measured: MeasuredPair[] = []
  const vetoes = Object.fromEntries(
    guardNames.map((name) => [name, { duplicates: 0, different: 0 }]),
  ) as Record<GuardName, { duplicates: number; different: number }> // safe: a key for every guard
  const similarities = await semanticSimilarities(all, embedder, options.signal)
  all.forEach(({ a, b, isDuplicate }, at) => {
    const found = options.guards === false ? [] : veto(a, b, options.guards)
    for (const { guard } of found) {
      if (isDuplicate !== undefined) vetoes[guard][isDuplicate ? 'duplicates' : 'different']++
    }
    const similarity = found.length > 0 ? 0 : Math.max(0, similarities[at] ?? 0)
    measured.push({ similarity, isDuplicate })
  })
  const { precision, recallMin } = options
  return {
    ...scoreThresholds(measured, { precision, recallMin }),
    embedder: embedder.id,
    vetoes,
  }
}

/** How alike the texts of each pair are in meaning, whatever guards say. */
export async function semanticSimilarities(
  pairs: readonly Pick<SemanticPair, 'a' | 'b'>[],
  embedder: Embedder,
  signal?: AbortSignal,
): Promise<number[]> {
  const similarities: number[] = []
  for (let from = 0; from < pairs.length; from += BATCH) {
    const some = pairs.slice(from, from + BATCH)
    const texts = some.flatMap(({ a, b }) => [a, b])
    const documents = await embedDocuments(embedder, texts, { signal })
    some.forEach((_, at) => {
      const [first, second] = [documents[at * 2], documents[at * 2 + 1]]
      similarities.push(first && second ? documentSimilarity(first, second) : 0)
    })
  }
  return similarities
}
