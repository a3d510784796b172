/** `tune --judge FILE`: a judge fitted to labelled pairs, with what it can promise, written as JSON. */

import {
  type JudgeTuning,
  thresholdSvg,
  tuneJudge,
  type TuneOptions,
  type JudgeCut,
} from '../../compare/index.ts'
import { writeNamed } from '../../platform/atomic-file.ts'
import type { Invocation } from '../call/invocation.ts'
import { print, printJson } from '../print/output.ts'
import { table } from '../print/table.ts'
import type { PlacedPair } from './labelled-pairs.ts'
import { applyText, headRows, reviewText, tuningJson } from './tune-report.ts'

export async function tuneToJudge(
  invocation: Invocation,
  pairs: readonly PlacedPair[],
  { precision, recallMin }: TuneOptions,
): Promise<number> {
  const meaning = invocation.flag('semantic') ? await meaningOf(invocation, pairs) : undefined
  const given = meaning
    ? pairs.map((pair, at) => ({ ...pair, cosine: meaning.cosines[at] }))
    : pairs
  const tuning = tuneJudge(given, { precision, recallMin, embedder: meaning?.embedder })
  const path = invocation.text('judge') ?? ''
  await writeNamed(path, [`${JSON.stringify(tuning.judge, undefined, 2)}\n`])
  const svg = invocation.text('svg')
  if (svg !== undefined) await writeNamed(svg, [thresholdSvg(tuning)])
  const wrongMax = invocation.wholeNumber('wrong')
  const apply = commandsOf(tuning, path)
  if (invocation.flag('json')) await printJson(tuningJson(tuning, pairs, wrongMax, apply))
  else await print(textOf(tuning, path) + reviewText(tuning, pairs, wrongMax) + applyText(apply))
  return 0
}

async function meaningOf(
  invocation: Invocation,
  pairs: readonly PlacedPair[],
): Promise<{ readonly cosines: readonly number[]; readonly embedder: string }> {
  const [{ semanticSimilarities }, { withEmbedder }] = await Promise.all([
    import('../../semantic/index.ts'),
    import('./tune-semantic.ts'),
  ])
  return withEmbedder(invocation, async (embedder) => ({
    cosines: await semanticSimilarities(pairs, embedder, invocation.signal),
    embedder: embedder.id,
  }))
}

function commandsOf({ judge, promise }: JudgeTuning, path: string): string[] {
  const highest = promise?.precision ?? judge.calibration.at(-1)?.precision
  const wanted = highest === undefined ? '' : ` --precision ${highest}`
  // The job compares no meanings with a judge.
  const isForJob = highest !== undefined && !judge.needsCosine
  return [
    ...(isForJob ? [`prestige dedupe INPUT -o DIR --judge ${path}${wanted}`] : []),
    `prestige explain A B --judge ${path}${wanted}`,
  ]
}

function textOf({ judge, ...tuning }: JudgeTuning, path: string): string {
  const weights = judge.features
    .filter(({ weight }) => weight !== 0)
    .toSorted((one, other) => Math.abs(other.weight) - Math.abs(one.weight))
  const rows = [
    ...headRows('probability', tuning),
    ['judge', `${path}${judge.needsCosine ? `, needs cosines by ${judge.embedder}` : ''}`],
    ...weights.map(({ name, weight }, at) => [
      at === 0 ? 'weights' : '',
      `${weight < 0 ? '−' : '+'}${Math.abs(weight).toFixed(2)}  ${name}`,
    ]),
  ]
  return table(rows, ['left', 'left']) + promisesText(judge.calibration)
}

function promisesText(calibration: readonly JudgeCut[]): string {
  if (calibration.length === 0) return '\nThese pairs do not suffice to promise any precision.\n'
  const shown = calibration.filter(
    ({ precision }, at) =>
      [0.5, 0.7, 0.8, 0.9, 0.95, 0.99].includes(precision) || at === calibration.length - 1,
  )
  const rows = shown.map(({ precision, cut, low, recall }) => [
    String(precision),
    cut.toFixed(3),
    low.toFixed(3),
    recall.toFixed(3),
  ])
  return `\n${table(
    [['promised precision', 'probability', 'proven', 'recall'], ...rows],
    ['right', 'right', 'right', 'right'],
  )}`
}
