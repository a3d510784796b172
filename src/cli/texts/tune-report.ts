/** What `tune` prints for people: the choice, what is promised, what is wrong, what to label next, how to apply it. */

import type {
  Goal,
  Mistake,
  NextLabels,
  Rate,
  ThresholdScore,
  ThresholdTuning,
} from '../../compare/index.ts'
import { displayWidth, shortened } from '../../platform/display-width.ts'
import { paint } from '../print/output.ts'
import { table } from '../print/table.ts'
import { count } from '../print/units.ts'
import type { PlacedPair } from './labelled-pairs.ts'

const NEXT_MAX = 5
const WRONG_DEFAULT = 10
const WRONG_JSON_DEFAULT = 1000
const TEXT_COLUMNS = 44

/** The rows that every tuning has; `what` is a threshold or a cut. */
export function headRows(what: string, tuning: ThresholdTuning): string[][] {
  const { pairs, duplicates, different, chosen, promise, goal } = tuning
  const open = tuning.next.pairs.length > 0 ? '; others have no label' : ''
  return [
    [what, `${paint('bold', String(tuning.threshold))}, ${reasonOf(goal)}`],
    ...(promise
      ? [
          [
            'promise',
            `a precision of ${promise.precision} with 95 % confidence: ${promise.right} of ${promise.called} are right`,
          ],
          ['', `which proves a precision of ${promise.low.toFixed(3)}`],
        ]
      : []),
    ['precision', rateText(chosen.precision)],
    ['recall', rateText(chosen.recall)],
    ['F1', rateText(chosen.f1)],
    [
      'pairs',
      `${count(pairs)}: ${count(duplicates)} duplicates, ${count(different)} different${open}`,
    ],
  ]
}

function reasonOf(goal: Goal): string {
  if (goal.kind === 'f1') return 'the best F1'
  return goal.kind === 'precision'
    ? `the lowest with a proven precision of ${goal.min}`
    : `the highest with a recall of ${goal.min}`
}

/** Every fifth, and the chosen one. */
export function scoreTable({ thresholds, threshold, chosen }: ThresholdTuning): string {
  const shown = thresholds.filter((score) => Math.round(score.threshold * 100) % 5 === 0)
  const all = shown.some((score) => score.threshold === threshold) ? shown : [...shown, chosen]
  const rows = all
    .toSorted((one, other) => one.threshold - other.threshold)
    .map((score) => scoreRow(score, score.threshold === threshold))
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

function rateText({ value, low, high }: Rate): string {
  if (value === undefined) return '–'
  return `${value.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`
}

/** Wrong pairs and pairs to label, below the tables. */
export function reviewText(
  { mistakes, next }: Pick<ThresholdTuning, 'mistakes' | 'next'>,
  pairs: readonly PlacedPair[],
  wrongMax: number = WRONG_DEFAULT,
): string {
  return mistakesText(mistakes, pairs, wrongMax) + nextText(next, pairs)
}

/** A labelled pair on the wrong side, to be read without the file of the pairs. */
interface WrongPair extends Pick<Mistake, 'similarity' | 'isDuplicate'> {
  readonly a: string
  readonly b: string
  /** In the file of the pairs, from 1. */
  readonly line: number
}

/** With `--json`: what the library says, the pairs that are wrong with their texts, and the commands that apply it. */
export function tuningJson<T extends Pick<ThresholdTuning, 'mistakes'>>(
  tuning: T,
  pairs: readonly PlacedPair[],
  wrongMax: number = WRONG_JSON_DEFAULT,
  apply: readonly string[] = [],
): T & { readonly wrong: readonly WrongPair[]; readonly apply: readonly string[] } {
  const wrong = tuning.mistakes.slice(0, wrongMax).flatMap(({ pair, similarity, isDuplicate }) => {
    const placed = pairs[pair]
    return placed ? [{ line: placed.line, similarity, isDuplicate, a: placed.a, b: placed.b }] : []
  })
  return { ...tuning, wrong, apply }
}

function mistakesText(
  mistakes: readonly Mistake[],
  pairs: readonly PlacedPair[],
  wrongMax: number,
): string {
  if (mistakes.length === 0) return '\nNo labelled pair is on the wrong side.\n'
  const parts = [false, true].flatMap((isDuplicate) => {
    const all = mistakes.filter((one) => one.isDuplicate === isDuplicate)
    if (all.length === 0) return []
    const side = isDuplicate ? 'Duplicates that are missed' : 'Different pairs that are merged'
    const lines = all.slice(0, wrongMax).map(({ pair, similarity }) => {
      const at = pairs[pair]
      return at ? pairLine(at, similarity.toFixed(3)) : ''
    })
    const left = all.length - lines.length
    const more = left > 0 ? `  and ${count(left)} more (--wrong)\n` : ''
    return [`\n${side}: ${count(all.length)}, the clearest first\n${lines.join('')}${more}`]
  })
  return parts.join('')
}

function nextText({ from, to, pairs: open }: NextLabels, pairs: readonly PlacedPair[]): string {
  const intro = `\nTo label next: pairs with a similarity of ${from} to ${to}`
  if (open.length === 0) return `${intro}.\nGive pairs with an empty label to have them ranked.\n`
  const lines = open.slice(0, NEXT_MAX).map((pair) => {
    const at = pairs[pair]
    return at ? pairLine(at, '') : ''
  })
  return `${intro}; of those without a label, the nearest are\n${lines.join('')}`
}

function pairLine({ a, b, line }: PlacedPair, similarity: string): string {
  const left = shortened(a, TEXT_COLUMNS)
  const space = ' '.repeat(Math.max(0, TEXT_COLUMNS - displayWidth(left)))
  const head = ['  line', line, similarity].filter((part) => part !== '').join(' ')
  return `${head}\n    ${left}${space} │ ${shortened(b, TEXT_COLUMNS)}\n`
}

export function applyText(commands: readonly string[]): string {
  return `\nTo apply it:\n${commands.map((command) => `  ${command}\n`).join('')}`
}
