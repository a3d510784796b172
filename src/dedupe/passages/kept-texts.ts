/** The documents that a run keeps, read again from their inputs, with their texts as they are. */

import { cell, read, type Backend, type Transaction } from '../../backends/index.ts'
import { isReject, readLendingTexts, type Shard, utf8Of } from '../../input/index.ts'
import { entriesOf } from '../output/lines.ts'
import { type BatchEntry, type DocumentRow, documents } from '../rows.ts'
import type { RunRow } from '../runs.ts'

export interface KeptText {
  readonly id: string
  readonly source: string
  /** Its file below the root of the inputs, and where that is opened. */
  readonly path: string
  readonly file: string
  readonly position: number
  /** In UTF-8. Only good until the next one is asked for. */
  readonly text: Buffer
  /** Decided by this run, and no duplicate of another one that is kept as well. */
  readonly isOwn: boolean
}

export async function* keptTexts(
  backend: Backend,
  run: RunRow,
  shard: Shard,
): AsyncGenerator<KeptText> {
  const kept = await keptPositions(backend, run.id, shard.index)
  if (kept.size === 0) return
  for await (const items of readLendingTexts(shard, run.reading ?? {})) {
    for (const item of items) {
      const isOwn = kept.get(item.position)
      if (isOwn === undefined || isReject(item)) continue
      const { id, source, position } = item
      const { path, file } = shard.files?.[position] ?? shard
      const text = utf8Of(item) ?? Buffer.from(item.text)
      yield { id, source, path, file, position, text, isOwn }
    }
  }
}

async function keptPositions(
  backend: Backend,
  run: string,
  shard: number,
): Promise<ReadonlyMap<number, boolean>> {
  const kept = new Map<number, boolean>()
  for await (const { entries } of entriesOf(backend, run, shard)) {
    const rows = await backend.read(readRows, entries)
    for (const [at, { position, isRepeated }] of entries.entries()) {
      const row = rows[at]
      if (!row || isRepeated || (row.action !== 'keep' && row.action !== 'link')) continue
      const isDuplicate = row.action === 'link' && row.cluster !== undefined
      kept.set(position, row.run === run && !isDuplicate)
    }
  }
  return kept
}

function* readRows(
  _scope: unknown,
  entries: readonly BatchEntry[],
): Transaction<readonly (DocumentRow | undefined)[]> {
  return yield* read(...entries.map(({ key }) => cell(documents, key)))
}
