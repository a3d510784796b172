/** The transactions that forget: a cluster, a member of one, and the members of one that is gone. */

import { concat, equalBytes } from '../bytes.ts'
import { type Cell, cell, read, type Scope, type Transaction } from '../backends/contract.ts'
import type { NearIndex } from '../near/index.ts'
import type { Representative } from '../near/rows.ts'
import { count } from './resolve.ts'
import {
  aliases,
  decodePayload,
  evidenceKey,
  evidences,
  expiries,
  expiryKey,
  memberKey,
  members,
  type Payload,
  resolutions,
} from './rows.ts'

/** Takes a cluster away. Its members are resolved anew when they come again. */
export function* forgetCluster<S>(
  scope: Scope,
  index: NearIndex<S>,
  tenant: Buffer,
  { shelf, row }: { readonly shelf: Buffer; readonly row: Buffer },
  isDue: (payload: Payload) => boolean,
): Transaction<boolean> {
  const place: Cell<Representative> = index.representative(shelf, row)
  const [representative] = yield* read(place)
  if (!representative) return false
  const payload = decodePayload(representative.payload)
  if (!isDue(payload)) return false
  yield* index.remove(scope, shelf, row)
  for (let part = 0; part < payload.parts; part++) {
    scope.remove(cell(evidences, evidenceKey(shelf, row, part)))
  }
  if (payload.expiresAt !== undefined) {
    scope.remove(cell(expiries, expiryKey(payload.expiresAt, shelf, row)))
  }
  const own = cell(resolutions, concat(tenant, payload.id))
  const [resolved] = yield* read(own)
  if (resolved && equalBytes(resolved.row, row)) scope.remove(own)
  if (payload.mergedInto) {
    scope.remove(cell(aliases, Buffer.concat([tenant, payload.mergedInto.id, payload.id])))
    count(scope, tenant, 'merged', -1)
  } else {
    count(scope, tenant, 'clusters', -1)
  }
  return true
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
