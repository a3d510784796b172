/**
 * Writes `src/canonical/case-folding.ts` from the Unicode 15.0 character database.
 *
 * Run it only to change the packing, or to move to another Unicode version, which changes the
 * canonical form of stored values and so needs a new version of the `unicode` profile:
 *
 *     npm install --prefix DIRECTORY @unicode/unicode-15.0.0
 *     npx tsx scripts/make-case-folding.ts DIRECTORY
 *
 * Not here: the database. The project needs 7 KB of its many megabytes.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

type Span = readonly [first: number, count: number]

interface Run {
  readonly first: number
  readonly shift: number
  readonly step: number
  readonly count: number
}

const target = new URL('../src/canonical/case-folding.ts', import.meta.url)
const lineWidth = 90

const installed = process.argv[2]
if (installed === undefined) {
  throw new Error('Usage: make-case-folding.ts DIRECTORY_WITH_NODE_MODULES')
}

// Safe: the package documents a Map for case foldings and an array of code points for properties.
const common = (await load('Case_Folding/C/code-points')) as Map<number, number>
const full = (await load('Case_Folding/F/code-points')) as Map<number, number[]>
const whiteSpace = (await load('Binary_Property/White_Space/code-points')) as number[]
const unassigned = (await load('General_Category/Unassigned/code-points')) as number[]
const ignorable = await property('Default_Ignorable_Code_Point')
// Safe: it documents a Map from code points to names.
const names = (await load('Names/index')) as Map<number, string>

requireFirstPlane([...full.keys(), ...[...full.values()].flat(), ...whiteSpace])
writeFileSync(target, source(await asciiMarks()))

async function load(property: string): Promise<unknown> {
  const file = join(installed ?? '', 'node_modules/@unicode/unicode-15.0.0', `${property}.mjs`)
  const module: unknown = await import(pathToFileURL(file).href)
  if (typeof module === 'object' && module !== null && 'default' in module) return module.default
  throw new Error(`${file} has no default export`)
}

async function property(name: string): Promise<number[]> {
  return (await load(`Binary_Property/${name}/code-points`)) as number[] // safe: as above
}

/**
 * Marks that are written in place of an ASCII one, by their properties and names. An earlier rule goes first.
 *
 * 1. Quotation_Mark: a single one is ', any other is ". So are 〈〉《》, and letters and primes that people
 *    write as apostrophes.
 * 2. Dash: -; one that is a wave: ~.
 * 3. Other punctuation (Po) with a name that ends like the name of an ASCII mark: that mark. Not those that open a
 *    sentence (INVERTED, INITIAL).
 * 4. Any other Sentence_Terminal, for example a danda: the full stop. Not the interrobang.
 * 5. CJK brackets that are not quotes: [ and ].
 */
async function asciiMarks(): Promise<Map<number, string>> {
  const marks = new Map<number, string>()
  const add = (points: Iterable<number>, markOf: (name: string) => string | undefined): void => {
    for (const point of points) {
      const mark = markOf(names.get(point) ?? '')
      if (mark !== undefined && point > 0x7f && !marks.has(point)) marks.set(point, mark)
    }
  }
  const quotes = await property('Quotation_Mark')
  add(quotes, (name) => (/\bSINGLE\b|FULLWIDTH APOSTROPHE/.test(name) ? "'" : '"'))
  add([0x300a, 0x300b, 0x5f4], () => '"')
  add([0x3008, 0x3009, 0x2b9, 0x2bb, 0x2bc, 0x55a, 0x5f3, 0x2032], () => "'")
  add(await property('Dash'), (name) => (/\b(WAVE|WAVY|SWUNG)\b/.test(name) ? '~' : '-'))
  const other = (await load('General_Category/Other_Punctuation/code-points')) as number[]
  add(other, namedMark)
  const terminal = await property('Sentence_Terminal')
  add(terminal, (name) => (name === 'INTERROBANG' ? undefined : '.'))
  add([0x3010, 0x3014, 0x3016, 0x3018, 0x301a], () => '[')
  add([0x3011, 0x3015, 0x3017, 0x3019, 0x301b], () => ']')
  // What normalisation takes apart needs no row.
  const isWhole = (point: number): boolean => {
    const text = String.fromCodePoint(point)
    return text.normalize('NFKD') === text
  }
  return new Map([...marks].filter(([point]) => isWhole(point)))
}

