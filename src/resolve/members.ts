/** Who belongs to an id, and what stands for it. */

import { asBuffer, type Bytes, concat, endOfPrefix } from '../bytes.ts'
import { type Backend, cell, read, type ReadScope, type Transaction } from '../backends/contract.ts'
import { readEvidence } from './resolve.ts'
import {
  decodePayload,
  members,
  type Payload,
  publicId,
  type Resolved,
  resolutions,
} from './rows.ts'
import { readVector, TextKind, type VectorKind } from './subject.ts'

export interface ClusterMember {
  /** Of the input that was resolved. */
  readonly id: string
  readonly isRepresentative: boolean
  /** To the representative. */
  readonly similarity: number
  /** When it was resolved first, in milliseconds since 1970. */
  readonly at: number
}

/** What is told of a representative. */
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

const MERGES_MAX = 8

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
  yield { id: publicId(standing.payload.id), isRepresentative: true, similarity: 1, at }
  const prefix = concat(tenant, row)
  const range = { start: prefix, end: endOfPrefix(prefix) }
  for await (const member of backend.scan(members, range)) {
    const input = member.key.subarray(prefix.byteLength)
    yield { id: publicId(input), isRepresentative: false, ...member.value }
  }
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
