/**
 * How clusters end. A document leaves its cluster: what it had superseded is the survivor again. A centre gets another
 * text: the cluster is no more, and its members are re-evaluated when they are met again.
 */

import { concat, equalBytes } from '../../platform/bytes.ts'
import { type Backend, cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import { putDocument } from '../../ledger/index.ts'
import type { Named } from './decision.ts'
import { fromHex, hex, named } from '../names.ts'
import { clusters, type DocumentRow, documents, members, touch } from '../rows.ts'

export function* leaveCluster(
  scope: Scope,
  centre: Buffer,
  key: Buffer,
  row: DocumentRow,
): Transaction<void> {
  scope.remove(cell(members, concat(centre, key)))
  const place = cell(clusters, centre)
  const [cluster, centreRow] = yield* read(place, cell(documents, centre))
  // What is there now has gathered around another text.
  if (!cluster || isLeftBehind(row, centreRow)) return
  const size = cluster.size - 1
  const isSurvivor = cluster.survivor === hex(key)
  const [before = hex(centre)] = row.supersedes ?? []
  const [restored] = isSurvivor ? yield* read(cell(documents, fromHex(before))) : []
  if (restored) {
    const { supersededBy: _by, ...kept } = restored
    putDocument(scope, fromHex(before), restored, { ...kept, action: 'keep', at: scope.now() })
    touch(scope, fromHex(before))
  } else if (!isSurvivor) yield* closeGap(scope, row)
  if (size <= 1) scope.remove(place)
  else if (isSurvivor) {
    scope.write(place, { size, survivor: before, rank: restored?.rank ?? cluster.rank })
  } else scope.write(place, { ...cluster, size })
}

/** One that was superseded leaves: its better copy supersedes what it had superseded. */
function* closeGap(scope: Scope, { supersedes, supersededBy }: DocumentRow): Transaction<void> {
  const [before] = supersedes ?? []
  if (before === undefined || supersededBy === undefined) return
  const places = [before, supersededBy].map((key) => cell(documents, fromHex(key)))
  const [worse, better] = yield* read(...places)
  if (!worse || !better) return
  scope.write(cell(documents, fromHex(before)), { ...worse, supersededBy })
  scope.write(cell(documents, fromHex(supersededBy)), { ...better, supersedes: [before] })
}

/** Whether the document that a duplicate was measured against is gone, or has another text by now. */
export function isLeftBehind(row: DocumentRow, centre: DocumentRow | undefined): boolean {
  if (row.centreDigest === undefined) return false
  return centre === undefined || !equalBytes(centre.digest, row.centreDigest)
}

/** Whether those that a document was cut for still have the text that it was cut for. */
export function* isStillCut({ cutFor = [] }: DocumentRow): Transaction<boolean> {
  for (const [of, digest] of cutFor) {
    const [other] = yield* read(cell(documents, fromHex(of)))
    if (!other || !equalBytes(other.digest, digest)) return false
  }
  return true
}

/** The cluster around a text that is no more. Returns how many have no kept copy now. */
export function* dissolve(scope: Scope, key: Buffer): Transaction<number> {
  const place = cell(clusters, key)
  const [cluster] = yield* read(place)
  if (!cluster) return 0
  scope.rely(place)
  scope.remove(place)
  return cluster.survivor === hex(key) ? cluster.size - 1 : 0
}

/** Duplicates of texts that are no more, and what was cut for such: given again, they are re-evaluated. */
export async function* orphansOf(backend: Backend): AsyncGenerator<Named> {
  for await (const { value: row } of backend.scan(documents)) {
    const isOut = row.action === 'drop' || row.action === 'superseded'
    if (row.cutFor && !(await backend.read(() => isStillCut(row)))) {
      yield named(row)
      continue
    }
    if (!isOut || row.cluster === undefined) continue
    const centre = await backend.read(rowAt, fromHex(row.cluster))
    if (isLeftBehind(row, centre)) yield named(row)
  }
}

function* rowAt(_scope: unknown, key: Buffer): Transaction<DocumentRow | undefined> {
  return (yield* read(cell(documents, key)))[0]
}
