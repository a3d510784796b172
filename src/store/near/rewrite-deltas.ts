/**
 * Contents that are coded against one that is gone: each is coded against what it is linked to by now, or kept in a row
 * of its own. When none is left, the row of the base goes.
 *
 * It may be cut off at any point, and any number of processes may run it at once: a base goes after the last delta, and
 * a delta is replaced in the transaction that finds it as it was.
 */

import { type Bytes, endOfPrefix, equalBytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import {
  type Backend,
  cell,
  ID_BYTES,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import {
  deltaBases,
  DeltaCoding,
  deltaIn,
  deltas,
  heldBases,
  heldBytes,
  reverseKey,
} from '../contents/delta-rows.ts'
import { codedAgainst, decoded, dropDelta, keepDelta } from '../contents/deltas.ts'
import { type Layout, PackedValue, roomFor } from '../contents/layout.ts'
import { contents, digests } from '../rows.ts'
import { countStored } from '../tallies.ts'
import type { Keeping } from '../transactions/release.ts'
import { nearLinks } from './rows.ts'

/** Yields after every content, and every base, that it has looked at. */
export async function* rewriteDeltas(
  backend: Backend,
  { layout }: Pick<Keeping, 'layout'>,
): AsyncGenerator<void> {
  if (!layout.deltas) return
  for await (const { key: base } of backend.scan(heldBases)) {
    let isFree = true
    const range = { start: base, end: endOfPrefix(base) }
    for await (const { key } of backend.scan(deltaBases, range)) {
      const isDone = await rewrite(backend, layout, base, key.subarray(ID_BYTES))
      isFree &&= isDone
      yield
    }
    if (isFree) await backend.run(freeBase, base, layout)
    yield
  }
}

/** Whether the content needs the base no more. What cannot be read is left to a verification. */
async function rewrite(
  backend: Backend,
  layout: Layout,
  base: Buffer,
  id: Buffer,
): Promise<boolean> {
  const found = await findTolerantly(backend, { base, id, layout })
  if (!found) return backend.run(dropReverse, base, id)
  const { row, value, target } = found
  if (!value) return false
  const room = roomFor(value.byteLength)
  room.set(value)
  const packed = new PackedValue(layout, room)
  const coding = new DeltaCoding(room, () => packed.row())
  const delta = target && (await backend.read(() => codedAgainst(coding, target, layout)))
  const whole = delta ? undefined : packed.row()
  return backend.run(replaceDelta, { id, row, layout, target, delta, whole })
}

/** What a content may be coded against. */
interface Target {
  readonly id: Buffer
  readonly digest: Buffer
  readonly bytes: number
}

interface Coded {
  /** The row of the delta. */
  readonly row: Bytes
  /** Absent: it cannot be read. */
  readonly value: Buffer | undefined
  readonly target: Target | undefined
}

interface Pair {
  readonly base: Buffer
  readonly id: Buffer
  readonly layout: Layout
}

/** A content whose link cannot be read gets a row of its own. */
async function findTolerantly(backend: Backend, pair: Pair): Promise<Coded | undefined> {
  try {
    return await backend.read(findCoded, pair, findTarget)
  } catch (error) {
    if (!(error instanceof PrestigeError) || error.kind !== 'corrupt') throw error
    return backend.read(findCoded, pair)
  }
}

/** Nothing where the content is gone, or not coded against this base any more. */
function* findCoded(
  _scope: ReadScope,
  pair: Pair,
  targetOf?: (pair: Pair) => Transaction<Target | undefined>,
): Transaction<Coded | undefined> {
  const { base, id, layout } = pair
  const [row] = yield* read(cell(deltas, id))
  const delta = deltaIn(row)
  if (!row || (delta && !equalBytes(delta.base, base))) return undefined
  const value = delta && (yield* decoded(delta, layout))
  return { row, value, target: targetOf && (yield* targetOf(pair)) }
}

function* findTarget({ base, id }: Pair): Transaction<Target | undefined> {
  const [link] = yield* read(cell(nearLinks.links, id))
  if (!link?.to || equalBytes(link.to.id, base)) return undefined
  const { id: to, digest } = link.to
  const [known] = yield* read(cell(digests, digest))
  const isThere = known && equalBytes(known.id, to)
  return isThere ? { id: to, digest, bytes: known.bytes } : undefined
}

function* dropReverse(scope: Scope, base: Buffer, id: Buffer): Transaction<boolean> {
  const [row] = yield* read(cell(deltas, id))
  const delta = deltaIn(row)
  if (row && (!delta || equalBytes(delta.base, base))) return false
  scope.remove(cell(deltaBases, reverseKey(base, id)))
  return true
}

interface Replacement {
  readonly id: Buffer
  readonly row: Bytes
  readonly layout: Layout
  readonly target: Target | undefined
  readonly delta: Buffer | undefined
  readonly whole: Buffer | undefined
}

/** Whoever sweeps the new base changes the row of its digest, which is read here: one of the two is run again. */
function* replaceDelta(
  scope: Scope,
  { id, row, layout, target, delta, whole }: Replacement,
): Transaction<boolean> {
  const [now] = yield* read(cell(deltas, id))
  const old = deltaIn(now)
  if (!now || !old || !equalBytes(now, row)) return false
  const { bytes } = old
  if (delta && target) {
    const [known] = yield* read(cell(digests, target.digest))
    if (!known || !equalBytes(known.id, target.id)) return false
  }
  yield* dropDelta(scope, { id, bytes }, layout)
  if (delta) keepDelta(scope, { id, bytes }, delta)
  else if (whole) {
    scope.write(cell(contents, id), whole)
    countStored(scope, { compressedBytes: layout.savedBy(whole, bytes) })
  }
  return true
}

/**
 * Nothing can be coded against it since its note was written, so what a scan did not find is not there. Unless rows are
 * lost: those linked to it are looked at before they are linked to something else (adopt.ts), and it stays for them.
 */
function* freeBase(scope: Scope, base: Buffer, layout: Layout): Transaction<void> {
  const cells = [cell(heldBases, base), cell(contents, base)] as const
  const [note, row, orphaned] = yield* read(...cells, cell(nearLinks.orphaned, base))
  if (!note || orphaned) return
  scope.remove(cell(heldBases, base))
  scope.remove(cell(contents, base))
  const bytes = heldBytes(note) ?? 0
  countStored(scope, { compressedBytes: bytes - layout.savedBy(row, bytes) })
}
