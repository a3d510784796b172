/**
 * Contents whose representative is gone: each is looked at again, linked to what it is like now, or made a
 * representative. Noted in the transaction that took the representative away, so a crash delays it at most until
 * the next collection.
 */

import { type Backend, cell, type Scope } from '../../backends/index.ts'
import type { Orphan } from '../../match/index.ts'
import { bytesOf } from '../contents/read-content.ts'
import { findKnown } from '../transactions/get.ts'
import { semanticPending } from '../semantic/rows.ts'
import type { Keeping } from '../transactions/release.ts'
import { rewriteDeltas } from './rewrite-deltas.ts'
import type { StoreNear } from './store-near.ts'

/** Returns how many were re-evaluated. */
export async function adoptOrphans(backend: Backend, keeping: Keeping): Promise<number> {
  const { semantic } = keeping
  const adopted = await adoptNear(backend, keeping)
  // After them: what has found another representative is coded against that.
  for await (const _one of rewriteDeltas(backend, keeping));
  if (!semantic) return adopted
  const { adoptMeanings } = await import('../semantic/adopt.ts')
  return adopted + (await adoptMeanings(backend, semantic))
}

async function adoptNear(backend: Backend, keeping: Keeping): Promise<number> {
  const { near } = keeping
  let adopted = 0
  if (!near?.canCompare) return adopted
  for await (const orphan of near.graph.orphans(backend)) {
    if (await adopt(backend, near, keeping, orphan)) adopted++
  }
  return adopted
}

async function adopt(
  backend: Backend,
  near: StoreNear,
  { layout, semantic }: Keeping,
  orphan: Orphan,
): Promise<boolean> {
  const { id, digest } = orphan
  const known = await backend.read(() => findKnown(orphan))
  // Swept meanwhile, and its link with it.
  if (!known) return false
  const bytes = await backend.read(() => bytesOf(known, layout))
  if (!bytes) return false
  const value = near.prepare(bytes)
  const probes = typeof value === 'string' ? { probes: [] } : value
  const content = { id, digest, bytes: known.bytes }
  const body = function* (scope: Scope) {
    const isAdopted = yield* near.adopt(scope, orphan.gone, content, probes)
    // What is like nothing any more may still mean the same as something.
    if (isAdopted && semantic) scope.write(cell(semanticPending, id), digest)
    return isAdopted
  }
  try {
    return await backend.run(body)
  } catch (error) {
    near.invalidate()
    throw error
  }
}
