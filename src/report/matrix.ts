/** Counts by two sources as a square of the busiest ones, and who wins over whom. */

import type { PairCounts } from '../dedupe/index.ts'

export interface Matrix {
  readonly sources: readonly string[]
  /** A row and a column for each source, and one more of each for all others. */
  readonly counts: readonly (readonly number[])[]
}

export interface Dominance {
  readonly source: string
  /** Its copy was kept, and one of another source left out. */
  readonly won: number
  /** Its copy was left out, and one of another source kept. */
  readonly lost: number
  /** Both copies were its own. */
  readonly within: number
}

function* entriesOf({ counts }: PairCounts): Generator<readonly [string, string, number]> {
  for (const [first, row] of Object.entries(counts)) {
    for (const [second, count] of Object.entries(row)) yield [first, second, count]
  }
}

/** Sources that are in the most pairs, the busiest first. */
export function busiestSources(pairs: readonly PairCounts[], max: number): string[] {
  const sums = new Map<string, number>()
  for (const one of pairs) {
    for (const [first, second, count] of entriesOf(one)) {
      for (const name of new Set([first, second])) sums.set(name, (sums.get(name) ?? 0) + count)
    }
  }
  return [...sums]
    .toSorted(([one, sum], [other, otherSum]) => otherSum - sum || (one < other ? -1 : 1))
    .slice(0, max)
    .map(([name]) => name)
}

export function matrixOf(pairs: PairCounts, sources: readonly string[]): Matrix {
  const places = new Map(sources.map((name, at) => [name, at]))
  const last = sources.length
  const counts = Array.from({ length: last + 1 }, () => Array.from({ length: last + 1 }, () => 0))
  const addAt = (row: number, column: number, count: number) => {
    const cells = counts[row] ?? []
    cells[column] = (cells[column] ?? 0) + count
  }
  for (const [first, second, count] of entriesOf(pairs)) {
    addAt(places.get(first) ?? last, places.get(second) ?? last, count)
  }
  addAt(last, last, pairs.others)
  return { sources, counts }
}

/** Of sources that have won or lost against another, those with the most first. */
export function dominanceOf(survivals: PairCounts, max: number): Dominance[] {
  const found = new Map<string, { won: number; lost: number; within: number }>()
  const of = (name: string) => {
    const known = found.get(name) ?? { won: 0, lost: 0, within: 0 }
    found.set(name, known)
    return known
  }
  for (const [loser, winner, count] of entriesOf(survivals)) {
    if (loser === winner) of(loser).within += count
    else {
      of(loser).lost += count
      of(winner).won += count
    }
  }
  return [...found]
    .map(([source, counts]) => Object.assign({ source }, counts))
    .filter(({ won, lost }) => won + lost > 0)
    .toSorted(
      (one, other) =>
        other.won + other.lost - (one.won + one.lost) || (one.source < other.source ? -1 : 1),
    )
    .slice(0, max)
}
