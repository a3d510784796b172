/**
 * Packs of texts, written with the decisions about their documents. Where transactions are small they are written
 * before: nothing points at them yet, and only who holds the lease of their shard writes them.
 */

import { latin1 } from '../../platform/bytes.ts'
import { type Backend, cell, type Scope, type Transaction } from '../../backends/index.ts'
import { renewShard } from '../../ledger/index.ts'
import type { Made } from '../decision/decide-document.ts'
import type { Decision } from '../decision/decision.ts'
import { byPack, type Pack, packOf } from '../decision/packs.ts'
import type { PreparedDocument } from '../decision/prepare.ts'
import { packs as packRows } from '../rows.ts'
import { type Held, requireGoingOn } from './leases.ts'

/** Packs of which less is wanted are made again without the rest. */
const WANTED_MIN = 0.5
/** So many are written in one transaction: engines with small ones take 4 MB and 100 rows. */
const AT_ONCE = 16

/** Writes the texts that are wanted: not those of exact copies. */
export function writePacks(
  scope: Scope,
  packs: readonly Pack[],
  documents: readonly PreparedDocument[],
  made: readonly Made[],
): void {
  if (packs.length === 0) return
  const wanted = new Set(documents.filter((_, at) => isWanted(made[at]?.decision)))
  const members = byPack(documents)
  for (const { key, row, bytes } of packs) {
    const own = members.get(latin1(key)) ?? []
    const used = own.reduce((sum, one) => (wanted.has(one) ? sum + one.bytes : sum), 0)
    if (used === 0) continue
    const isWhole = used >= bytes * WANTED_MIN
    scope.write(cell(packRows, key), isWhole ? row : packOf(own, (one) => wanted.has(one)))
  }
}

/** Everything but exact copies: with other settings it is decided about again. */
function isWanted(decision: Decision | undefined): boolean {
  if (!decision || decision.isRepeated || decision.isKnown) return false
  return decision.action !== 'drop' || decision.method !== 'exact'
}

export async function keepPacks(
  backend: Backend,
  held: Held,
  packs: readonly Pack[],
): Promise<void> {
  for (let from = 0; from < packs.length; from += AT_ONCE) {
    await backend.run(writeAhead, held, packs.slice(from, from + AT_ONCE))
  }
}

function* writeAhead(scope: Scope, held: Held, packs: readonly Pack[]): Transaction<void> {
  yield* requireGoingOn(held)
  yield* renewShard(scope, held)
  for (const { key, row } of packs) scope.write(cell(packRows, key), row)
}
