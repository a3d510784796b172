/** The transaction behind `transaction`: several puts and deletes, all of them or none. */

import type { Bytes } from '../../platform/bytes.ts'
import { cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import { entries } from '../rows.ts'
import { type Condition, requireMet } from './condition.ts'
import { isEnd, type Prepared, type PutEnd, type PutPrerequisite, putValue } from './put.ts'
import { type Removal, type RemoveEnd, removeKey } from './remove.ts'

/** No two steps have one key. */
export type Step =
  | { readonly kind: 'put'; readonly put: Prepared }
  | { readonly kind: 'remove'; readonly removal: Removal }
  | { readonly kind: 'check'; readonly key: Bytes; readonly condition: Condition }

/** For every step, in their order; of a check, whether the key is there. */
export interface SeveralEnd {
  readonly ends: readonly (PutEnd | RemoveEnd | boolean)[]
}

/**
 * What has to be done before the transaction can end. It is thrown: what other steps have written by then must not be
 * applied.
 */
export class Needed extends Error {
  readonly at: number
  readonly prerequisite: PutPrerequisite

  constructor(at: number, prerequisite: PutPrerequisite) {
    super('A step of the transaction has a prerequisite.')
    this.at = at
    this.prerequisite = prerequisite
  }
}

/** Conditions first, before anything is written; then puts, so that what deletes leave can be shared. */
export function* runSeveral(scope: Scope, steps: readonly Step[]): Transaction<SeveralEnd> {
  const found = yield* read(...steps.map((step) => cell(entries, keyOf(step))))
  const now = scope.now()
  const ends: (PutEnd | RemoveEnd | boolean)[] = steps.map((step, at) => {
    const condition = conditionOf(step)
    if (condition !== undefined) requireMet(condition, keyOf(step), found[at], now)
    return found[at]?.isLive(now) ?? false
  })
  for (const [at, step] of steps.entries()) {
    if (step.kind !== 'put') continue
    const end = yield* putValue(scope, step.put)
    if (!isEnd(end)) throw new Needed(at, end)
    ends[at] = end
  }
  for (const [at, step] of steps.entries()) {
    if (step.kind === 'remove') ends[at] = yield* removeKey(scope, step.removal)
  }
  return { ends }
}

export function keyOf(step: Step): Bytes {
  if (step.kind === 'put') return step.put.key
  return step.kind === 'remove' ? step.removal.key : step.key
}

function conditionOf(step: Step): Condition | undefined {
  if (step.kind === 'put') return step.put.condition
  return step.kind === 'remove' ? step.removal.condition : step.condition
}
