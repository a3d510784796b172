/**
 * Finds what two sequences of numbers have in common, in order: the greedy algorithm of Myers, within a budget.
 *
 * Invariant: the work is bounded, whatever comes in. Where the sequences are too long or too different for an
 * exact answer, places that are certain (a run of numbers that is unique on both sides) divide them, and only
 * what lies between is compared. A part that is still too different counts as having nothing in common.
 */

import { mix } from '../fingerprint/index.ts'

/** So many numbers are the same, from these places on. */
export interface Run {
  readonly a: number
  readonly b: number
  readonly length: number
}

export interface Matching {
  readonly runs: readonly Run[]
  /** Nothing was given up. */
  readonly isComplete: boolean
}

interface Part {
  readonly a: number
  readonly aEnd: number
  readonly b: number
  readonly bEnd: number
}

/** How long a run must be to be a certain place: first the most certain, then what is left. */
const ANCHOR_WIDTHS = [8, 2]
const ANCHORS_MAX = 1 << 17
const STEPS_MAX = 20_000_000

export function matchSequences(a: Int32Array, b: Int32Array, editsMax: number): Matching {
  const budgets = [0, ...ANCHOR_WIDTHS].map((width) => ({ width, editsMax, steps: STEPS_MAX }))
  const all = { a: 0, aEnd: a.length, b: 0, bEnd: b.length }
  const { runs, isComplete } = matchDivided(a, b, all, budgets)
  return { runs: joined(runs), isComplete }
}

/** Compares the part as a whole or, where that costs too much, piece by piece with the next budget. */
function matchDivided(
  a: Int32Array,
  b: Int32Array,
  part: Part,
  [budget, ...further]: readonly (Budget | undefined)[],
): Matching {
  const found = budget && matchPart(a, b, part, budget)
  if (found) return { runs: found, isComplete: true }
  const [next] = further
  // Anchors start parts, so even where the rest is given up its first numbers are the same.
  if (next === undefined) return { runs: ends(a, b, part), isComplete: false }
  const anchors = anchorsOf(a, b, part, next.width)
  if (anchors.length === 0) return matchDivided(a, b, part, [undefined, ...further.slice(1)])
  const runs: Run[] = []
  let isComplete = true
  for (const piece of partsBetween(anchors, part)) {
    const matched = matchDivided(a, b, piece, further)
    for (const run of matched.runs) runs.push(run)
    isComplete &&= matched.isComplete
  }
  return { runs, isComplete }
}

interface Budget {
  /** Of the anchors that divide what this budget is spent on. */
  readonly width: number
  readonly editsMax: number
  /** How many more numbers may be looked at; counted down. */
  steps: number
}

/** `undefined`: not within the budget. */
function matchPart(a: Int32Array, b: Int32Array, part: Part, budget: Budget): Run[] | undefined {
  const [head, tail] = ends(a, b, part)
  const from = { a: head.a + head.length, b: head.b + head.length }
  const inner = edits(a.subarray(from.a, tail.a), b.subarray(from.b, tail.b), budget)
  const moved = inner?.map(({ a: x, b: y, length }) => ({ a: x + from.a, b: y + from.b, length }))
  return moved && [head, ...moved, tail]
}

/** What is the same at the start and at the end of a part. */
function ends(a: Int32Array, b: Int32Array, { a: aFrom, aEnd, b: bFrom, bEnd }: Part): [Run, Run] {
  const most = Math.min(aEnd - aFrom, bEnd - bFrom)
  let head = 0
  while (head < most && a[aFrom + head] === b[bFrom + head]) head++
  let tail = 0
  while (tail < most - head && a[aEnd - 1 - tail] === b[bEnd - 1 - tail]) tail++
  return [
    { a: aFrom, b: bFrom, length: head },
    { a: aEnd - tail, b: bEnd - tail, length: tail },
  ]
}

/** The furthest places for every number of edits are kept, and walked back when the end is reached. */
function edits(a: Int32Array, b: Int32Array, budget: Budget): Run[] | undefined {
  if (a.length === 0 || b.length === 0) return []
  const most = Math.min(budget.editsMax, a.length + b.length)
  const furthest = new Int32Array(2 * most + 3)
  const middle = most + 1
  const trace: Int32Array[] = []
  for (let count = 0; count <= most; count++) {
    for (let diagonal = -count; diagonal <= count; diagonal += 2) {
      const isDown = goesDown(furthest, middle, diagonal, count)
      let x = isDown
        ? (furthest[middle + diagonal + 1] ?? 0)
        : (furthest[middle + diagonal - 1] ?? 0) + 1
      const from = x
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x++
      budget.steps -= x - from + 1
      furthest[middle + diagonal] = x
      if (x >= a.length && x - diagonal >= b.length) return walkBack(trace, a.length, b.length)
    }
    if (budget.steps < 0) return undefined
    trace.push(furthest.slice(middle - count - 1, middle + count + 2))
  }
  return undefined
}

