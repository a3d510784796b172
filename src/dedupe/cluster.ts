/** A document leaves its cluster: what it had superseded is the survivor again. */

import { concat } from '../bytes.ts'
import { cell, read, type Scope, type Transaction } from '../backends/contract.ts'
import { documentKey } from '../ledger/names.ts'
import { takeBack } from '../ledger/undo.ts'
import { fromHex, hex } from './names.ts'
import { clusters, documents, type DocumentRow, members } from './rows.ts'

export function* leaveCluster(
  scope: Scope,
  centre: Buffer,
  key: Buffer,
  row: DocumentRow,
): Transaction<void> {
  scope.remove(cell(members, concat(centre, key)))
  const place = cell(clusters, centre)
  const [cluster] = yield* read(place)
  if (!cluster) return
  const size = cluster.size - 1
  const isSurvivor = cluster.survivor === hex(key)
  const [before = hex(centre)] = row.supersedes ?? []
  const [restored] = isSurvivor ? yield* read(cell(documents, fromHex(before))) : []
  if (restored) {
    const { supersededBy: _by, ...kept } = restored
    scope.write(cell(documents, fromHex(before)), { ...kept, action: 'keep' })
    yield* takeBack(scope, row.run, documentKey(restored.id))
  }
  if (size <= 1) scope.remove(place)
  else if (isSurvivor) {
    scope.write(place, { size, survivor: before, rank: restored?.rank ?? cluster.rank })
  } else scope.write(place, { ...cluster, size })
}
