/** Who belongs to an id, and what stands for it. */

import { asBuffer, type Bytes, concat, endOfPrefix, equalBytes } from '../platform/bytes.ts'
import { type Backend, cell, read, type ReadScope, type Transaction } from '../backends/index.ts'
import { MERGES_MAX, readEvidence } from './resolve.ts'
import {
  aliases,
  decodePayload,
  members,
  oldIdOf,
  oldRowOf,
  type Payload,
  publicId,
  resolutions,
  type Resolved,
} from './rows.ts'
import { readVector, TextKind, type VectorKind } from './subject.ts'

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
export interface Told {
  readonly id: string
  readonly bornAt: number
  readonly expiresAt?: number
  /** In canonical form, where texts are kept. */
  readonly text?: string
  readonly vector?: Float64Array
}

interface Standing {
  readonly resolved: Resolved
  readonly payload: Payload
}

type AnyKind = TextKind | VectorKind

/** The representative behind an id, old or new. */
function* standingOf(
  scope: ReadScope,
  kind: AnyKind,
  tenant: Buffer,
  id: Buffer,
): Transaction<Standing | undefined> {
  let wanted = id
  for (let merges = 0; merges <= MERGES_MAX; merges++) {
    const [resolved] = yield* read(cell(resolutions, concat(tenant, wanted)))
    if (!resolved?.isRepresentative) return undefined
    const [row] = yield* read(kind.index.representative(resolved.shelf, resolved.row))
    if (!row) return undefined
    const payload = decodePayload(row.payload)
    if (payload.expiresAt !== undefined && payload.expiresAt <= scope.now()) return undefined
    if (!payload.mergedInto) return { resolved, payload }
    wanted = Buffer.from(payload.mergedInto.id)
  }
  return undefined
}

export async function* membersOf(
  backend: Backend,
  kind: AnyKind,
  tenant: Buffer,
  id: Buffer,
): AsyncGenerator<ClusterMember> {
  const standing = await backend.read(standingOf, kind, tenant, id)
  if (!standing) return
  const { row, at } = standing.resolved
  const own = publicId(standing.payload.id)
  yield { id: own, isRepresentative: true, similarity: 1, at, representative: own }
  yield* belonging(backend, kind, tenant, standing.payload.id, row)
}

/** Members of one representative, and those of others that were merged into it. */
async function* belonging(
  backend: Backend,
  kind: AnyKind,
  tenant: Buffer,
  id: Buffer,
  row: Buffer,
): AsyncGenerator<ClusterMember> {
  const representative = publicId(id)
  const prefix = concat(tenant, row)
  for await (const { key, value } of backend.scan(members, prefixed(prefix))) {
    const input = publicId(key.subarray(prefix.byteLength))
    yield { id: input, isRepresentative: false, ...value, representative }
  }
  for await (const { key, value } of backend.scan(aliases, prefixed(concat(tenant, id)))) {
    if (!equalBytes(value.into, row)) continue
    const old = { id: oldIdOf(key), row: oldRowOf(key) }
    const payload = await backend.read(payloadOf, kind, value.shelf, old.row)
    if (!payload?.mergedInto) continue
    const { similarity } = payload.mergedInto
    const at = payload.bornAt
    yield { id: publicId(old.id), isRepresentative: false, similarity, at, representative }
    yield* belonging(backend, kind, tenant, old.id, old.row)
  }
}

function prefixed(prefix: Bytes) {
  return { start: prefix, end: endOfPrefix(prefix) }
}

function* payloadOf(
  _scope: ReadScope,
  kind: AnyKind,
  shelf: Bytes,
  row: Bytes,
): Transaction<Payload | undefined> {
  const [found] = yield* read(kind.index.representative(shelf, row))
  return found && decodePayload(found.payload)
}

export async function representativeOf(
  backend: Backend,
  kind: AnyKind,
  tenant: Buffer,
  id: Buffer,
): Promise<Told | undefined> {
  const found = await backend.read(function* (
    scope: ReadScope,
  ): Transaction<(Standing & { evidence: Bytes }) | undefined> {
    const standing = yield* standingOf(scope, kind, tenant, id)
    if (!standing) return undefined
    const { shelf, row } = standing.resolved
    return { ...standing, evidence: yield* readEvidence(shelf, row, standing.payload.parts) }
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
