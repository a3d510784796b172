/** Results of a run of resolve. */

import type { ResolveStatus } from '../../resolve/index.ts'
import { count, countOf } from '../print/units.ts'

export type LineOutcome = ResolveStatus | 'unknown' | 'bad'

export class ResolveSums {
  readonly #counts: Record<LineOutcome, number> = {
    new: 0,
    match: 0,
    exact: 0,
    known: 0,
    unknown: 0,
    bad: 0,
  }

  get bad(): number {
    return this.#counts.bad
  }

  count(outcome: LineOutcome): void {
    this.#counts[outcome]++
  }

  /** `known` is all that was resolved before, representatives among them. */
  json(): object {
    const { new: isNew, match, exact, known, unknown, bad } = this.#counts
    const sums = { new: isNew, matches: match, known: known + exact, unknown, bad }
    return { in: this.#all(), ...sums }
  }

  text(isStopped: boolean): string {
    const { new: isNew, match, exact, known, unknown, bad } = this.#counts
    const parts = [`${count(isNew)} new`, countOf(match, 'match').replace(/hs$/, 'hes')]
    parts.push(`${count(known + exact)} known`)
    if (unknown > 0) parts.push(`${count(unknown)} unknown`)
    if (bad > 0) parts.push(countOf(bad, 'bad line'))
    return `${isStopped ? 'stopped after ' : ''}${countOf(this.#all(), 'line')}: ${parts.join(', ')}\n`
  }

  #all(): number {
    return Object.values(this.#counts).reduce((sum, one) => sum + one, 0)
  }
}
