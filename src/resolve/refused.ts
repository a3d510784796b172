/** What a text is similar to, but not the same as, and why. */

import type { Veto } from '../compare/index.ts'
import type { Hit, Probe } from '../match/index.ts'
import { type Payload, publicId } from './rows.ts'

/** A thing that a text is similar to, but not the same as. */
export interface RefusedThing {
  readonly id: string
  readonly similarity: number
  /** What differs. None: a judge finds it too unlikely. */
  readonly vetoes: readonly Veto[]
  /** That the two are the same, as a judge has it. */
  readonly probability?: number
}

/** The same with the id as it is in rows. */
export interface RefusedRow extends Omit<RefusedThing, 'id'> {
  readonly id: Buffer
}

export function refusedOf(
  hit: Hit<Probe<unknown, unknown>, Payload> | undefined,
): RefusedRow | undefined {
  if (!hit?.verdict) return undefined
  const { similarity, verdict, payload } = hit
  const { isSame: _isSame, ...why } = verdict
  return { id: payload.id, similarity, ...why }
}

export function shownRefused({ id, ...why }: RefusedRow): RefusedThing {
  return { id: publicId(id), ...why }
}
