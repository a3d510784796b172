/**
 * Unpacks the generated Unicode 15.0 tables into arrays that can be looked up in a loop.
 *
 * Invariant: everything comes from the generated file and nothing from the running Node, whose
 * Unicode version changes from release to release.
 *
 * Not here: the tables as such (`case-folding.ts`) and how to make them
 * (`scripts/make-case-folding.ts`).
 */

import * as packed from './case-folding.ts'

export interface UnicodeTables {
  /**
   * What a UTF-16 unit becomes by folding case and turning white space into U+0020. Zero sends the
   * reader to `special`: the unit is a surrogate, or becomes several units.
   */
  readonly simple: Uint16Array
  /** Foldings, by code point, that do not fit into `simple`. */
  readonly special: ReadonlyMap<number, string>
  /** One bit for every code point that Unicode 15.0 leaves unassigned. */
  readonly unassigned: Uint32Array
  /** One bit for every code point that is not shown, but for those that are white space. */
  readonly ignorable: Uint32Array
  /** Both of them. */
  readonly rare: Uint32Array
}

let folding: UnicodeTables | undefined
let reading: UnicodeTables | undefined

/** Of version 1, where nothing is ignorable. Unpacked at the first call: most processes never use a profile. */
export function foldingTables(): UnicodeTables {
  if (folding) return folding
  const unassigned = bitsOf(packed.unassigned)
  const ignorable = new Uint32Array(unassigned.length)
  folding = { ...foldings(), unassigned, ignorable, rare: unassigned }
  return folding
}

/** Of version 2, where marks become those of ASCII too. */
export function readingTables(): UnicodeTables {
  if (reading) return reading
  const { simple, special } = foldings()
  for (const [point, mark] of asciiMarks()) {
    if (point < 0x10000) simple[point] = mark
    else special.set(point, String.fromCharCode(mark))
  }
  const unassigned = bitsOf(packed.unassigned)
  const ignorable = bitsOf(packed.ignorable)
  const rare = unassigned.map((bits, at) => bits | (ignorable[at] ?? 0))
  reading = { simple, special, unassigned, ignorable, rare }
  return reading
}

export function hasBit(bits: Uint32Array, index: number): boolean {
  return (((bits[index >>> 5] ?? 0) >>> (index & 31)) & 1) === 1
}

function foldings(): { readonly simple: Uint16Array; readonly special: Map<number, string> } {
  const simple = Uint16Array.from({ length: 0x10000 }, (_, unit) => unit)
  const special = new Map<number, string>()
  simple.fill(0, 0xd800, 0xe000)
  for (const [point, folded] of simpleFoldings()) {
    if (point < 0x10000) simple[point] = folded
    else special.set(point, String.fromCodePoint(folded))
  }
  for (const [point, folded] of fullFoldings()) {
    simple[point] = 0 // every full folding is in the first plane, which the generator checks
    special.set(point, folded)
  }
  for (const [first, count] of spans(packed.whiteSpace)) simple.fill(0x20, first, first + count)
  return { simple, special }
}

/** Packed as `gap count step shift`: `count` points, `step` apart, folding to point plus shift. */
function* simpleFoldings(): Generator<[number, number]> {
  const numbers = packed.simpleFoldings.split(' ').map(fromBase36)
  let first = 0
  for (let at = 0; at < numbers.length; at += 4) {
    const [gap = 0, count = 0, step = 0, shift = 0] = numbers.slice(at, at + 4)
    first += gap
    for (let index = 0; index < count; index++) {
      const point = first + index * step
      yield [point, point + shift]
    }
  }
}

/** Packed as `point:folded,folded`, for example `6n:37,37` for U+00DF to U+0073 U+0073. */
function* fullFoldings(): Generator<[number, string]> {
  for (const item of packed.fullFoldings.split(' ')) {
    const [point = '', folded = ''] = item.split(':')
    yield [fromBase36(point), String.fromCodePoint(...folded.split(',').map(fromBase36))]
  }
}

/** Packed as `gap:mark`, where the gap is counted from the point before. */
function* asciiMarks(): Generator<[number, number]> {
  let point = 0
  for (const item of packed.asciiMarks.split(' ')) {
    const [gap = '', mark = ''] = item.split(':')
    point += fromBase36(gap)
    yield [point, fromBase36(mark)]
  }
}

function bitsOf(text: string): Uint32Array {
  const bits = new Uint32Array(0x110000 / 32)
  for (const [first, count] of spans(text)) {
    for (let point = first; point < first + count; point++) {
      bits[point >>> 5] = (bits[point >>> 5] ?? 0) | (1 << (point & 31))
    }
  }
  return bits
}

/** Packed as `gap count`, where the gap is counted from the end of the span before. */
function* spans(text: string): Generator<[number, number]> {
  const numbers = text.split(' ').map(fromBase36)
  let end = 0
  for (let at = 0; at < numbers.length; at += 2) {
    const [gap = 0, count = 0] = numbers.slice(at, at + 2)
    yield [end + gap, count]
    end += gap + count
  }
}

function fromBase36(digits: string): number {
  return Number.parseInt(digits, 36)
}
