/** Which settings would have given another outcome for a document, and why. */

import type { DedupeConfig, KeepRule } from '../config/config.ts'
import type { Method } from '../decision/decision.ts'
import { isBetter, rankOf } from '../decision/rank.ts'
import type { DocumentRow } from '../rows.ts'

export interface OtherOutcome {
  /** `duplicate`: it and another kept document would have been duplicates, and one of them dropped. */
  readonly outcome: 'kept' | 'dropped' | 'duplicate'
  /** An option of `dedupe`, or a setting of its config: `--threshold 0.93`, `near.action: link`. */
  readonly setting: string
  /** Where the setting is a number: which others would do as well. */
  readonly also?: 'higher' | 'lower'
  /** A sentence. */
  readonly why: string
}

/** What is known of a decision. */
export interface Decided {
  readonly row: DocumentRow
  readonly method: Method | undefined
  readonly similarity: number | undefined
  /** Id of the document it was measured against. */
  readonly against: string | undefined
  /** What is kept in its place. */
  readonly kept: DocumentRow | undefined
  /** Of a kept document: the most similar other one. */
  readonly nearest: Nearest | undefined
}

interface Nearest {
  readonly id: string
  readonly similarity: number
  readonly threshold: number
  readonly guards: readonly string[]
}

export function otherOutcomes(decided: Decided, config: DedupeConfig): OtherOutcome[] {
  const { row } = decided
  if (row.action === 'keep' || row.action === 'link') {
    return row.vetoes ? withoutGuards(decided, config) : ifLower(decided)
  }
  return [...ifHigher(decided), ...ifPreferred(decided, config), ...ifLinked(decided)]
}

/** The least of two decimals that is more than a similarity; `undefined` if it would be more than 1. */
function above(similarity: number): number | undefined {
  const hundredths = Math.floor(similarity * 100 + 1e-9) + 1
  return hundredths > 100 ? undefined : hundredths / 100
}

/** Dropped because it is similar enough. */
function ifHigher({ row, method, similarity = 1, against }: Decided): OtherOutcome[] {
  const least = above(similarity)
  const other = against === undefined ? '' : ` to ${JSON.stringify(against)}`
  const kept = (
    setting: string,
    also: NonNullable<OtherOutcome['also']>,
    why: string,
  ): OtherOutcome[] => [{ outcome: 'kept', setting, also, why }]
  if (method === 'near' && least !== undefined && similarity < 1) {
    const why = `Its similarity${other} is ${similarity.toFixed(3)}, which is too low then.`
    return kept(`--threshold ${least}`, 'higher', why)
  }
  if (method === 'containment' && row.cluster !== undefined && least !== undefined) {
    return kept(
      `--containment ${least}`,
      'higher',
      `${similarity.toFixed(3)} of it is in the other document, which is too little then.`,
    )
  }
  const bits = Math.round((1 - similarity) * 64)
  if (method === 'simhash' && bits > 0) {
    return kept(
      `simhash.distanceMax: ${bits - 1}`,
      'lower',
      `Its SimHash differs in ${bits} bits${other}.`,
    )
  }
  return []
}

/** By another rule, it would have been the better copy. */
function ifPreferred({ row, method, kept }: Decided, config: DedupeConfig): OtherOutcome[] {
  const { containment } = config
  const isCutting = containment.enabled && containment.action === 'cut'
  if (!kept || method === 'containment' || isCutting) return []
  const outcomes: OtherOutcome[] = []
  for (const [rule, why] of RULES) {
    const preferred = { ...config, keep: [rule], ...priorities(row) }
    if (config.keep[0] === rule) continue
    if (!isBetter(rankOf(row, preferred), rankOf(kept, preferred))) continue
    outcomes.push({ outcome: 'kept', setting: settingOf(rule, row, kept), why })
  }
  if (row.action === 'superseded' && config.keep[0] !== 'first') {
    outcomes.push({ outcome: 'kept', setting: '--keep first', why: 'It came first.' })
  }
  return outcomes
}

const RULES = [
  ['longest', 'Its text is longer than that of the kept copy.'],
  ['newest', 'It is newer than the kept copy.'],
  ['quality', 'Its quality is higher than that of the kept copy.'],
  ['source', 'Its source comes before that of the kept copy then.'],
  ['type', 'Its type comes before that of the kept copy then.'],
] as const satisfies readonly (readonly [KeepRule, string])[]

function priorities({ source, type }: DocumentRow) {
  return { sourcePriority: [source], typePriority: type === undefined ? [] : [type] }
}

function settingOf(rule: KeepRule, row: DocumentRow, kept: DocumentRow): string {
  if (rule === 'source') return `--keep source --source-priority ${row.source},${kept.source}`
  if (rule !== 'type') return `--keep ${rule}`
  return `--keep type --type-priority ${[row.type, kept.type].filter(Boolean).join(',')}`
}

/** Duplicates of a method may be kept and listed. */
function ifLinked({ method, row }: Decided): OtherOutcome[] {
  if (method === undefined || row.action === 'superseded') return []
  const setting = method === 'containment' ? '--containment-action link' : `${method}.action: link`
  return [{ outcome: 'kept', setting, why: 'It is listed as linked, and not left out.' }]
}

/** Kept although it is similar enough. */
function withoutGuards({ row, against }: Decided, config: DedupeConfig): OtherOutcome[] {
  const guards = [...new Set((row.vetoes ?? []).map(({ guard }) => guard))]
  const why = `Only guards (${guards.join(', ')}) keep it apart from ${JSON.stringify(against ?? '')}.`
  const [only] = guards
  const all: OtherOutcome = { outcome: 'dropped', setting: '--no-guards', why }
  const isNamed = guards.length === 1 && config.near.guards !== false
  const one: OtherOutcome = { outcome: 'dropped', setting: `near.guards.${only}: false`, why }
  return isNamed ? [all, one] : [all]
}

/** Kept because nothing is similar enough. */
function ifLower({ nearest }: Decided): OtherOutcome[] {
  if (!nearest) return []
  const { id, similarity, threshold, guards } = nearest
  const most = Math.floor(similarity * 100 + 1e-9) / 100
  const isApart = guards.length > 0
  const settings = [
    ...(similarity < threshold ? [`--threshold ${most}`] : []),
    ...(isApart ? ['--no-guards'] : []),
  ]
  if (settings.length === 0 || most <= 0) return []
  const differ = isApart ? `, and guards (${guards.join(', ')}) keep the two apart` : ''
  const why = `Its similarity to ${JSON.stringify(id)} is ${similarity.toFixed(3)}${differ}.`
  const also = similarity < threshold && !isApart && { also: 'lower' as const }
  return [{ outcome: 'duplicate', setting: settings.join(' '), ...also, why }]
}
