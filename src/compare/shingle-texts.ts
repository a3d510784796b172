/**
 * The shingles of a text as texts, for people: what the kernels only hash.
 *
 * Invariant: shingle number n here is the one whose hash the kernels give as number n. Words of a shingle are
 * joined by a space, whatever separated them, because that is all that is compared. `␂` and `␃` stand for the
 * marks that `chars` puts at both ends of a text.
 */

import { decode, isIn, type ShingleShape, textClasses, UNIT_BITS } from '../fingerprint/index.ts'

const START_MARK = '␂'
const END_MARK = '␃'

/** The texts of the shingles with these numbers, in this order. One pass, however long the text is. */
export function shingleTexts(
  bytes: Uint8Array,
  shape: ShingleShape,
  wanted: readonly number[],
): string[] {
  const ascending = wanted.toSorted((first, second) => first - second)
  const found = new Map<number, string>()
  const window: string[] = []
  const joiner = shape.kind === 'words' ? ' ' : ''
  let count = 0
  let next = 0
  for (const unit of unitsOf(bytes, shape)) {
    if (next === ascending.length) break
    window.push(unit)
    if (window.length > shape.width) window.shift()
    count++
    if (count - shape.width !== ascending[next]) continue
    found.set(count - shape.width, window.join(joiner))
    while (ascending[next] === count - shape.width) next++
  }
  // Fewer units than one shingle has, or none at all: the text as a whole is its only shingle.
  if (next < ascending.length) found.set(0, count === 0 ? textOf(bytes) : window.join(joiner))
  return wanted.map((number) => found.get(number) ?? '')
}

function unitsOf(bytes: Uint8Array, shape: ShingleShape): Generator<string> {
  return shape.kind === 'words' ? wordsOf(bytes) : pointsOf(bytes, shape.kind === 'chars')
}

function* pointsOf(bytes: Uint8Array, hasEnds: boolean): Generator<string> {
  const { separators } = textClasses()
  if (hasEnds) yield START_MARK
  for (let at = 0; at < bytes.length;) {
    const found = decode(bytes, at)
    const end = at + (found >>> 24)
    if (hasEnds || !isIn(separators, found & UNIT_BITS)) yield textOf(bytes.subarray(at, end))
    at = end
  }
  if (hasEnds) yield END_MARK
}

function* wordsOf(bytes: Uint8Array): Generator<string> {
  const { separators } = textClasses()
  let start = -1
  let at = 0
  while (at < bytes.length) {
    const found = decode(bytes, at)
    const separates = isIn(separators, found & UNIT_BITS)
    if (separates && start >= 0) yield textOf(bytes.subarray(start, at))
    if (separates) start = -1
    else if (start < 0) start = at
    at += found >>> 24
  }
  if (start >= 0) yield textOf(bytes.subarray(start, at))
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
}
