/** What a text is similar to, but not the same as, and why. */

import type { Veto } from '../compare/index.ts'
import type { Hit, Probe } from '../match/index.ts'
import { type Payload, publicId } from './rows.ts'

/** A thing that a text is similar to, but not the same as. */
export interface RefusedThing {
  readonly id: string
  readonly similarity: number
  /** What differs. */
  readonly vetoes: readonly Veto[]
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
  return { id: payload.id, similarity, vetoes: verdict.vetoes }
}

export function shownRefused({ id, ...why }: RefusedRow): RefusedThing {
  return { id: publicId(id), ...why }
}
