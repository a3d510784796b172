/**
 * Contents whose representative is gone: each is looked at again, linked to what it is like now, or made a
 * representative. Noted in the transaction that took the representative away, so a crash delays it at most until
 * the next collection.
 */

import {
  type Backend,
  cell,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import type { Orphan } from '../../match/index.ts'
import { EMPTY } from '../../platform/bytes.ts'
import { deltaBases, deltaIn, deltas, reverseKey } from '../contents/delta-rows.ts'
import { bytesOf } from '../contents/read-content.ts'
import { findKnown } from '../transactions/get.ts'
import { semanticPending } from '../semantic/rows.ts'
import type { Keeping } from '../transactions/release.ts'
import { rewriteDeltas } from './rewrite-deltas.ts'
import type { StoreNear } from './store-near.ts'

/** Returns how many were re-evaluated. */
export async function adoptOrphans(backend: Backend, keeping: Keeping): Promise<number> {
  let adopted = 0
  for await (const count of adoptingSlices(backend, keeping)) adopted += count
  return adopted
}

/** The same in slices, and how many each has re-evaluated. What is left goes on with the next call. */
export async function* adoptingSlices(backend: Backend, keeping: Keeping): AsyncGenerator<number> {
  const { semantic } = keeping
  let failure: { readonly error: unknown } | undefined
  try {
    yield* adoptNear(backend, keeping)
  } catch (error) {
    // What cannot be linked otherwise can still be kept otherwise.
    failure = { error }
  }
  // After them: what has found another representative is coded against that.
  for await (const _one of rewriteDeltas(backend, keeping)) yield 0
  if (failure) throw failure.error
  if (!semantic) return
  const { adoptMeanings } = await import('../semantic/adopt.ts')
  yield await adoptMeanings(backend, semantic)
}

async function* adoptNear(backend: Backend, keeping: Keeping): AsyncGenerator<number> {
  const { near } = keeping
  if (!near?.canCompare) return
  for await (const orphan of near.graph.orphans(backend)) {
    if (keeping.layout.deltas && (await backend.read(findUnlisted, orphan)))
      await backend.run(listDelta, orphan)
    yield (await adopt(backend, near, keeping, orphan)) ? 1 : 0
  }
}

/** Where the row is lost by which a base is kept for its delta, the link of the two is the last thing that says so. */
function* findUnlisted(_scope: ReadScope, { gone, id }: Orphan): Transaction<boolean> {
  const reverse = cell(deltaBases, reverseKey(gone, id))
  const [row, listed] = yield* read(cell(deltas, id), reverse)
  return listed === undefined && deltaIn(row)?.base.equals(gone) === true
}

function* listDelta(scope: Scope, orphan: Orphan): Transaction<void> {
  if (!(yield* findUnlisted(scope, orphan))) return
  scope.write(cell(deltaBases, reverseKey(orphan.gone, orphan.id)), EMPTY)
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
