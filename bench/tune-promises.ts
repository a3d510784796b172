/**
 * Does a precision that tuning promises hold for other pairs? Each labelled set is split in half at random, many times;
 * one half is tuned on, and what was promised is counted on the other. One JSON line a set, method and precision.
 *
 * `met` counts splits in which the precision on the other half is at least the one asked for, `refused` those in which
 * nothing was promised. The target is 93 of 100 met or refused. Three methods: a threshold of Jaccard, a threshold of
 * cosine, and a judge of all features.
 */

import { pathToFileURL } from 'node:url'

import {
  compareTexts,
  cutFor,
  fitJudge,
  judged,
  type Judged,
  judgeTexts,
  scoreThresholds,
} from '../src/compare/index.ts'
import { PrestigeError } from '../src/platform/errors.ts'
import { shuffled } from './harness/data.ts'
import { type CosinePair, labelledSet, type SetName, withCosines } from './harness/labelled-sets.ts'

export const PRECISIONS = [0.8, 0.9, 0.95]
const SETS: readonly SetName[] = ['mrpc', 'stsb', 'questions']
const MET_MIN = 0.93

interface Measured {
  readonly a: Judged
  readonly b: Judged
  readonly isDuplicate: boolean
  readonly cosine?: number
  readonly jaccard: number
}

/** Scores of the other half, and the cut for a precision, or an error where none is promised. */
interface Tuned {
  cut(precision: number): number
  score(pair: Measured): number
}

export type Method = 'jaccard' | 'cosine' | 'judge'

const methods: Readonly<Record<Method, (half: readonly Measured[]) => Tuned>> = {
  jaccard: (half) => byThreshold(half, ({ jaccard }) => jaccard),
  cosine: (half) => byThreshold(half, ({ cosine = 0 }) => Math.min(1, Math.max(0, cosine))),
  judge(half) {
    const model = fitJudge(half)
    return {
      cut: (precision) => cutFor(model, precision),
      score: ({ a, b, cosine }) => judgeTexts(model, a, b, { cosine }).probability,
    }
  },
}

function byThreshold(half: readonly Measured[], score: (pair: Measured) => number): Tuned {
  const pairs = half.map((pair) => ({ similarity: score(pair), isDuplicate: pair.isDuplicate }))
  return { cut: (precision) => scoreThresholds(pairs, { precision }).threshold, score }
}

export interface PromiseFigures {
  readonly precision: number
  readonly splits: number
  readonly met: number
  readonly missed: number
  readonly refused: number
  /** Of the splits with a promise, on the other half. */
  readonly precisionMean: number | undefined
  readonly recallMean: number | undefined
}

export function measuredPairs(
  pairs: readonly (Omit<CosinePair, 'cosine'> & { readonly cosine?: number })[],
): Measured[] {
  return pairs.map((pair) => ({
    ...pair,
    a: judged(pair.a),
    b: judged(pair.b),
    jaccard: compareTexts(pair.a, pair.b).similarity,
  }))
}

export function promiseFigures(
  pairs: readonly Measured[],
  method: Method,
  splits: number,
): PromiseFigures[] {
  const counts = PRECISIONS.map((precision) => ({
    precision,
    met: 0,
    refused: 0,
    precisions: [] as number[],
    recalls: [] as number[],
  }))
  for (let split = 1; split <= splits; split++) {
    const order = [...shuffled(pairs.length, split)].map((at) => pairs[at]!)
    const half = order.length >> 1
    const tuned = methods[method](order.slice(0, half))
    const others = order.slice(half).map((pair) => ({
      isDuplicate: pair.isDuplicate,
      score: tuned.score(pair),
    }))
    for (const count of counts) {
      const cut = promisedCut(tuned, count.precision)
      if (cut === undefined) {
        count.refused++
        continue
      }
      const called = others.filter(({ score }) => score >= cut)
      const right = called.filter(({ isDuplicate }) => isDuplicate).length
      const precision = called.length === 0 ? 1 : right / called.length
      if (precision >= count.precision) count.met++
      count.precisions.push(precision)
      count.recalls.push(right / others.filter(({ isDuplicate }) => isDuplicate).length)
    }
  }
  return counts.map(({ precision, met, refused, precisions, recalls }) => ({
    precision,
    splits,
    met,
    missed: splits - met - refused,
    refused,
    precisionMean: meanOf(precisions),
    recallMean: meanOf(recalls),
  }))
}

function promisedCut(tuned: Tuned, precision: number): number | undefined {
  try {
    return tuned.cut(precision)
  } catch (error) {
    if (error instanceof PrestigeError && error.code === 'PRECISION_UNPROVEN') return undefined
    throw error
  }
}

function meanOf(values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined
  return Number((values.reduce((sum, value) => sum + value, 0) / values.length).toFixed(4))
}

export async function benchTunePromises(
  scale: number,
  print: (line: Readonly<Record<string, unknown>>) => void,
): Promise<void> {
  const splits = Math.max(1, Math.round(100 * scale))
  for (const set of SETS) {
    const pairs = measuredPairs(await withCosines(labelledSet(set)))
    for (const method of ['jaccard', 'cosine', 'judge'] as const) {
      for (const figures of promiseFigures(pairs, method, splits)) {
        const isWithin = (figures.met + figures.refused) / splits >= MET_MIN
        print({ bench: 'tune-promises', set, pairs: pairs.length, method, ...figures, isWithin })
      }
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await benchTunePromises(Number(process.argv[2] ?? 1), (line) =>
    process.stdout.write(`${JSON.stringify(line)}\n`),
  )
}
