/** `tune --semantic`: a threshold of semantic similarity, from labelled pairs. */

import {
  MODEL_DEFAULT,
  openEmbedder,
  type SemanticPair,
  type SemanticTuneOptions,
  type SemanticTuning,
  type SentenceEmbedder,
  thresholdSvg,
  tuneSemantic,
} from '../../semantic/index.ts'
import { writeNamed } from '../../platform/atomic-file.ts'
import type { LabelledPair, TuneOptions } from '../../compare/index.ts'
import { rateText, reasonOf, scoreTable } from '../commands/tune.ts'
import type { Invocation } from '../call/invocation.ts'
import { paint, print, printJson } from '../print/output.ts'
import { table } from '../print/table.ts'
import { count } from '../print/units.ts'

export async function tuneMeanings(
  invocation: Invocation,
  pairs: Iterable<LabelledPair>,
  { precisionMin, recallMin }: TuneOptions,
): Promise<number> {
  const { signal } = invocation
  const options = { precisionMin, recallMin, signal }
  const embedder = await openEmbedder(invocation.text('model') ?? MODEL_DEFAULT)
  const tuning = await tuned(pairs, embedder, options)
  const svg = invocation.text('svg')
  if (svg !== undefined) await writeNamed(svg, [thresholdSvg(tuning)])
  if (invocation.flag('json')) await printJson(tuning)
  else await print(textOf(tuning))
  return 0
}

async function tuned(
  pairs: Iterable<LabelledPair>,
  embedder: SentenceEmbedder,
  options: SemanticTuneOptions,
): Promise<SemanticTuning> {
  try {
    return await tuneSemantic(textPairs(pairs), embedder, options)
  } finally {
    await embedder.close()
  }
}

function* textPairs(pairs: Iterable<LabelledPair>): Generator<SemanticPair> {
  for (const { a, b, isDuplicate } of pairs) yield { a: text(a), b: text(b), isDuplicate }
}

function text(input: LabelledPair['a']): string {
  return typeof input === 'string' ? input : Buffer.from(input).toString('utf8')
}

function textOf(tuning: SemanticTuning): string {
  const { pairs, duplicates, different, chosen, embedder, vetoes } = tuning
  const guards = Object.entries(vetoes).filter(
    ([, { duplicates: lost, different: kept }]) => lost + kept > 0,
  )
  const rows = [
    ['threshold', `${paint('bold', String(tuning.threshold))}, ${reasonOf(tuning.goal)}`],
    ['precision', rateText(chosen.precision)],
    ['recall', rateText(chosen.recall)],
    ['F1', rateText(chosen.f1)],
    ['pairs', `${count(pairs)}: ${count(duplicates)} duplicates, ${count(different)} different`],
    ['embedder', embedder],
    ...guards.map(([name, { duplicates: lost, different: kept }], at) => [
      at === 0 ? 'guards' : '',
      `${name} kept ${count(kept)} different apart, and ${count(lost)} duplicates`,
    ]),
  ]
  return `${table(rows, ['left', 'left'])}\n${scoreTable(tuning)}`
}
