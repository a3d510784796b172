/** Which documents of a shard are written, as the ledger has it, and how their records are identified. */

import { createHash } from 'node:crypto'

import { type Backend, cell, read, type Transaction } from '../../backends/index.ts'
import type { Cuts, CutSpans } from '../../input/index.ts'
import { type BatchEntry, type DocumentRow, documents } from '../rows.ts'
import { passageCutsOf } from '../passages/cuts.ts'
import { entriesOf } from './lines.ts'
import type { RecordId } from './output-rows.ts'

export interface KeptOfShard {
  /** In ascending order. */
  readonly positions: readonly number[]
  /** Of the records at these positions. */
  readonly ids: readonly RecordId[]
  readonly cuts: Cuts
  /** Of records of which something is cut: the id of the whole record. */
  readonly whole: ReadonlyMap<RecordId, RecordId>
  /** Records that were kept once and may be kept again. */
  readonly superseded: ReadonlySet<RecordId>
}

/** Whether a document is written without its spans. */
export function isCut({ action, cutFor }: DocumentRow): boolean {
  return action === 'link' && cutFor !== undefined
}

/** What is cut from it by containment; `undefined`: nothing. */
export function ownCut(row: DocumentRow): CutSpans | undefined {
  return isCut(row) ? (row.spans ?? []) : undefined
}

/** Of one document in one text, cut or not: the same record has the same bytes wherever it is written. */
export function recordIdOf(
  key: Buffer,
  { digest }: DocumentRow,
  cut: CutSpans | undefined,
): RecordId {
  const id = Buffer.from(key)
  for (let at = 0; at < id.length; at++) id[at] = (id[at] ?? 0) ^ (digest[at] ?? 0)
  if (!cut) return id.toString('latin1')
  const places = JSON.stringify(cut.map(([start, end]) => [start, end]))
  const digestOfCut = createHash('sha256').update(id).update(places).digest()
  return digestOfCut.toString('latin1', 0, id.length)
}

/**
 * Reads it from the rows. `isCurrent` returns whether what a run has decided about a document is about the text that
 * it has in this shard: a later run may have met it with another text.
 */
export async function keptOfShard(
  backend: Backend,
  run: string,
  shard: number,
  isCurrent: (run: string) => boolean,
): Promise<KeptOfShard> {
  const positions: number[] = []
  const ids: RecordId[] = []
  const cuts = new Map<number, CutSpans>()
  const superseded = new Set<RecordId>()
  const whole = new Map<RecordId, RecordId>()
  // A config has these or those of containment.
  const passages = await passageCutsOf(backend, run, shard)
  for await (const { entries } of entriesOf(backend, run, shard)) {
    const rows = await backend.read(rowsAt, entries)
    for (const [at, { position, key, isRepeated }] of entries.entries()) {
      const row = rows[at]
      if (!row || isRepeated || !isCurrent(row.run)) continue
      const cut = ownCut(row) ?? passages.get(position)
      const id = recordIdOf(key, row, cut)
      if (row.action === 'superseded') superseded.add(id)
      if (row.action !== 'keep' && row.action !== 'link') continue
      positions.push(position)
      ids.push(id)
      if (!cut) continue
      cuts.set(position, cut)
      whole.set(id, recordIdOf(key, row, undefined))
    }
  }
  return { positions, ids, cuts, whole, superseded }
}

export function* rowsAt(
  _scope: unknown,
  entries: readonly BatchEntry[],
): Transaction<readonly (DocumentRow | undefined)[]> {
  return yield* read(...entries.map(({ key }) => cell(documents, key)))
}
