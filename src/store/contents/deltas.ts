/**
 * Deltas inside transactions: how one is read, kept and removed, and how its base is kept for it.
 *
 * Why a base is never missing: a delta is written by a transaction that relies on a row that goes when the base does.
 * When a content is swept and something may be coded against it, its row in `contents` stays, and a note says so. From
 * then on nothing new can be coded against it; the collector (near/rewrite-deltas.ts) writes those that are otherwise,
 * and removes row and note when there are none.
 *
 * Why none is more than one step deep: only what has a row in `contents` is a base, and such a row never becomes a delta.
 */

import { asBuffer, type Bytes, EMPTY, equalBytes } from '../../platform/bytes.ts'
import { cell, first, glance, read, type Scope, type Transaction } from '../../backends/index.ts'
import { digestOf } from '../../fingerprint/index.ts'
import { nearLinks } from '../near/rows.ts'
import { contents } from '../rows.ts'
import { countStored } from '../tallies.ts'
import { COMPRESSED_BYTES_MIN } from './compression.ts'
import {
  type Delta,
  deltaBases,
  type DeltaCoding,
  deltaIn,
  deltas,
  heldBases,
  heldRow,
  readableDelta,
  reverseKey,
} from './delta-rows.ts'
import type { Layout } from './layout.ts'

interface Place {
  readonly id: Bytes
  readonly bytes: number
}

/** The bytes of a content that is kept in one row, or as a delta; nothing where they cannot be read. */
export function* shortBytes({ id, bytes }: Place, layout: Layout): Transaction<Buffer | undefined> {
  const [row] = yield* read(cell(contents, id))
  const isDelta = row === undefined && layout.mayBeDelta(bytes)
  const value = isDelta ? yield* deltaBytes(id, layout) : layout.readable(row)
  return value?.byteLength === bytes ? asBuffer(value) : undefined
}

function* deltaBytes(id: Bytes, layout: Layout): Transaction<Buffer | undefined> {
  const [row] = yield* read(cell(deltas, id))
  const delta = deltaIn(row)
  return delta && (yield* decoded(delta, layout))
}

export function* decoded(delta: Delta, layout: Layout): Transaction<Buffer | undefined> {
  const [row] = yield* read(cell(contents, delta.base))
  const base = layout.readable(row)
  return base && readableDelta(delta, base)
}

/** The row of a value as a delta of this content; nothing where that cannot be its base, or where it does not pay. */
export function* codedAgainst(
  coding: DeltaCoding | undefined,
  base: Place & { readonly id: Buffer; readonly digest: Bytes },
  layout: Layout,
): Transaction<Buffer | undefined> {
  if (!coding || !layout.mayBeDelta(base.bytes)) return undefined
  const [row] = yield* glance(cell(contents, base.id))
  const value = layout.readable(row)
  if (value?.byteLength !== base.bytes) return undefined
  // What is damaged must not spread.
  if (!coding.isReady(base.id) && !equalBytes(digestOf(value), base.digest)) return undefined
  return coding.against(base.id, value)
}

export function keepDelta(scope: Scope, { id, bytes }: Place, row: Buffer): void {
  const delta = deltaIn(row)
  if (!delta) return
  scope.write(cell(deltas, id), row)
  scope.write(cell(deltaBases, reverseKey(delta.base, id)), EMPTY)
  countStored(scope, { compressedBytes: bytes - row.byteLength })
}

/** A content that is kept in another way from now on, or not at all. Whether it was a delta. */
export function* dropDelta(
  scope: Scope,
  { id, bytes }: Place,
  layout: Layout,
): Transaction<boolean> {
  if (!layout.mayBeDelta(bytes)) return false
  const [row] = yield* read(cell(deltas, id))
  if (!row) return false
  scope.remove(cell(deltas, id))
  const delta = deltaIn(row)
  if (delta) scope.remove(cell(deltaBases, reverseKey(delta.base, id)))
  countStored(scope, { compressedBytes: row.byteLength - bytes })
  return true
}

/** Removes what a content in one row is kept in, unless others are coded against it. */
export function* dropShort(scope: Scope, place: Place, layout: Layout): Transaction<void> {
  const { id, bytes } = place
  const mayBeBase = layout.mayBeDelta(bytes)
  if (mayBeBase && (yield* dropDelta(scope, place, layout))) return
  // Elsewhere than on serial engines nobody can say in a transaction that there is none.
  if (mayBeBase && (!scope.serial || (yield* hasDeltas(id)))) {
    holdBase(scope, place)
    return
  }
  if (bytes >= COMPRESSED_BYTES_MIN) {
    const [row] = yield* glance(cell(contents, id))
    countStored(scope, { compressedBytes: -layout.savedBy(row, bytes) })
  }
  scope.remove(cell(contents, id))
}

/** What is linked to it counts: of a delta, the row in `delta.bases` may be lost. The collector looks closer. */
function* hasDeltas(id: Bytes): Transaction<boolean> {
  if ((yield* first(deltaBases, id)) !== undefined) return true
  return (yield* first(nearLinks.linked, id)) !== undefined
}

/** The content is gone, and its row stays: that takes bytes, and none are counted for a content. */
export function holdBase(scope: Scope, { id, bytes }: Place): void {
  scope.write(cell(heldBases, id), heldRow(bytes))
  countStored(scope, { compressedBytes: -bytes })
}
