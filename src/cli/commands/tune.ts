/** `tune`: a threshold, bands and rows, chosen by labelled pairs. Needs no store. */

import {
  type Goal,
  type Rate,
  type TextTuning,
  type ThresholdTuning,
  type ThresholdScore,
  thresholdSvg,
  tune,
  type TuneOptions,
} from '../../compare/index.ts'
import { writeNamed } from '../../platform/atomic-file.ts'
import { usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { labelledPairs, readFields } from '../texts/labelled-pairs.ts'
import { paint, print, printJson } from '../print/output.ts'
import { readFileWhole, readStdin } from '../files/read-input.ts'
import { table } from '../print/table.ts'
import { count } from '../print/units.ts'

export async function run(invocation: Invocation): Promise<number> {
  const path = invocation.text('pairs')
  if (path === undefined) throw usageFailure('tune needs --pairs FILE.')
  const options = optionsOf(invocation)
  const typed = invocation.text('fields')
  const fields = typed === undefined ? undefined : readFields(typed)
  const { signal } = invocation
  const bytes =
    path === '-' ? await readStdin(signal, 'The pairs') : await readFileWhole(path, signal)
  const source = path === '-' ? 'stdin' : path
  const pairs = stoppable(labelledPairs(bytes, source, fields), signal)
  if (invocation.flag('semantic')) {
    const { tuneMeanings } = await import('../texts/tune-semantic.ts')
    return tuneMeanings(invocation, pairs, options)
  }
  const tuning = tune(pairs, options)
  const svg = invocation.text('svg')
  if (svg !== undefined) await writeNamed(svg, [thresholdSvg(tuning)])
  if (invocation.flag('json')) await printJson(tuning)
  else await print(textOf(tuning))
  return 0
}

function optionsOf(invocation: Invocation): TuneOptions {
  const precisionMin = invocation.share('precision-min')
  const recallMin = invocation.share('recall-min')
  if (precisionMin !== undefined && recallMin !== undefined) {
    throw usageFailure('Give --precision-min or --recall-min, not both.')
  }
  return {
    // safe: whatever was typed is read by tune, which refuses names that are no profile
    profile: invocation.text('profile') as TuneOptions['profile'],
    // safe: arguments.ts refuses all but the choices of commands.ts
    canonical: invocation.text('canonical') as TuneOptions['canonical'],
    slots: invocation.wholeNumber('slots'),
    precisionMin,
    recallMin,
  }
}

function* stoppable<T>(items: Iterable<T>, signal: AbortSignal): Generator<T> {
  for (const item of items) {
    signal.throwIfAborted()
    yield item
  }
}

function textOf(tuning: TextTuning): string {
  const { pairs, duplicates, different, chosen, banding, slots, expectedRecall } = tuning
  const rows = [
    ['threshold', `${paint('bold', String(tuning.threshold))}, ${reasonOf(tuning.goal)}`],
    ['bands', `${banding.bands} of ${banding.rows} rows, from ${slots} slots`],
    ['precision', rateText(chosen.precision)],
    [
      'recall',
      `${rateText(chosen.recall)}; ${expectedRecall.toFixed(3)} expected with these bands`,
    ],
    ['F1', rateText(chosen.f1)],
    ['pairs', `${count(pairs)}: ${count(duplicates)} duplicates, ${count(different)} different`],
    ['profile', profilesOf(tuning.profiles)],
  ]
  return `${table(rows, ['left', 'left'])}\n${scoreTable(tuning)}`
}

export function reasonOf(goal: Goal): string {
  if (goal.kind === 'f1') return 'the best F1'
  return goal.kind === 'precision'
    ? `the lowest with a precision of ${goal.min}`
    : `the highest with a recall of ${goal.min}`
}

function profilesOf(profiles: TextTuning['profiles']): string {
  const names = Object.entries(profiles).toSorted(([, one], [, other]) => other - one)
  const [only] = names
  if (names.length === 1 && only) return only[0]
  const list = names.map(([name, pairs]) => `${name} (${count(pairs)})`).join(', ')
  return `${list}; set one with --profile: texts of one group must have the same`
}

/** Every fifth, and the chosen one. */
export function scoreTable({ thresholds, threshold }: ThresholdTuning): string {
  const shown = thresholds.filter(
    (score) => Math.round(score.threshold * 100) % 5 === 0 || score.threshold === threshold,
  )
  const rows = shown.map((score) => scoreRow(score, score.threshold === threshold))
  return table(
    [['threshold', 'precision', 'recall', 'F1', ''], ...rows],
    ['right', 'left', 'left', 'left', 'left'],
  )
}

function scoreRow(
  { threshold, precision, recall, f1 }: ThresholdScore,
  isChosen: boolean,
): string[] {
  const rates = [precision, recall, f1].map(rateText)
  return [threshold.toFixed(2), ...rates, isChosen ? '← chosen' : '']
}

export function rateText({ value, low, high }: Rate): string {
  if (value === undefined) return '–'
  return `${value.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`
}
