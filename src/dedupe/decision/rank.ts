/** Which copy survives: rules in order, each a number of which more is better. */

import type { DedupeConfig, KeepRule } from '../config/config.ts'
import type { Named } from './decision.ts'
import type { Rank } from '../rows.ts'

/** What is known of a document when it is compared with another copy. */
export interface Ranked extends Named {
  /** Of the text, in UTF-8. */
  readonly bytes: number
  readonly time?: number | undefined
  readonly quality?: number | undefined
  readonly type?: string | undefined
}

/** Negative if the first is the better copy, as for `sort`. Of equals the one that was there stays. */
export type Prefer = (one: Ranked, other: Ranked) => number

/** Of a document without the value that a rule compares. */
export const UNRANKED: number = -Number.MAX_VALUE

export function rankOf(document: Omit<Ranked, 'id'>, config: DedupeConfig): Rank {
  return config.keep.map((rule) => numberOf(rule, document, config))
}

function numberOf(rule: KeepRule, document: Omit<Ranked, 'id'>, config: DedupeConfig): number {
  const { bytes, time, quality, source, type } = document
  if (rule === 'longest') return bytes
  if (rule === 'newest') return time ?? UNRANKED
  if (rule === 'quality') return quality ?? UNRANKED
  if (rule === 'source') return place(config.sourcePriority, source)
  if (rule === 'type') return place(config.typePriority, type)
  return 0
}

/** By the whole name: a part of it would let `wiki` speak for `notwikipedia`. */
function place(names: readonly string[], name: string | undefined): number {
  const at = name === undefined ? -1 : names.indexOf(name)
  return at === -1 ? -names.length : -at
}

/** Whether the first is better. Of equals the one that was there stays. */
export function isBetter(first: Rank, second: Rank): boolean {
  for (const [at, own] of first.entries()) {
    const other = second[at] ?? 0
    if (own !== other) return own > other
  }
  return false
}
