/**
 * Drives a body straight through on an engine that runs bodies one after another (memory, lmdb).
 *
 * The body sees one moment by construction, so there is nothing to validate; its writes are applied by
 * the engine after it has ended.
 */

import { type Bytes, EMPTY, endOfPrefix, latin1 } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { Ask, FirstAsk, Range, Row, RowsAsk, Space, Transaction } from '../contract.ts'
import type { Draft } from './draft.ts'
import type { RawRow } from './pages.ts'

/** What the driver needs of an engine, within one of its transactions. */
export interface SerialReader {
  /** The engine's own copy of a value, fresh for the caller. */
  get(space: Space<unknown>, key: Bytes): Bytes | undefined
  /** Keys of an ordered space in byte order. */
  keys(space: Space<unknown>, range: Range): Iterable<Buffer>
  /** The first rows of a range in byte order, fresh for the caller. */
  rows(space: Space<unknown>, range: Range & { readonly limit: number }): readonly RawRow[]
}

export function drive<T>(reader: SerialReader, body: Transaction<T>, draft: Draft | undefined): T {
  let step = body.next()
  while (!step.done) step = body.next(answer(reader, step.value, draft))
  return step.value
}

function answer(reader: SerialReader, ask: Ask, draft: Draft | undefined): readonly unknown[] {
  if (ask.kind === 'first' || ask.kind === 'rows') {
    requireOrdered(ask.space)
    return ask.kind === 'rows' ? rowsIn(reader, ask, draft) : [firstKey(reader, ask, draft)]
  }
  const values: unknown[] = []
  for (const { space, key } of ask.cells) values.push(valueOf(reader, space, key, draft))
  return values
}

function valueOf(
  reader: SerialReader,
  space: Space<unknown>,
  key: Bytes,
  draft: Draft | undefined,
): unknown {
  if (draft !== undefined) {
    refuseTally(space)
    const own = draft.own(space, key)
    if (own !== undefined) return own.bytes && space.codec.decode(Buffer.from(own.bytes), key)
  }
  const bytes = reader.get(space, key)
  return bytes === undefined ? undefined : space.codec.decode(bytes, key)
}

/** A transaction that read a tally would wait for every other one that adds to it. */
export function refuseTally(space: Space<unknown>): void {
  if (space.kind !== 'tallies') return
  throw new PrestigeError(
    'BODY_MISUSE',
    `A transaction cannot read tally ${space.name}; read it outside with backend.read.`,
  )
}

/** A space without an order can only be scanned whole. */
export function requireWhole({ name, ordered }: Space<unknown>, { start, end }: Range): void {
  if (ordered || (start === undefined && end === undefined)) return
  throw new PrestigeError('BODY_MISUSE', `Space ${name} is not ordered: it is scanned whole.`)
}

function requireOrdered({ name, ordered }: Space<unknown>): void {
  if (ordered) return
  throw new PrestigeError('BODY_MISUSE', `Space ${name} is not ordered: it has no first key.`)
}

function rowsIn(
  reader: SerialReader,
  { space, range }: RowsAsk,
  draft: Draft | undefined,
): Row<unknown>[] {
  const own = new Map<string, Bytes | undefined>()
  for (const { key, bytes } of draft?.ownOf(space, EMPTY) ?? []) {
    if (isWithin(key, range)) own.set(latin1(key), bytes)
  }
  // As many more as may turn out to be removed.
  const found = reader.rows(space, { ...range, limit: range.limit + own.size })
  const merged = found.filter(({ key }) => own.size === 0 || !own.has(latin1(key)))
  for (const [name, bytes] of own) {
    if (bytes) merged.push({ key: Buffer.from(name, 'latin1'), bytes: Buffer.from(bytes) })
  }
  if (own.size > 0) merged.sort((one, other) => one.key.compare(other.key))
  const rows = merged.slice(0, range.limit)
  return rows.map(({ key, bytes }) => ({ key, value: space.codec.decode(bytes, key) }))
}

function isWithin(key: Bytes, { start, end }: Range): boolean {
  return (!start || Buffer.compare(key, start) >= 0) && (!end || Buffer.compare(key, end) < 0)
}

function firstKey(
  reader: SerialReader,
  { space, prefix }: FirstAsk,
  draft: Draft | undefined,
): Buffer | undefined {
  const own = new Map<string, boolean>()
  let best: Buffer | undefined
  for (const { key, bytes } of draft?.ownOf(space, prefix) ?? []) {
    const candidate = Buffer.from(key)
    own.set(latin1(candidate), bytes !== undefined)
    if (bytes !== undefined && (!best || candidate.compare(best) < 0)) best = candidate
  }
  for (const key of reader.keys(space, { start: prefix, end: endOfPrefix(prefix) })) {
    if (own.get(latin1(key)) === false) continue
    return best && best.compare(key) < 0 ? best : key
  }
  return best
}
