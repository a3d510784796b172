/**
 * Writes `src/fingerprint/unicode-classes.ts` from the Unicode 15.0 character database.
 *
 * Run it only to move to another Unicode version, which changes fingerprints (and, by itself, their
 * `hashVersion`):
 *
 *     npm install --prefix DIRECTORY @unicode/unicode-15.0.0
 *     npx tsx scripts/make-text-classes.ts DIRECTORY
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const TARGET = new URL('../src/fingerprint/unicode-classes.ts', import.meta.url)
const LINE_WIDTH = 90

/** What stands between words. Connectors (the underscore) join, as they do in Unicode's own word rules. */
const SEPARATING = ['Punctuation', 'Symbol', 'Separator', 'Control']
const JOINING = ['Connector_Punctuation']

/** Scripts whose words are not separated by spaces. */
const UNSPACED = [
  'Han',
  'Hiragana',
  'Katakana',
  'Bopomofo',
  'Yi',
  'Tangut',
  'Nushu',
  'Khitan_Small_Script',
  'Thai',
  'Lao',
  'Khmer',
  'Myanmar',
  'Tai_Le',
  'New_Tai_Lue',
  'Tai_Tham',
  'Tai_Viet',
  'Javanese',
  'Balinese',
]

const installed = process.argv[2]
if (installed === undefined) {
  throw new Error('Usage: make-text-classes.ts DIRECTORY_WITH_NODE_MODULES')
}

const joining = new Set(await pointsOf('General_Category', JOINING))
const separators = (await pointsOf('General_Category', SEPARATING)).filter((at) => !joining.has(at))
const unspaced = (await pointsOf('Script', UNSPACED)).filter((at) => at < 0x20000)
// Safe: the package documents a Map from code point to code point.
const lower = (await load('Simple_Case_Mapping/Lowercase')) as Map<number, number>

writeFileSync(
  TARGET,
  [
    '/**',
    ' * Unicode 15.0: what separates words, scripts written without spaces, and simple lower case.',
    ' *',
    ' * Made by `scripts/make-text-classes.ts`; change that, never this. Numbers are in base 36. Spans are',
    ' * pairs of gap and length; cases are runs of gap, count, step and shift. Unicode data is copyright',
    ' * Unicode, Inc. and used under the Unicode License.',
    ' */',
    '',
    constant('separatorSpans', packSpans(separators)),
    constant('unspacedSpans', packSpans(unspaced)),
    constant('lowerCaseRuns', packCases(lower)),
  ].join('\n'),
)

async function load(property: string): Promise<unknown> {
  const root = join(installed ?? '', 'node_modules/@unicode/unicode-15.0.0')
  const module: unknown = await import(pathToFileURL(join(root, property, 'code-points.mjs')).href)
  if (typeof module === 'object' && module !== null && 'default' in module) return module.default
  throw new Error(`${property} has no default export`)
}

async function pointsOf(property: string, names: readonly string[]): Promise<number[]> {
  const points: number[] = []
  for (const name of names) {
    // Safe: the package documents an array of code points.
    for (const point of (await load(`${property}/${name}`)) as number[]) points.push(point)
  }
  return points.toSorted((a, b) => a - b)
}

function packSpans(points: readonly number[]): number[] {
  const packed: number[] = []
  let end = 0
  for (const point of points) {
    if (point === end && packed.length > 0) packed[packed.length - 1]!++
    else packed.push(point - end, 1)
    end = point + 1
  }
  return packed
}

/** Alphabets are runs with step 1 (A–Z) or step 2 (Ā ā Ă ă …) and one shift. */
function packCases(cases: ReadonlyMap<number, number>): number[] {
  const runs: { first: number; count: number; step: number; shift: number }[] = []
  for (const [point, to] of [...cases].toSorted((a, b) => a[0] - b[0])) {
    const last = runs.at(-1)
    const step = last ? point - (last.first + (last.count - 1) * last.step) : 0
    const isNext = last && last.shift === to - point && step <= 2
    if (isNext && (last.count === 1 || step === last.step)) {
      last.step = step
      last.count++
    } else runs.push({ first: point, count: 1, step: 1, shift: to - point })
  }
  let before = 0
  return runs.flatMap(({ first, count, step, shift }) => {
    const gap = first - before
    before = first
    return [gap, count, step, shift]
  })
}

function constant(name: string, numbers: readonly number[]): string {
  const lines: string[] = ['']
  for (const word of numbers.map((number) => number.toString(36))) {
    const last = lines.at(-1) ?? ''
    if (last.length + word.length >= LINE_WIDTH) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  const quoted = lines.map((line, at) => `'${line}${at < lines.length - 1 ? ' ' : ''}'`)
  return `export const ${name} =\n  ${quoted.join(' +\n  ')}\n`
}
