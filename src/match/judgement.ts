/**
 * Whether two texts that are similar enough are the same. Similarity finds candidates; guards, and a judge where one is
 * asked for, decide. Two texts that read the same in canonical form are always the same.
 */

import { equalBytes } from '../platform/bytes.ts'
import { cutFor, judgeTexts, type Veto, vetoesOf } from '../compare/index.ts'
import type { Measured } from './evidence.ts'
import type { TextNearSettings } from './settings.ts'

/** What was found out about two that are similar. */
export interface Verdict {
  readonly isSame: boolean
  /** What speaks against it. */
  readonly vetoes: readonly Veto[]
  /** That they are the same, where a judge was asked. */
  readonly probability?: number
}

/** `undefined`: nothing but similarity decides. */
export type Judgement<Evidence> = (own: Evidence, other: Evidence) => Verdict | undefined

const SAME: Verdict = { isSame: true, vetoes: [] }

/** By guards, then by a judge; `undefined` where neither is asked. */
export function judgementOf({
  guards,
  judge,
}: Pick<TextNearSettings, 'guards' | 'judge'>): Judgement<Measured> | undefined {
  const asked = guards && Object.values(guards).includes(true) ? guards : undefined
  const cut = judge && cutFor(judge.model, judge.precision)
  if (!asked && !judge) return undefined
  return (own, other) => {
    const [first, second] = [own.form, other.form]
    // Without its text nothing is known of one but its shingles.
    if (!first || !second) return undefined
    if (equalBytes(first, second)) return SAME
    const [reading, another] = [own.reading, other.reading]
    const vetoes = asked && reading && another ? vetoesOf(reading, another, asked, 'near') : []
    if (vetoes.length > 0) return { isSame: false, vetoes }
    // A text is not read for a judge that nobody asks.
    if (!judge || cut === undefined) return SAME
    const [one, two] = [own.judged, other.judged]
    if (!one || !two) return SAME
    const { probability } = judgeTexts(judge.model, one, two, { cut })
    return { isSame: probability >= cut, vetoes, probability }
  }
}
