/** `tune`: a threshold with bands and rows, or a judge, chosen by labelled pairs. Needs no store. */

import {
  PrecisionUnproven,
  type TextTuning,
  thresholdSvg,
  tune,
  type TuneOptions,
} from '../../compare/index.ts'
import { writeNamed } from '../../platform/atomic-file.ts'
import { usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { labelledPairs, type PlacedPair, readFields } from '../texts/labelled-pairs.ts'
import { print, printJson } from '../print/output.ts'
import { readFileWhole, readStdin } from '../files/read-input.ts'
import { table } from '../print/table.ts'
import { count } from '../print/units.ts'
import { applyText, headRows, reviewText, scoreTable, tuningJson } from '../texts/tune-report.ts'

export async function run(invocation: Invocation): Promise<number> {
  const options = optionsOf(invocation)
  const pairs = await pairsOf(invocation)
  try {
    return await tuneBy(invocation, pairs, options)
  } catch (error) {
    if (!(error instanceof PrecisionUnproven)) throw error
    const { shortfall, mistakes, next } = error
    const wrongMax = invocation.wholeNumber('wrong')
    if (invocation.flag('json'))
      await printJson(tuningJson({ shortfall, mistakes, next }, pairs, wrongMax))
    else await print(reviewText(error, pairs, wrongMax))
    throw error
  }
}

async function tuneBy(
  invocation: Invocation,
  pairs: readonly PlacedPair[],
  options: TuneOptions,
): Promise<number> {
  if (invocation.text('judge') !== undefined) {
    const { tuneToJudge } = await import('../texts/tune-judge.ts')
    return tuneToJudge(invocation, pairs, options)
  }
  if (invocation.flag('semantic')) {
    const { tuneMeanings } = await import('../texts/tune-semantic.ts')
    return tuneMeanings(invocation, pairs, options)
  }
  const tuning = tune(stoppable(pairs, invocation.signal), options)
  const svg = invocation.text('svg')
  if (svg !== undefined) await writeNamed(svg, [thresholdSvg(tuning)])
  const wrongMax = invocation.wholeNumber('wrong')
  const apply = commandsOf(tuning, invocation)
  if (invocation.flag('json')) await printJson(tuningJson(tuning, pairs, wrongMax, apply))
  else await print(textOf(tuning, reviewText(tuning, pairs, wrongMax) + applyText(apply)))
  return 0
}

async function pairsOf(invocation: Invocation): Promise<PlacedPair[]> {
  const path = invocation.text('pairs')
  if (path === undefined) throw usageFailure('tune needs --pairs FILE.')
  const typed = invocation.text('fields')
  const fields = typed === undefined ? undefined : readFields(typed)
  const { signal } = invocation
  const bytes =
    path === '-' ? await readStdin(signal, 'The pairs') : await readFileWhole(path, signal)
  const source = path === '-' ? 'stdin' : path
  return [...stoppable(labelledPairs(bytes, source, fields), signal)]
}

function optionsOf(invocation: Invocation): TuneOptions {
  const precision = invocation.share('precision')
  const recallMin = invocation.share('recall-min')
  if (precision !== undefined && recallMin !== undefined) {
    throw usageFailure('Give --precision or --recall-min, not both.')
  }
  return {
    // safe: whatever was typed is read by tune, which refuses names that are no profile
    profile: invocation.text('profile') as TuneOptions['profile'],
    // safe: arguments.ts refuses all but the choices of commands.ts
    canonical: invocation.text('canonical') as TuneOptions['canonical'],
    slots: invocation.wholeNumber('slots'),
    precision,
    recallMin,
  }
}

function* stoppable<T>(items: Iterable<T>, signal: AbortSignal): Generator<T> {
  for (const item of items) {
    signal.throwIfAborted()
    yield item
  }
}

/** Settings that dedupe has no option for are given as variables of the environment. */
const VARIABLES = {
  profile: 'PRESTIGE_DEDUPE_NEAR_PROFILE',
  canonical: 'PRESTIGE_DEDUPE_CANONICAL_PROFILE',
  slots: 'PRESTIGE_DEDUPE_NEAR_SLOTS',
} as const

function commandsOf({ threshold }: TextTuning, invocation: Invocation): string[] {
  const said = (['profile', 'canonical', 'slots'] as const).flatMap((name) => {
    const value = invocation.text(name)
    return value === undefined ? [] : [`${VARIABLES[name]}=${value} `]
  })
  const put = `prestige put KEY VALUE --dedup near --threshold ${threshold}`
  return [
    `${said.join('')}prestige dedupe INPUT -o DIR --threshold ${threshold}`,
    // A store takes its profile from no option.
    ...(said.length === 0 ? [put] : []),
  ]
}

function textOf(tuning: TextTuning, review: string): string {
  const { banding, slots, expectedRecall } = tuning
  const rows = [
    ...headRows('threshold', tuning),
    ['bands', `${banding.bands} of ${banding.rows} rows, from ${slots} slots`],
    ['', `${expectedRecall.toFixed(3)} recall expected with these bands`],
    ['profile', profilesOf(tuning.profiles)],
  ]
  return `${table(rows, ['left', 'left'])}
${scoreTable(tuning)}${review}`
}

function profilesOf(profiles: TextTuning['profiles']): string {
  const names = Object.entries(profiles).toSorted(([, one], [, other]) => other - one)
  const [only] = names
  if (names.length === 1 && only) return only[0]
  return names.map(([name, pairs]) => `${name} (${count(pairs)})`).join(', ')
}
