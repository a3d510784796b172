/** The transactions that forget: a cluster, a member of one, and the members of one that is gone. */

import { concat, equalBytes } from '../platform/bytes.ts'
import { cell, type Cell, read, type Scope, type Transaction } from '../backends/index.ts'
import type { NearIndex, Representative } from '../match/index.ts'
import { count } from './resolve.ts'
import {
  aliases,
  aliasKey,
  decodePayload,
  evidenceKey,
  evidences,
  expiries,
  expiryKey,
  leftovers,
  memberKey,
  members,
  type Payload,
  resolutions,
} from './rows.ts'

export interface Place {
  readonly kind: 'text' | 'vector'
  readonly tenant: Buffer
  readonly shelf: Buffer
  readonly row: Buffer
}

/**
 * Removes a cluster, and returns its public id. Its members are resolved again when they next come; a note
 * says that rows of them may be left.
 */
export function* forgetCluster<S>(
  scope: Scope,
  index: NearIndex<S>,
  { kind, tenant, shelf, row }: Place,
  isDue: (payload: Payload) => boolean,
): Transaction<Buffer | undefined> {
  const place: Cell<Representative> = index.representative(shelf, row)
  const [representative] = yield* read(place)
  if (!representative) return undefined
  const payload = decodePayload(representative.payload)
  if (!isDue(payload)) return undefined
  yield* index.remove(scope, shelf, row)
  for (let part = 0; part < payload.parts; part++) {
    scope.remove(cell(evidences, evidenceKey(shelf, row, part)))
  }
  if (payload.expiresAt !== undefined) {
    scope.remove(cell(expiries, expiryKey(payload.expiresAt, shelf, row)))
  }
  const own = cell(resolutions, concat(tenant, payload.id))
  const [resolved] = yield* read(own)
  // It may have been resolved again since, when this one had expired.
  if (resolved?.isRepresentative && equalBytes(resolved.row, row)) scope.remove(own)
  scope.write(cell(leftovers, concat(shelf, row)), { tenant, id: payload.id, kind })
  if (payload.mergedInto) {
    scope.remove(cell(aliases, aliasKey(tenant, payload.mergedInto.id, payload.id, row)))
    count(scope, tenant, 'merged', -1)
  } else {
    count(scope, tenant, 'clusters', -1)
  }
  return payload.id
}

/** Nothing of a cluster that is gone is left. */
// oxlint-disable-next-line require-yield -- a body that reads nothing is one too
export function* endLeftover(scope: Scope, { shelf, row }: Place): Transaction<void> {
  scope.remove(cell(leftovers, concat(shelf, row)))
}

/** Takes one input away that is no representative. */
export function* forgetMember(scope: Scope, tenant: Buffer, id: Buffer): Transaction<boolean> {
  const place = cell(resolutions, concat(tenant, id))
  const [resolved] = yield* read(place)
  if (!resolved || resolved.isRepresentative) return false
  scope.remove(place)
  scope.remove(cell(members, memberKey(tenant, resolved.row, id)))
  count(scope, tenant, 'members', -1)
  return true
}

/** Takes members of a cluster away that is gone. */
export function* forgetMembers(
  scope: Scope,
  tenant: Buffer,
  row: Buffer,
  ids: readonly Buffer[],
): Transaction<void> {
  const places = ids.map((id) => cell(resolutions, concat(tenant, id)))
  const found = yield* read(...places)
  const rows = yield* read(...ids.map((id) => cell(members, memberKey(tenant, row, id))))
  for (const [at, id] of ids.entries()) {
    if (rows[at] === undefined) continue
    const place = places[at]
    const resolved = found[at]
    // It may have found another cluster since.
    if (place && resolved && equalBytes(resolved.row, row)) scope.remove(place)
    scope.remove(cell(members, memberKey(tenant, row, id)))
    count(scope, tenant, 'members', -1)
  }
}
