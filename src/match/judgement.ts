/**
 * Whether two texts that are similar enough are the same. Similarity finds candidates; what guards say decides. Two
 * texts that read the same in canonical form are always the same.
 */

import { equalBytes } from '../platform/bytes.ts'
import { type Guards, type Veto, vetoesOf } from '../compare/index.ts'
import type { Measured } from './evidence.ts'

/** What was found out about two that are similar. */
export interface Verdict {
  readonly isSame: boolean
  /** What speaks against it. */
  readonly vetoes: readonly Veto[]
}

/** `undefined`: nothing but similarity decides. */
export type Judgement<Evidence> = (own: Evidence, other: Evidence) => Verdict | undefined

const SAME: Verdict = { isSame: true, vetoes: [] }

/** By guards; `undefined` where none is asked. */
export function guardedJudgement(
  guards: Guards | false | undefined,
): Judgement<Measured> | undefined {
  if (!guards || !Object.values(guards).includes(true)) return undefined
  return (own, other) => {
    const [first, second] = [own.form, other.form]
    // Without its text nothing is known of one but its shingles.
    if (!first || !second) return undefined
    if (equalBytes(first, second)) return SAME
    const [reading, another] = [own.reading, other.reading]
    const vetoes = reading && another ? vetoesOf(reading, another, guards, 'near') : []
    return vetoes.length === 0 ? SAME : { isSame: false, vetoes }
  }
}