function namedMark(name: string): string | undefined {
  if (/\b(INVERTED|INITIAL)\b/.test(name)) return undefined
  const [, last = ''] =
    /\b(COMMA|SEMICOLON|COLON|QUESTION MARK|EXCLAMATION MARK|FULL STOP)$/.exec(name) ?? []
  const ascii: Readonly<Record<string, string>> = {
    COMMA: ',',
    SEMICOLON: ';',
    COLON: ':',
    'QUESTION MARK': '?',
    'EXCLAMATION MARK': '!',
    'FULL STOP': '.',
  }
  return ascii[last]
}

function packMarks(marks: ReadonlyMap<number, string>): string[] {
  let before = 0
  return [...marks].toSorted(byPoint).map(([point, mark]) => {
    const gap = point - before
    before = point
    return `${base36(gap)}:${base36(mark.charCodeAt(0))}`
  })
}

function source(marks: ReadonlyMap<number, string>): string {
  return [
    '/**',
    ' * Unicode 15.0: case foldings (statuses C and F), White_Space, unassigned and default-ignorable',
    ' * code points, and marks that are written in place of an ASCII one.',
    ' *',
    ' * Made by `scripts/make-case-folding.ts`; change that, never this. Numbers are in base 36;',
    ' * `unicode-tables.ts` says how they are packed. Unicode data is copyright Unicode, Inc. and',
    ' * used under the Unicode License.',
    ' */',
    '',
    constant('simpleFoldings', packFoldings(common)),
    constant('fullFoldings', [...full].toSorted(byPoint).map(packFull)),
    constant('whiteSpace', packSpans(spansOf(whiteSpace))),
    constant('unassigned', packSpans(spansOf(unassigned))),
    constant('ignorable', packSpans(spansOf(ignorable))),
    constant('asciiMarks', packMarks(marks)),
  ].join('\n')
}

function constant(name: string, words: readonly string[]): string {
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last === undefined || last.length + word.length >= lineWidth) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  const quoted = lines.map((line, index) => `'${line}${index < lines.length - 1 ? ' ' : ''}'`)
  const [only = ''] = quoted
  const value = quoted.length === 1 ? ` ${only}` : `\n  ${quoted.join(' +\n  ')}`
  return `export const ${name} =${value}\n`
}

function packFoldings(foldings: ReadonlyMap<number, number>): string[] {
  let before = 0
  return runsOf(foldings).flatMap(({ first, count, step, shift }) => {
    const gap = first - before
    before = first
    return [gap, count, step, shift].map(base36)
  })
}

/** Alphabets are runs with step 1 (A–Z) or step 2 (Ā ā Ă ă …) and one shift. */
function runsOf(foldings: ReadonlyMap<number, number>): Run[] {
  const runs: Run[] = []
  for (const [first, folded] of [...foldings].toSorted(byPoint)) {
    const shift = folded - first
    const last = runs.at(-1)
    if (last !== undefined && continues(last, first, shift)) {
      runs[runs.length - 1] = { ...last, step: stepTo(last, first), count: last.count + 1 }
    } else runs.push({ first, shift, step: 1, count: 1 })
  }
  return runs
}

function continues(run: Run, point: number, shift: number): boolean {
  const step = stepTo(run, point)
  return run.shift === shift && step <= 2 && (run.count === 1 || step === run.step)
}

function stepTo(run: Run, point: number): number {
  return point - (run.first + (run.count - 1) * run.step)
}

function packFull([point, folded]: readonly [number, readonly number[]]): string {
  return `${base36(point)}:${folded.map(base36).join(',')}`
}

function spansOf(points: readonly number[]): Span[] {
  const spans: Span[] = []
  for (const point of points.toSorted((a, b) => a - b)) {
    const [first, count] = spans.at(-1) ?? [-1, 0]
    if (first + count === point && count > 0) spans[spans.length - 1] = [first, count + 1]
    else spans.push([point, 1])
  }
  return spans
}

function packSpans(spans: readonly Span[]): string[] {
  let end = 0
  return spans.flatMap(([first, count]) => {
    const gap = first - end
    end = first + count
    return [base36(gap), base36(count)]
  })
}

function requireFirstPlane(points: readonly number[]): void {
  const high = points.find((point) => point > 0xffff)
  if (high !== undefined) throw new Error(`U+${high.toString(16)} does not fit the packing`)
}

function byPoint(a: readonly [number, unknown], b: readonly [number, unknown]): number {
  return a[0] - b[0]
}

function base36(value: number): string {
  return value.toString(36)
}