function goesDown(furthest: Int32Array, middle: number, diagonal: number, count: number): boolean {
  if (diagonal === -count) return true
  if (diagonal === count) return false
  return (furthest[middle + diagonal - 1] ?? 0) < (furthest[middle + diagonal + 1] ?? 0)
}

function walkBack(trace: readonly Int32Array[], aLength: number, bLength: number): Run[] {
  const runs: Run[] = []
  let [x, y] = [aLength, bLength]
  for (let count = trace.length; count > 0; count--) {
    const furthest = trace[count - 1] ?? new Int32Array(0)
    // The row of n edits is centred on its own n + 1st place.
    const diagonal = x - y
    const isDown = goesDown(furthest, count, diagonal, count)
    const previous = isDown ? diagonal + 1 : diagonal - 1
    const fromX = furthest[count + previous] ?? 0
    const start = isDown ? fromX : fromX + 1
    runs.push({ a: start, b: start - diagonal, length: x - start })
    x = fromX
    y = fromX - previous
  }
  runs.push({ a: 0, b: 0, length: x })
  return runs.toReversed()
}

/** Runs that follow each other without a gap become one; empty ones go. */
function joined(runs: readonly Run[]): Run[] {
  const all: Run[] = []
  for (const run of runs) {
    if (run.length === 0) continue
    const last = all.at(-1)
    const follows = last && last.a + last.length === run.a && last.b + last.length === run.b
    if (follows) all[all.length - 1] = { ...last, length: last.length + run.length }
    else all.push(run)
  }
  return all
}

interface Anchor {
  readonly a: number
  readonly b: number
}

function* partsBetween(anchors: readonly Anchor[], all: Part): Generator<Part> {
  let from: Anchor = { a: all.a, b: all.b }
  for (const anchor of anchors) {
    yield { a: from.a, aEnd: anchor.a, b: from.b, bEnd: anchor.b }
    from = anchor
  }
  yield { a: from.a, aEnd: all.aEnd, b: from.b, bEnd: all.bEnd }
}

/** Places where runs begin that either side has once, in an order that both sides have. */
function anchorsOf(a: Int32Array, b: Int32Array, part: Part, width: number): Anchor[] {
  const first = a.subarray(part.a, part.aEnd)
  const second = b.subarray(part.b, part.bEnd)
  const keep = Math.ceil((first.length + second.length) / ANCHORS_MAX)
  const [inA, inB] = [uniquePlaces(first, width, keep), uniquePlaces(second, width, keep)]
  const both: Anchor[] = []
  for (const [hash, place] of inA) {
    const other = inB.get(hash)
    if (place < 0 || other === undefined || other < 0) continue
    const anchor = { a: part.a + place, b: part.b + other }
    if (isSameRun(a, b, anchor, width)) both.push(anchor)
  }
  return ascending(both)
}

/** Hash of a run → where it starts; -1 if there are several. Of long sequences, the same few of all runs. */
function uniquePlaces(sequence: Int32Array, width: number, keep: number): Map<number, number> {
  const places = new Map<number, number>()
  for (let at = 0; at + width <= sequence.length; at++) {
    let hash = 0
    for (let next = at; next < at + width; next++) {
      hash = (Math.imul(hash, 0x9e3779b1) + (sequence[next] ?? 0) + 1) | 0
    }
    hash = mix(hash)
    if (hash % keep === 0) places.set(hash, places.has(hash) ? -1 : at)
  }
  return places
}

function isSameRun(a: Int32Array, b: Int32Array, from: Anchor, width: number): boolean {
  for (let step = 0; step < width; step++) {
    if (a[from.a + step] !== b[from.b + step]) return false
  }
  return true
}

/** The most anchors that ascend on both sides; they come in the order of `a`. */
function ascending(anchors: readonly Anchor[]): Anchor[] {
  const best: number[] = []
  const before = new Int32Array(anchors.length).fill(-1)
  anchors.forEach(({ b }, at) => {
    let from = 0
    let end = best.length
    while (from < end) {
      const middle = (from + end) >>> 1
      if ((anchors[best[middle] ?? 0]?.b ?? 0) < b) from = middle + 1
      else end = middle
    }
    before[at] = best[from - 1] ?? -1
    best[from] = at
  })
  const chain: Anchor[] = []
  for (let at = best.at(-1) ?? -1; at >= 0; at = before[at] ?? -1) {
    const anchor = anchors[at]
    if (anchor) chain.push(anchor)
  }
  return chain.toReversed()
}
