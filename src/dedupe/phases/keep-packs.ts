/**
 * Packs of evidence, written with the decisions about their documents. Where transactions are small they are written
 * before: nothing points at them yet, and only who holds the lease of their shard writes them.
 */

import { latin1 } from '../../platform/bytes.ts'
import { type Backend, cell, type Scope, type Transaction } from '../../backends/index.ts'
import { renewShard } from '../../ledger/index.ts'
import type { Made } from '../decision/decide-document.ts'
import type { Decision } from '../decision/decision.ts'
import { isOfTexts } from '../decision/pack-row.ts'
import { byPack, bytesIn, type Pack, packOf } from '../decision/packs.ts'
import type { PreparedDocument } from '../decision/prepare.ts'
import { packs as packRows } from '../rows.ts'
import { type Held, requireGoingOn } from './leases.ts'

/** Packs of texts of which less is wanted are made again without the rest; others cost nothing to make again. */
const WANTED_MIN = 0.5
/** So much is written in one transaction, or one pack: engines with small ones take 4 MB and 100 rows. */
const BYTES_AT_ONCE = 1024 * 1024
const ROWS_AT_ONCE = 16

/** Writes what is wanted: not the evidence of exact copies. */
export function writePacks(
  scope: Scope,
  packs: readonly Pack[],
  documents: readonly PreparedDocument[],
  made: readonly Made[],
): void {
  if (packs.length === 0) return
  const decisions = new Map(documents.map((one, at) => [one, made[at]?.decision]))
  const members = byPack(documents)
  for (const { key, row, bytes } of packs) {
    const own = members.get(latin1(key)) ?? []
    const ofTexts = isOfTexts(row)
    const wanted = new Set(own.filter((one) => isWanted(decisions.get(one), ofTexts)))
    const used = own.reduce((sum, one) => (wanted.has(one) ? sum + bytesIn(one) : sum), 0)
    if (used === 0) continue
    const isWhole = used >= bytes * (ofTexts ? WANTED_MIN : 1)
    scope.write(cell(packRows, key), isWhole ? row : packOf(own, (one) => wanted.has(one)))
  }
}

/** Texts of all but exact copies, as other settings may decide otherwise; other evidence of what others are measured against. */
function isWanted(decision: Decision | undefined, ofTexts: boolean): boolean {
  if (!decision || decision.isRepeated || decision.isKnown) return false
  const { action, method } = decision
  return action !== 'drop' || (ofTexts && method !== 'exact')
}

export async function keepPacks(
  backend: Backend,
  held: Held,
  packs: readonly Pack[],
): Promise<void> {
  let some: Pack[] = []
  let bytes = 0
  for (const pack of packs) {
    if (some.length === ROWS_AT_ONCE || bytes + pack.row.byteLength > BYTES_AT_ONCE) {
      await backend.run(writeAhead, held, some)
      some = []
      bytes = 0
    }
    some.push(pack)
    bytes += pack.row.byteLength
  }
  if (some.length > 0) await backend.run(writeAhead, held, some)
}

function* writeAhead(scope: Scope, held: Held, packs: readonly Pack[]): Transaction<void> {
  yield* requireGoingOn(held)
  yield* renewShard(scope, held)
  for (const { key, row } of packs) scope.write(cell(packRows, key), row)
}
