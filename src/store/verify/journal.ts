/** Checks a journal of numbered changes, by which an index in memory follows what is committed, and its head. */

import type { Bytes } from '../../platform/bytes.ts'
import {
  cell,
  read,
  type Row,
  type Scope,
  type Space,
  type Transaction,
} from '../../backends/index.ts'
import { type Head, sequenceOf } from '../../match/index.ts'
import { decoded, twin } from './raw.ts'
import { rowName, type Walk } from './walk.ts'

const SEQUENCE_BYTES = 6

export interface Journal {
  readonly rows: Space<Bytes>
  readonly heads: Space<Head>
  readonly headKey: Bytes
  /** What happens if the head is behind. */
  readonly consequence: string
  checkRow(row: Row<Bytes>): Promise<void>
  /** In place of a head that is behind, or cannot be read. */
  newHead(scope: Scope, last: number): Transaction<Head>
}

/** `undefined` for a head that is missing and for one that cannot be read. */
function headOf(heads: Space<Head>, bytes: Bytes | undefined): Head | undefined {
  return decoded(bytes, (row) => heads.codec.decode(row))
}

export async function checkJournal(walk: Walk, journal: Journal): Promise<void> {
  let last = 0
  for await (const row of walk.scan(journal.rows)) {
    if (row.key.byteLength !== SEQUENCE_BYTES) {
      await walk.foundUnaccounted(journal.rows, row.key, 'is not the number of a change.')
      continue
    }
    last = sequenceOf(row.key)
    await journal.checkRow(row)
  }
  const { heads, headKey, consequence } = journal
  const bytes = await walk.look(twin(heads), headKey)
  const head = headOf(heads, bytes)
  // Heads only grow, and this one was read after all the rows.
  if (bytes === undefined ? last === 0 : head && head.sequence >= last) return
  const isUnreadable = bytes !== undefined && !head
  const what = isUnreadable ? 'cannot be read' : 'is behind the journal'
  const message = `${rowName(heads, headKey)} ${what}: ${consequence}`
  await walk.found(isUnreadable ? 'row-unreadable' : 'index-wrong', message, [], () =>
    walk.backend.run(moveHead, journal, last),
  )
}

function* moveHead(scope: Scope, journal: Journal, last: number): Transaction<boolean> {
  const { heads, headKey } = journal
  const head = headOf(heads, (yield* read(cell(twin(heads), headKey)))[0])
  if (head && head.sequence >= last) return true
  scope.write(cell(heads, headKey), yield* journal.newHead(scope, last))
  return true
}
