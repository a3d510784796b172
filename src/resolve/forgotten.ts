/** The transactions that forget: a cluster, a member of one, and the members of one that is gone. */

import { concat, equalBytes } from '../platform/bytes.ts'
import { cell, read, type Scope, type Transaction } from '../backends/index.ts'
import type { Probe } from '../match/index.ts'
import { count } from './resolve.ts'
import {
  aliases,
  aliasKey,
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
import type { Kind } from './subject.ts'

export interface Place {
  readonly kind: 'text' | 'vector'
  readonly groupKey: Buffer
  readonly partition: Buffer
  readonly row: Buffer
}

/**
 * Removes a cluster, and returns its public id. Its members are resolved again when they next come; a note
 * says that rows of them may be left.
 */
export function* forgetCluster<P extends Probe<unknown, unknown>>(
  scope: Scope,
  { matcher, containment }: Kind<P>,
  { kind, groupKey, partition, row }: Place,
  isDue: (payload: Payload) => boolean,
): Transaction<Buffer | undefined> {
  const kept = yield* matcher.read(partition, row)
  if (!kept || !isDue(kept.payload)) return undefined
  const { payload } = kept
  yield* matcher.index.remove(scope, partition, row)
  if (payload.isContainable && containment) yield* containment.remove(scope, groupKey, row)
  for (let part = 0; part < payload.parts; part++) {
    scope.remove(cell(evidences, evidenceKey(partition, row, part)))
  }
  if (payload.expiresAt !== undefined) {
    scope.remove(cell(expiries, expiryKey(payload.expiresAt, partition, row)))
  }
  const own = cell(resolutions, concat(groupKey, payload.id))
  const [resolved] = yield* read(own)
  // It may have been resolved again since, when this one had expired.
  if (resolved?.isRepresentative && equalBytes(resolved.row, row)) scope.remove(own)
  scope.write(cell(leftovers, concat(partition, row)), { groupKey, id: payload.id, kind })
  if (payload.mergedInto) {
    scope.remove(cell(aliases, aliasKey(groupKey, payload.mergedInto.id, payload.id, row)))
    count(scope, groupKey, 'merged', -1)
  } else {
    count(scope, groupKey, 'clusters', -1)
  }
  return payload.id
}

/** Nothing of a cluster that is gone is left. */
// oxlint-disable-next-line require-yield -- a body that reads nothing is one too
export function* endLeftover(scope: Scope, { partition, row }: Place): Transaction<void> {
  scope.remove(cell(leftovers, concat(partition, row)))
}

/** Takes one input away that is no representative. */
export function* forgetMember(scope: Scope, groupKey: Buffer, id: Buffer): Transaction<boolean> {
  const place = cell(resolutions, concat(groupKey, id))
  const [resolved] = yield* read(place)
  if (!resolved || resolved.isRepresentative) return false
  scope.remove(place)
  scope.remove(cell(members, memberKey(groupKey, resolved.row, id)))
  count(scope, groupKey, 'members', -1)
  return true
}

/** Takes members of a cluster away that is gone. */
export function* forgetMembers(
  scope: Scope,
  groupKey: Buffer,
  row: Buffer,
  ids: readonly Buffer[],
): Transaction<void> {
  const places = ids.map((id) => cell(resolutions, concat(groupKey, id)))
  const found = yield* read(...places)
  const rows = yield* read(...ids.map((id) => cell(members, memberKey(groupKey, row, id))))
  for (const [at, id] of ids.entries()) {
    if (rows[at] === undefined) continue
    const place = places[at]
    const resolved = found[at]
    // It may have found another cluster since.
    if (place && resolved && equalBytes(resolved.row, row)) scope.remove(place)
    scope.remove(cell(members, memberKey(groupKey, row, id)))
    count(scope, groupKey, 'members', -1)
  }
}
