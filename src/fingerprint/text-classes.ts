/**
 * What the kernels know about code points: which separate words, which belong to scripts without spaces,
 * and lower case. All from one fixed version of Unicode, whatever the Node it runs on knows.
 *
 * Code points from 0x20000 on are in no table: none of them separates, and planes 2 and 3 are Han.
 */

import { lowerCaseRuns, separatorSpans, unspacedSpans } from './unicode-classes.ts'

export const CLASSED_CODE_POINTS = 0x20000

const numbersOf = (packed: string) => packed.split(' ').map((word) => Number.parseInt(word, 36))

/** One bit a code point. */
function tableOf(packed: string): Uint8Array {
  const table = new Uint8Array(CLASSED_CODE_POINTS / 8)
  const numbers = numbersOf(packed)
  let at = 0
  for (let pair = 0; pair < numbers.length; pair += 2) {
    at += numbers[pair] ?? 0
    for (const end = at + (numbers[pair + 1] ?? 0); at < end; at++) {
      table[at >> 3] = (table[at >> 3] ?? 0) | (1 << (at & 7))
    }
  }
  return table
}

interface Tables {
  readonly separators: Uint8Array
  readonly unspaced: Uint8Array
}

let tables: Tables | undefined

export function textClasses(): Tables {
  tables ??= { separators: tableOf(separatorSpans), unspaced: tableOf(unspacedSpans) }
  return tables
}

let lowerCases: Map<number, number> | undefined

function lowerCaseMap(): Map<number, number> {
  const map = new Map<number, number>()
  const numbers = numbersOf(lowerCaseRuns)
  let first = 0
  for (let run = 0; run < numbers.length; run += 4) {
    const [gap = 0, count = 0, step = 1, shift = 0] = numbers.slice(run, run + 4)
    first += gap
    for (let at = 0; at < count; at++) map.set(first + at * step, first + at * step + shift)
  }
  return map
}

const ONLY_ASCII = /^[\x20-\x7e\s]*$/

/** Every code point by itself, as Go and the Unicode database do it: no final sigma, no two letters for İ. */
export function simpleLowerCase(text: string): string {
  if (ONLY_ASCII.test(text)) return text.toLowerCase()
  lowerCases ??= lowerCaseMap()
  let lower = ''
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    const to = lowerCases.get(point)
    lower += to === undefined ? character : String.fromCodePoint(to)
  }
  return lower
}
