/**
 * Large values: written in parts under their fresh id before the transaction that makes them visible.
 * Until then, and after a crash for ever, nobody can see them; the collector takes abandoned ones away.
 */

import { type Backend, cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { removeParts } from '../collect.ts'
import type { Prepared } from './put.ts'
import { contents, partCount, partKey, staged } from '../rows.ts'

/** Writes the parts of a value, and returns it ready to be made visible. */
export async function stage(
  backend: Backend,
  prepared: Prepared,
): Promise<Prepared & { staged: Buffer }> {
  const { value, partBytes } = prepared
  const parts = partCount(value.byteLength, partBytes)
  const id = await backend.run(announce, parts)
  try {
    for (let part = 0; part < parts; part++) {
      const bytes = value.subarray(part * partBytes, (part + 1) * partBytes)
      await backend.run(keepPart, { id, part, bytes })
    }
  } catch (error) {
    // What cannot be taken back now (the disk may be full) is left to the collector; the first error counts.
    await removeParts(backend, id).catch(() => 0)
    throw error
  }
  return { ...prepared, staged: id }
}

function* announce(scope: Scope, parts: number): Transaction<Buffer> {
  const id = scope.id()
  scope.write(cell(staged, id), { parts, buried: false })
  return id
}

function* keepPart(
  scope: Scope,
  { id, part, bytes }: { id: Buffer; part: number; bytes: Buffer },
): Transaction<void> {
  yield* requireStaged(id)
  scope.write(cell(contents, partKey(id, part)), bytes)
}

/** Buried parts are being removed: nothing may be added to them, and they can never become visible. */
export function* requireStaged(id: Buffer): Transaction<void> {
  const [row] = yield* read(cell(staged, id))
  if (row && !row.buried) return
  throw new PrestigeError(
    'BACKEND_UNAVAILABLE',
    'The parts of this value were swept before the put could end: it took longer than the staging lease. Put it again.',
  )
}
