/** Checks the feed of changes: its rows can be read, none is missing, and its head is not behind. */

import type { Bytes } from '../../platform/bytes.ts'
import {
  cell,
  read,
  type ReadScope,
  type Row,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { HEAD_KEY, sequenceKey, sequenceOf } from '../../match/index.ts'
import { changeHeads, changeJournal, LAST_CHANGE, LAST_TRIMMED } from '../changes/rows.ts'
import { checkJournal } from './journal.ts'
import { decoded, twin } from './raw.ts'
import type { Walk } from './walk.ts'

const RAW_JOURNAL = twin(changeJournal)

export async function checkChanges(walk: Walk): Promise<void> {
  let last = (await walk.backend.read(findTrimmed)) ?? 0
  const checkRow = async ({ key, value }: Row<Bytes>) => {
    const sequence = sequenceOf(key)
    // Left over of a trimming that was cut off: the next one removes it.
    if (sequence <= last) return
    if (sequence > last + 1) await foundGap(walk, last + 1, sequence - 1)
    last = sequence
    if (!isChange(value, key)) await foundGap(walk, sequence, sequence)
  }
  await checkJournal(walk, {
    rows: RAW_JOURNAL,
    heads: changeHeads,
    headKey: HEAD_KEY,
    consequence: 'the next change would be written over one that is there.',
    checkRow,
    newHead,
  })
  const head = await walk.backend.read(findHead)
  if (head !== undefined && head > last) await foundGap(walk, last + 1, head)
}

function isChange(bytes: Bytes | undefined, key: Bytes): boolean {
  return decoded(bytes, (row) => changeJournal.codec.decode(row, key)) !== undefined
}

/** Others may have trimmed them, or added to them, since they were looked for. */
async function foundGap(walk: Walk, from: number, to: number): Promise<void> {
  const isThere = !(await walk.backend.read(hasGap, from, to))
  if (isThere) return
  const what = from === to ? `Change ${from}` : `Changes ${from} to ${to}`
  const message = `${what} of the feed cannot be read, or not all of them. Readers that have not seen them get an error, after a repair CURSOR_EXPIRED.`
  await walk.found('changes-missing', message, [], () => walk.backend.run(closeGap, from, to))
}

function* hasGap(_scope: ReadScope, from: number, to: number): Transaction<boolean> {
  const [trimmed, last] = yield* read(LAST_TRIMMED, LAST_CHANGE)
  if (!last || (trimmed?.sequence ?? 0) >= to) return false
  const first = Math.max(from, (trimmed?.sequence ?? 0) + 1)
  for (const number of [first, to]) {
    const key = sequenceKey(number)
    const [row] = yield* read(cell(RAW_JOURNAL, key))
    if (!isChange(row, key)) return true
  }
  return false
}

/** What is before the gap counts as trimmed, so that nobody reads on across it. */
function* closeGap(scope: Scope, from: number, to: number): Transaction<boolean> {
  if (!(yield* hasGap(scope, from, to))) return true
  const [last] = yield* read(LAST_CHANGE)
  const nonce = last?.sequence === to ? last.nonce : scope.id()
  scope.write(LAST_TRIMMED, { sequence: to, nonce })
  scope.remove(cell(changeJournal, sequenceKey(to)))
  return true
}

function* newHead(scope: Scope, last: number) {
  const key = sequenceKey(last)
  const [row] = yield* read(cell(RAW_JOURNAL, key))
  const change = decoded(row, (bytes) => changeJournal.codec.decode(bytes, key))
  return { sequence: last, nonce: change?.nonce ?? scope.id() }
}

function* findTrimmed(_scope: ReadScope): Transaction<number | undefined> {
  return (yield* read(LAST_TRIMMED))[0]?.sequence
}

function* findHead(_scope: ReadScope): Transaction<number | undefined> {
  return (yield* read(LAST_CHANGE))[0]?.sequence
}
