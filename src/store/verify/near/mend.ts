/** Re-evaluating one content: its rows are taken out of links and index, and put as a put would. */

import { type Bytes, EMPTY, equalBytes } from '../../../platform/bytes.ts'
import { cell, read, type Scope, type Transaction } from '../../../backends/index.ts'
import { LINKS, type NearContent, type NearValue, type StoreNear } from '../../near/store-near.ts'
import { linked, linkedKey, orphaned } from '../../near/rows.ts'
import { isBucket, linkOf, rawNear, representativeOf } from './raw.ts'
import type { Walk } from '../walk.ts'

/** A content, and what its bytes are compared by; `undefined` where that cannot be determined. */
export interface Subject extends NearContent {
  readonly value: NearValue | undefined
}

/** In two steps: a content that is cut off between them is one without a link, which is found again. */
export async function decideAnew(walk: Walk, near: StoreNear, subject: Subject): Promise<boolean> {
  const { value } = subject
  if (!value) return false // Nothing can be compared without the function.
  for (const look of value.looks) {
    if (!walk.backend.serial) await walk.backend.run(clearBuckets, near, look)
  }
  await walk.backend.run(takeOut, near, subject.id, value)
  const body = (scope: Scope) => near.decide(scope, subject, value)
  await walk.backend.run(body)
  return true
}

/** A bucket that cannot be read names nobody: its representatives are found to be missing from it. */
function* clearBuckets(
  scope: Scope,
  near: StoreNear,
  look: NearValue['looks'][number],
): Transaction<void> {
  const places = near.index
    .bucketsOf(look.group, look.signature)
    .map(({ key }) => cell(rawNear.buckets, key))
  const found = yield* read(...places)
  for (const [at, place] of places.entries()) {
    const bytes: Bytes | undefined = found[at]
    if (bytes && !isBucket(bytes)) scope.remove(place)
  }
}

/** Takes a content out of links and index. Those linked to it are noted to be re-evaluated. */
export function* takeOut(
  scope: Scope,
  near: StoreNear,
  id: Buffer,
  value: NearValue,
): Transaction<boolean> {
  const [bytes] = yield* read(cell(rawNear.links, id))
  const link = linkOf(bytes)
  if (bytes) scope.remove(cell(rawNear.links, id))
  if (link?.to) {
    scope.remove(cell(linked, linkedKey(link.to.id, id)))
    scope.add(LINKS, -1)
    return true
  }
  const groups = [...(link ? [link.group] : []), ...value.looks.map(({ group }) => group)]
  for (const [at, group] of groups.entries()) {
    if (groups.findIndex((one) => equalBytes(one, group)) < at) continue
    const place = cell(rawNear.representatives, Buffer.concat([group, id]))
    const [row] = yield* read(place)
    if (row && !representativeOf(row)) scope.remove(place)
    else if (row) yield* near.index.remove(scope, Buffer.from(group), id)
  }
  scope.write(cell(orphaned, id), EMPTY)
  return true
}
