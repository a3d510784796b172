/** Who belongs to an id, and what stands for it. */

import { asBuffer, type Bytes, concat, endOfPrefix, equalBytes } from '../platform/bytes.ts'
import { type Backend, cell, read, type ReadScope, type Transaction } from '../backends/index.ts'
import { readVector } from '../match/index.ts'
import { MERGES_MAX, readEvidence } from './resolve.ts'
import {
  aliases,
  members,
  oldIdOf,
  oldRowOf,
  type Payload,
  publicId,
  resolutions,
  type Resolved,
} from './rows.ts'
import { TextKind, type VectorKind } from './subject.ts'

export interface ClusterMember {
  /** Of the input that was resolved. */
  readonly id: string
  readonly isRepresentative: boolean
  /** To `representative`. */
  readonly similarity: number
  /** The id it was measured against: that of the cluster, or one that was merged into it. */
  readonly representative: string
  /** When it was resolved first, in milliseconds since 1970. */
  readonly at: number
}

/** What is reported about a representative. */
export interface RepresentativeInfo {
  readonly id: string
  readonly bornAt: number
  readonly expiresAt?: number
  /** In canonical form, where texts are kept. */
  readonly text?: string
  readonly vector?: Float64Array
}

interface LiveRepresentative {
  readonly resolved: Resolved
  readonly payload: Payload
}

type AnyKind = TextKind | VectorKind

/** The representative behind an id, old or new. */
function* liveRepresentativeOf(
  scope: ReadScope,
  kind: AnyKind,
  groupKey: Buffer,
  id: Buffer,
): Transaction<LiveRepresentative | undefined> {
  let wanted = id
  for (let merges = 0; merges <= MERGES_MAX; merges++) {
    const [resolved] = yield* read(cell(resolutions, concat(groupKey, wanted)))
    if (!resolved?.isRepresentative) return undefined
    const kept = yield* kind.matcher.read(resolved.partition, resolved.row)
    if (!kept) return undefined
    const { payload } = kept
    if (payload.expiresAt !== undefined && payload.expiresAt <= scope.now()) return undefined
    if (!payload.mergedInto) return { resolved, payload }
    wanted = Buffer.from(payload.mergedInto.id)
  }
  return undefined
}

export async function* membersOf(
  backend: Backend,
  kind: AnyKind,
  groupKey: Buffer,
  id: Buffer,
): AsyncGenerator<ClusterMember> {
  const liveRepresentative = await backend.read(liveRepresentativeOf, kind, groupKey, id)
  if (!liveRepresentative) return
  const { row, at } = liveRepresentative.resolved
  const own = publicId(liveRepresentative.payload.id)
  yield { id: own, isRepresentative: true, similarity: 1, at, representative: own }
  yield* belonging(backend, kind, groupKey, liveRepresentative.payload.id, row)
}

/** Members of one representative, and those of others that were merged into it. */
async function* belonging(
  backend: Backend,
  kind: AnyKind,
  groupKey: Buffer,
  id: Buffer,
  row: Buffer,
): AsyncGenerator<ClusterMember> {
  const representative = publicId(id)
  const prefix = concat(groupKey, row)
  for await (const { key, value } of backend.scan(members, prefixed(prefix))) {
    const input = publicId(key.subarray(prefix.byteLength))
    yield { id: input, isRepresentative: false, ...value, representative }
  }
  for await (const { key, value } of backend.scan(aliases, prefixed(concat(groupKey, id)))) {
    if (!equalBytes(value.into, row)) continue
    const old = { id: oldIdOf(key), row: oldRowOf(key) }
    const payload = await backend.read(payloadOf, kind, value.partition, old.row)
    if (!payload?.mergedInto) continue
    const { similarity } = payload.mergedInto
    const at = payload.bornAt
    yield { id: publicId(old.id), isRepresentative: false, similarity, at, representative }
    yield* belonging(backend, kind, groupKey, old.id, old.row)
  }
}

function prefixed(prefix: Bytes) {
  return { start: prefix, end: endOfPrefix(prefix) }
}

function* payloadOf(
  _scope: ReadScope,
  kind: AnyKind,
  partition: Bytes,
  row: Bytes,
): Transaction<Payload | undefined> {
  return (yield* kind.matcher.read(partition, row))?.payload
}

export async function representativeOf(
  backend: Backend,
  kind: AnyKind,
  groupKey: Buffer,
  id: Buffer,
): Promise<RepresentativeInfo | undefined> {
  const found = await backend.read(function* (
    scope: ReadScope,
  ): Transaction<(LiveRepresentative & { evidence: Bytes }) | undefined> {
    const liveRepresentative = yield* liveRepresentativeOf(scope, kind, groupKey, id)
    if (!liveRepresentative) return undefined
    const { partition, row } = liveRepresentative.resolved
    return {
      ...liveRepresentative,
      evidence: yield* readEvidence(partition, row, liveRepresentative.payload.parts),
    }
  })
  if (!found) return undefined
  const { bornAt, expiresAt } = found.payload
  const text = kind instanceof TextKind ? kind.textOf(found.evidence) : undefined
  const vector = kind instanceof TextKind ? undefined : readVector(asBuffer(found.evidence))
  return {
    id: publicId(found.payload.id),
    bornAt,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(text !== undefined && { text }),
    ...(vector && { vector }),
  }
}
