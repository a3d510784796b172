/** `explain A B`: what two texts share, side by side and in numbers. Needs no store. */

import { isUtf8 } from 'node:buffer'

import {
  alignTexts,
  type Comparison,
  type CompareOptions,
  compareTexts,
} from '../../compare/index.ts'
import { displayWidth } from '../../platform/display-width.ts'
import { harmless } from '../../platform/harmless.ts'
import { Failure, usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { type Style, paint, print, printJson } from '../print/output.ts'
import { readFileWhole, readStdin } from '../files/read-input.ts'
import { type Shade, sideBySide } from './side-by-side.ts'
import { vetoText } from '../print/refusal.ts'
import { judgedTexts, judgementText } from './judge-two.ts'
import { table } from '../print/table.ts'
import { count } from '../print/units.ts'

const TEXT_BYTES_MAX = 64 * 1024 * 1024
const COLUMNS = { min: 40, max: 200, unknown: 100 }

export async function explainTexts(invocation: Invocation): Promise<number> {
  const options = optionsOf(invocation)
  const [a, b] = await textsOf(invocation)
  const comparison = compareTexts(a, b, options)
  const judge = invocation.text('judge')
  const judged = judge === undefined ? undefined : await judgedTexts(invocation, judge, a, b)
  if (invocation.flag('json')) await printJson({ ...comparison, ...(judged && { judge: judged }) })
  else {
    const { canonical } = options
    const { spans, isComplete } = alignTexts(a, b, { canonical })
    const names = namesOf(invocation)
    const lines = sideBySide(spans, names, { columns: columnsOf(), colour: colourOf() })
    const hint = isComplete
      ? []
      : ['', 'The texts are too different to be aligned completely; they may share more.']
    const opinion = judged ? `\n${judgementText(judged)}` : ''
    const summary = summaryOf(comparison, a, b)
    await print(`${[...lines, ...hint, '', ''].join('\n')}${summary}${opinion}`)
  }
  return 0
}

function optionsOf(invocation: Invocation): CompareOptions {
  // safe: whatever was typed is read by compareTexts, which refuses names that are no profile
  const profile = invocation.text('profile') as CompareOptions['profile']
  // safe: arguments.ts refuses all but the choices of commands.ts
  const canonical = invocation.text('canonical') as CompareOptions['canonical']
  const [bands, rows] = [invocation.wholeNumber('bands'), invocation.wholeNumber('rows')]
  if ((bands === undefined) !== (rows === undefined)) {
    throw usageFailure('Give --bands and --rows together, or neither.')
  }
  return {
    profile,
    canonical,
    bands,
    rows,
    threshold: invocation.share('threshold'),
    slots: invocation.wholeNumber('slots'),
    shinglesMax: invocation.wholeNumber('limit'),
    ...(invocation.flag('no-guards') && { guards: false }),
    passagesMax: invocation.wholeNumber('limit'),
  }
}

function namesOf(invocation: Invocation): [string, string] {
  if (invocation.flag('text')) return ['A', 'B']
  const [a = '', b = ''] = invocation.operands.map((name) => (name === '-' ? 'stdin' : name))
  return [`A: ${a}`, `B: ${b}`]
}

async function textsOf(invocation: Invocation): Promise<[string | Buffer, string | Buffer]> {
  const [a, b] = [invocation.operand(0), invocation.operand(1)]
  if (invocation.flag('text')) return [a, b]
  if (a === '-' && b === '-') throw usageFailure('Only one of the texts can be -, for stdin.')
  return [await textIn(a, invocation.signal), await textIn(b, invocation.signal)]
}

async function textIn(path: string, signal: AbortSignal): Promise<Buffer> {
  const bytes =
    path === '-'
      ? await readStdin(signal, 'The text', TEXT_BYTES_MAX)
      : await readFileWhole(path, signal, TEXT_BYTES_MAX)
  if (isUtf8(bytes)) return bytes
  const name = path === '-' ? 'What came on stdin' : path
  throw new Failure(
    'invalid',
    'UNREADABLE_VALUE',
    `${name} is not UTF-8 text. Texts are compared, not bytes: convert it first, as with iconv.`,
  )
}

export function columnsOf(): number {
  const reported = process.stdout.columns ?? Number(process.env['COLUMNS'] ?? COLUMNS.unknown)
  const columns = Number.isInteger(reported) && reported > 0 ? reported : COLUMNS.unknown
  return Math.min(COLUMNS.max, Math.max(COLUMNS.min, columns))
}

const STYLE_OF: Readonly<Record<Exclude<Shade, 'same'>, Style>> = {
  'only-a': 'red',
  'only-b': 'green',
  note: 'dim',
}

/** `undefined` where nobody would see colours. */
export function colourOf(): ((shade: Shade, text: string) => string) | undefined {
  if (paint('red', 'x') === 'x') return undefined
  return (shade, text) => (shade === 'same' ? text : paint(STYLE_OF[shade], text))
}

function summaryOf(comparison: Comparison, a: string | Buffer, b: string | Buffer): string {
  const { similarity, estimate, slots, threshold, isDuplicate, shingles, vetoes } = comparison
  const { aInB, bInA } = comparison.containment
  const { passages } = comparison
  const verdict = isDuplicate
    ? `${paint('green', 'duplicates')}: at or above the threshold of ${threshold}`
    : similarity >= threshold
      ? `${paint('yellow', 'alike, but not the same')}: ${vetoText(vetoes)}`
      : `${paint('yellow', 'different')}: below the threshold of ${threshold}`
  return table(
    [
      ['verdict', verdict],
      [
        'similarity',
        `${similarity.toFixed(3)}; estimate of a sketch of ${slots} slots: ${estimate.toFixed(3)}`,
      ],
      ['contained', `${percent(aInB)} of A is in B, ${percent(bInA)} of B is in A`],
      ...passagesIn('passages of A', passages.a, a),
      ...passagesIn('passages of B', passages.b, b),
      ['bands', bandsOf(comparison)],
      [
        'shingles',
        `${count(shingles.a)} in A, ${count(shingles.b)} in B, ${count(shingles.shared)} in both (${comparison.profile})`,
      ],
      ...shown('in both', comparison.sharedShingles, shingles.shared),
      ...shown('only in A', comparison.onlyInA, shingles.a - shingles.shared),
      ...shown('only in B', comparison.onlyInB, shingles.b - shingles.shared),
    ],
    ['left', 'left'],
  )
}

function bandsOf({ banding, sharedBands, collisionProbability }: Comparison): string {
  const { bands, rows } = banding
  const numbers = sharedBands.slice(0, 10).join(', ') + (sharedBands.length > 10 ? ', …' : '')
  const which = sharedBands.length > 0 ? ` (${numbers})` : ''
  const chance = `probability of at least one: ${percent(collisionProbability)}`
  return `${sharedBands.length} of ${bands} shared${which}, ${rows} rows each; ${chance}`
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

const SHINGLE_WIDTH_MAX = 90

function shown(name: string, shingles: readonly string[], all: number): string[][] {
  const rows = shingles.map((shingle, at) => [at === 0 ? name : '', quoted(shingle)])
  const left = all - shingles.length
  return left > 0 && shingles.length > 0 ? [...rows, ['', `and ${count(left)} more`]] : rows
}

/** One line each: the bytes it takes, and how it begins. */
function passagesIn(
  name: string,
  passages: Comparison['passages']['a'],
  text: string | Buffer,
): string[][] {
  const bytes = Buffer.from(text)
  return passages.map(({ start, end }, at) => [
    at === 0 ? name : '',
    `bytes ${start} to ${end}: ${quoted(bytes.toString('utf8', start, end))}`,
  ])
}

function quoted(shingle: string): string {
  const text = harmless(shingle)
  const isLong = displayWidth(text) > SHINGLE_WIDTH_MAX
  return `"${isLong ? `${text.slice(0, SHINGLE_WIDTH_MAX).toWellFormed()}…` : text}"`
}
