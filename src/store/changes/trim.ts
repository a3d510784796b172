/** Trimming: changes that are too old, or too many, go, a slice at a time. First what was trimmed is recorded, so that no reader can miss it. */

import {
  type Backend,
  cell,
  glance,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { type Head, sequenceKey, sequenceOf } from '../../match/index.ts'
import type { ChangeFeed } from './feed.ts'
import { type ChangeRow, changeJournal, LAST_CHANGE, LAST_TRIMMED } from './rows.ts'
import { type ChangeSettings, CHANGES_MAX, RETENTION_MS } from './settings.ts'

/** One transaction: within the limits of every engine. */
const AT_ONCE = 64

/**
 * Yields after every slice how many have gone. A transaction goes as a whole, also one that is only in part too much:
 * what is kept begins with the first change of one.
 */
export async function* trimChanges(backend: Backend, feed: ChangeFeed): AsyncGenerator<number> {
  const limits = await backend.read(limitsOf, feed.settings)
  const isOld = (sequence: number, { at }: ChangeRow) =>
    sequence <= limits.sequence || at < limits.before
  let old: Head[] = []
  let last = -1
  for await (const { key, value } of backend.scan(changeJournal)) {
    const sequence = sequenceOf(key)
    const begins = value.transaction !== last
    if (begins && !isOld(sequence, value)) break
    if (begins && old.length >= AT_ONCE) {
      yield* trimAll(backend, old)
      old = []
    }
    old.push({ sequence, nonce: value.nonce })
    last = value.transaction
  }
  yield* trimAll(backend, old)
}

/** Whole transactions: all of them count as trimmed before the first change goes. */
async function* trimAll(backend: Backend, old: readonly Head[]): AsyncGenerator<number> {
  const end = old.at(-1)
  if (!end) return
  for (let at = 0; at < old.length; at += AT_ONCE) {
    yield await backend.run(trimSlice, end, old.slice(at, at + AT_ONCE))
  }
}

/** Of a feed that was turned off: all that it has left. */
export async function removeChanges(backend: Backend): Promise<void> {
  let slice: Buffer[] = []
  for await (const { key } of backend.scan(changeJournal)) {
    slice.push(key)
    if (slice.length < AT_ONCE) continue
    await backend.run(removeRows, slice)
    slice = []
  }
  if (slice.length > 0) await backend.run(removeRows, slice)
}

/** Whether there is something to trim. */
export function* isTrimDue(scope: ReadScope, settings: ChangeSettings): Transaction<boolean> {
  const { sequence, before } = yield* limitsOf(scope, settings)
  const [trimmed] = yield* glance(LAST_TRIMMED)
  if (!trimmed) return false
  if (trimmed.sequence < sequence) return true
  const [oldest] = yield* glance(cell(changeJournal, sequenceKey(trimmed.sequence + 1)))
  return oldest !== undefined && oldest.at < before
}

interface Limits {
  /** The last change that there are too many after. */
  readonly sequence: number
  readonly before: number
}

function* limitsOf(
  scope: ReadScope,
  { maxChanges = CHANGES_MAX, retentionMs = RETENTION_MS }: ChangeSettings,
): Transaction<Limits> {
  const [last, trimmed] = yield* glance(LAST_CHANGE, LAST_TRIMMED)
  // What was before a feed was turned on again is left over, however little there is.
  const sequence = Math.max((last?.sequence ?? 0) - maxChanges, trimmed?.sequence ?? 0)
  return { sequence, before: scope.now() - retentionMs }
}

function* trimSlice(scope: Scope, end: Head, slice: readonly Head[]): Transaction<number> {
  const [trimmed] = yield* read(LAST_TRIMMED)
  if (end.sequence > (trimmed?.sequence ?? 0)) scope.write(LAST_TRIMMED, end)
  for (const { sequence } of slice) scope.remove(cell(changeJournal, sequenceKey(sequence)))
  return slice.length
}

// oxlint-disable-next-line require-yield -- a body that reads nothing is one too
function* removeRows(scope: Scope, keys: readonly Buffer[]): Transaction<void> {
  for (const key of keys) scope.remove(cell(changeJournal, key))
}
