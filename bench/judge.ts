/**
 * How many wrong merges does a judge save at the recall of a bare threshold? One JSON line a set, method and recall:
 * Jaccard alone (`near`), Jaccard with guards, a judge of form, a judge of form and meaning. Judges are counted by five
 * folds. The target is 40 % fewer wrong merges than `near`. A last line tells what judging one pair costs.
 */

import { pathToFileURL } from 'node:url'

import { defaultJudge, judged, judgeTexts, readGuards, vetoesOf } from '../src/compare/index.ts'
import { fitAndScore } from '../src/compare/judge/fit-judge.ts'
import { labelledSet, type SetName, withCosines } from './harness/labelled-sets.ts'
import { measuredPairs } from './tune-promises.ts'

const SETS: readonly SetName[] = ['mrpc', 'stsb', 'questions']
const RECALLS = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
const SAVED_MIN = 0.4

interface Scored {
  readonly score: number
  readonly isDuplicate: boolean
}

/** At the strictest cut that finds so many. */
function countsAt(scored: readonly Scored[], recall: number) {
  const sorted = scored.toSorted((one, other) => other.score - one.score)
  const duplicates = scored.filter(({ isDuplicate }) => isDuplicate).length
  let right = 0
  let wrong = 0
  for (const [at, { score, isDuplicate }] of sorted.entries()) {
    if (isDuplicate) right++
    else wrong++
    if (right >= recall * duplicates && sorted[at + 1]?.score !== score) break
  }
  return {
    right,
    wrong,
    precision: digits(right / (right + wrong)),
    recall: digits(right / duplicates),
  }
}

const digits = (value: number) => Number(value.toFixed(4))

export async function benchJudge(
  print: (line: Readonly<Record<string, unknown>>) => void,
): Promise<void> {
  const guards = readGuards()
  for (const set of SETS) {
    const pairs = measuredPairs(await withCosines(labelledSet(set)))
    const form = pairs.map(({ a, b, isDuplicate }) => ({ a, b, isDuplicate }))
    const scores: Readonly<Record<string, readonly number[]>> = {
      near: pairs.map(({ jaccard }) => jaccard),
      'near with guards': pairs.map(({ a, b, jaccard }) =>
        vetoesOf(a.reading, b.reading, guards, 'near').length > 0 ? 0 : jaccard,
      ),
      'judge of form': fitAndScore(form).probabilities,
      'judge of form and meaning': fitAndScore(pairs).probabilities,
    }
    for (const recall of RECALLS) {
      let bare = 0
      for (const [method, all] of Object.entries(scores)) {
        const scored = pairs.map(({ isDuplicate }, at) => ({ score: all[at] ?? 0, isDuplicate }))
        const counts = countsAt(scored, recall)
        if (method === 'near') bare = counts.wrong
        const wrongSaved = digits(1 - counts.wrong / bare)
        const isWithin = method.startsWith('judge') ? wrongSaved >= SAVED_MIN : undefined
        print({ bench: 'judge', set, method, atRecall: recall, ...counts, wrongSaved, isWithin })
      }
    }
  }
  print(costOfOne())
}

/** Sides are read before the clock starts, as where one text meets many. */
function costOfOne(): Readonly<Record<string, unknown>> {
  const sides = labelledSet('mrpc').slice(0, 500)
  const pairs = sides.map(({ a, b }) => [judged(`${a} ${a}`), judged(`${a} ${b}`)] as const)
  const model = defaultJudge()
  const round = () => pairs.forEach(([a, b]) => judgeTexts(model, a, b))
  for (let warm = 0; warm < 5; warm++) round()
  const from = process.cpuUsage()
  const rounds = 20
  for (let at = 0; at < rounds; at++) round()
  const { user, system } = process.cpuUsage(from)
  const cpuMicros = digits((user + system) / (rounds * pairs.length))
  return { bench: 'judge', case: 'one pair, guards compared', cpuMicros }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await benchJudge((line) => process.stdout.write(`${JSON.stringify(line)}\n`))
}
