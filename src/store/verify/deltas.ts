/**
 * Checks the rows about deltas: each delta has the row by which its base is kept for it, and each such row a delta; what is
 * held for deltas is there. Whether their bytes are right was found out with the contents.
 */

import { type Bytes, EMPTY, equalBytes } from '../../platform/bytes.ts'
import { cell, ID_BYTES, read, type Scope, type Transaction } from '../../backends/index.ts'
import { deltaIn, heldBytes, reverseKey } from '../contents/delta-rows.ts'
import { raw } from './raw.ts'
import { hex } from '../receipt.ts'
import type { Walk } from './walk.ts'

export async function walkDeltas(walk: Walk): Promise<void> {
  for await (const { key: id, value } of walk.scan(raw.deltas)) {
    const delta = deltaIn(value)
    if (!delta || id.byteLength !== ID_BYTES) continue
    if (!(await walk.look(raw.deltaBases, reverseKey(delta.base, id)))) {
      await examineDelta(walk, id, delta.base)
    }
  }
  for await (const { key } of walk.scan(raw.deltaBases)) {
    if (key.byteLength !== 2 * ID_BYTES) {
      await walk.foundUnaccounted(raw.deltaBases, key, 'does not name two contents.')
      continue
    }
    const row = await walk.look(raw.deltas, key.subarray(ID_BYTES))
    if (isOf(row, key)) continue
    await walk.foundWrong(raw.deltaBases, key, 'names a delta that is none.', () => isLeft(key))
  }
  for await (const { key, value } of walk.scan(raw.heldBases)) {
    if (key.byteLength !== ID_BYTES || heldBytes(value) === undefined)
      await walk.foundUnaccounted(raw.heldBases, key, 'is not the note of a content.')
  }
}

function isOf(row: Bytes | undefined, key: Buffer): boolean {
  const delta = deltaIn(row)
  return delta !== undefined && equalBytes(delta.base, key.subarray(0, ID_BYTES))
}

function* isLeft(key: Buffer): Transaction<boolean> {
  const cells = [cell(raw.deltaBases, key), cell(raw.deltas, key.subarray(ID_BYTES))] as const
  const [own, row] = yield* read(...cells)
  return own !== undefined && !isOf(row, key)
}

async function examineDelta(walk: Walk, id: Buffer, base: Buffer): Promise<void> {
  if (!(await walk.backend.read(() => isUnnamed(id, base)))) return
  const message = `Content ${hex(id)} is kept as a delta of ${hex(base)}, and nothing keeps that for it.`
  const repair = function* (scope: Scope): Transaction<boolean> {
    const isStill = yield* isUnnamed(id, base)
    if (isStill) scope.write(cell(raw.deltaBases, reverseKey(base, id)), EMPTY)
    return true
  }
  await walk.found('delta-unlisted', message, await walk.keysOf(id), () => walk.backend.run(repair))
}

function* isUnnamed(id: Buffer, base: Buffer): Transaction<boolean> {
  const reverse = reverseKey(base, id)
  const [row, own] = yield* read(cell(raw.deltas, id), cell(raw.deltaBases, reverse))
  return own === undefined && isOf(row, reverse)
}
