/**
 * Long values: written under their fresh id before the transaction that makes them visible. Until then, and after a
 * crash for ever, nobody can see them; the collector takes abandoned ones away.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'

import { type Backend, cell, type Scope, type Transaction } from '../../backends/index.ts'
import { chunkEnds } from '../../fingerprint/index.ts'
import { removeParts } from '../collect.ts'
import { chunkOf, requireStaged, Stager } from '../contents/stage-content.ts'
import { rowOf } from '../contents/layout.ts'
import type { Prepared } from './put.ts'
import { contents, partCount, partKey, staged } from '../rows.ts'

/** Cut at a time; a chunk that reaches the end of a window may go on behind it, and is cut again. */
const WINDOW_BYTES = 32 * 1024 * 1024

/** Writes a value, and returns it ready to be made visible. */
export async function stage(
  backend: Backend,
  prepared: Prepared,
): Promise<Prepared & { staged: Buffer }> {
  const { layout, bytes } = prepared
  if (!layout.chunks) return stageParts(backend, prepared)
  return layout.isLong(bytes) ? stageChunks(backend, prepared) : stageRow(backend, prepared)
}

/** Of several values that are too much for one transaction, each by itself. */
async function stageRow(
  backend: Backend,
  prepared: Prepared,
): Promise<Prepared & { staged: Buffer }> {
  const id = await backend.run(announce, 1)
  await withStaged(backend, id, () =>
    backend.run(keepPart, { id, part: 0, bytes: rowOf(prepared) }),
  )
  return { ...prepared, staged: id }
}

async function stageChunks(
  backend: Backend,
  prepared: Prepared,
): Promise<Prepared & { staged: Buffer }> {
  const { value, layout, check } = prepared
  const stager = await Stager.begin(backend, layout, check !== undefined)
  await withStaged(backend, stager.id, async () => {
    let start = 0
    while (start < value.byteLength) {
      const window = value.subarray(start, start + WINDOW_BYTES)
      const ends = chunkEnds(window, { averageBytes: layout.chunks?.averageBytes })
      const isLast = start + window.byteLength === value.byteLength
      let from = 0
      for (const end of isLast ? ends : ends.slice(0, -1)) {
        const full = stager.add(chunkOf(window.subarray(from, end)))
        if (full) await full
        from = end
      }
      start += from
      await nextTurn()
    }
    await stager.flush()
  })
  return { ...prepared, staged: stager.id, sharedBytes: stager.sharedBytes }
}

async function stageParts(
  backend: Backend,
  prepared: Prepared,
): Promise<Prepared & { staged: Buffer }> {
  const { value, layout } = prepared
  const { rowBytes } = layout
  const parts = partCount(value.byteLength, rowBytes)
  const id = await backend.run(announce, parts)
  await withStaged(backend, id, async () => {
    for (let part = 0; part < parts; part++) {
      const bytes = value.subarray(part * rowBytes, (part + 1) * rowBytes)
      await backend.run(keepPart, { id, part, bytes })
    }
  })
  return { ...prepared, staged: id }
}

/** What was staged is taken back where the work fails. */
export async function withStaged<T>(
  backend: Backend,
  id: Buffer,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    // What cannot be taken back now (the disk may be full) is left to the collector; the first error counts.
    await removeParts(backend, id).catch(() => 0)
    throw error
  }
}

// oxlint-disable-next-line require-yield -- a body that reads nothing is one too
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
