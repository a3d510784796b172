/** `tune --semantic`: a threshold of semantic similarity, from labelled pairs. */

import {
  MODEL_DEFAULT,
  openEmbedder,
  type SemanticTuning,
  type SentenceEmbedder,
  thresholdSvg,
  tuneSemantic,
} from '../../semantic/index.ts'
import { writeNamed } from '../../platform/atomic-file.ts'
import type { TuneOptions } from '../../compare/index.ts'
import type { Invocation } from '../call/invocation.ts'
import { print, printJson } from '../print/output.ts'
import { table } from '../print/table.ts'
import { count } from '../print/units.ts'
import type { PlacedPair } from './labelled-pairs.ts'
import { applyText, headRows, reviewText, scoreTable, tuningJson } from './tune-report.ts'

export async function tuneMeanings(
  invocation: Invocation,
  pairs: readonly PlacedPair[],
  { precision, recallMin }: TuneOptions,
): Promise<number> {
  const { signal } = invocation
  const tuning = await withEmbedder(invocation, (embedder) =>
    tuneSemantic(pairs, embedder, { precision, recallMin, signal }),
  )
  const svg = invocation.text('svg')
  if (svg !== undefined) await writeNamed(svg, [thresholdSvg(tuning)])
  const wrongMax = invocation.wholeNumber('wrong')
  const apply = [
    `prestige put KEY VALUE --dedup semantic --semantic-threshold ${tuning.threshold}`,
    `PRESTIGE_DEDUPE_SEMANTIC_ENABLED=true PRESTIGE_DEDUPE_SEMANTIC_THRESHOLD=${tuning.threshold} prestige dedupe INPUT -o DIR`,
  ]
  if (invocation.flag('json')) await printJson(tuningJson(tuning, pairs, wrongMax, apply))
  else await print(textOf(tuning) + reviewText(tuning, pairs, wrongMax) + applyText(apply))
  return 0
}

export async function withEmbedder<T>(
  invocation: Invocation,
  use: (embedder: SentenceEmbedder) => Promise<T>,
): Promise<T> {
  const embedder = await openEmbedder(invocation.text('model') ?? MODEL_DEFAULT)
  try {
    return await use(embedder)
  } finally {
    await embedder.close()
  }
}

function textOf(tuning: SemanticTuning): string {
  const { embedder, vetoes } = tuning
  const guards = Object.entries(vetoes).filter(
    ([, { duplicates: lost, different: kept }]) => lost + kept > 0,
  )
  const rows = [
    ...headRows('threshold', tuning),
    ['embedder', embedder],
    ...guards.map(([name, { duplicates: lost, different: kept }], at) => [
      at === 0 ? 'guards' : '',
      `${name} kept ${count(kept)} different apart, and ${count(lost)} duplicates`,
    ]),
  ]
  return `${table(rows, ['left', 'left'])}
${scoreTable(tuning)}`
}
