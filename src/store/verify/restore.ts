/**
 * Entries that cannot be read: their references still show which content they pointed at.
 *
 * A key whose content cannot be determined is made to point nowhere: `get` fails by name rather than answering
 * "not found", and the key can be put again, which an unreadable row would not allow.
 */

import { type Bytes, EMPTY, equalBytes, latin1 } from '../../platform/bytes.ts'
import { cell, ID_BYTES, read, type Scope, type Transaction } from '../../backends/index.ts'
import { entries, Entry, refKey, refs } from '../rows.ts'
import { type Content, readContent } from './content.ts'
import { entryOf, knownOf, NOWHERE, raw } from './raw.ts'
import { rowName, type Walk } from './walk.ts'

const TIME_BYTES = 6

interface Trace {
  readonly key: Buffer
  id: Buffer | undefined
  expiresAt: number | undefined
}

export async function restoreEntries(walk: Walk, keys: readonly Buffer[]): Promise<void> {
  const traces = keys.map((key): Trace => ({ key, id: undefined, expiresAt: undefined }))
  if (walk.repairs && traces.length > 0) await findTraces(walk, traces)
  for (const trace of traces) await restoreEntry(walk, trace)
}

/** Ids and times ascend in both scans, so that the newest trace of a key is the one that stays. */
async function findTraces(walk: Walk, traces: readonly Trace[]): Promise<void> {
  const traceOf = new Map(traces.map((trace) => [latin1(trace.key), trace]))
  for await (const { key: row } of walk.scan(raw.refs)) {
    const trace = traceOf.get(latin1(row.subarray(ID_BYTES)))
    if (trace) trace.id = row.subarray(0, ID_BYTES)
  }
  for await (const { key: row } of walk.scan(raw.expiries)) {
    const trace = traceOf.get(latin1(row.subarray(TIME_BYTES)))
    if (trace) trace.expiresAt = row.readUIntBE(0, TIME_BYTES)
  }
}

async function restoreEntry(walk: Walk, trace: Trace): Promise<void> {
  const { key } = trace
  const row = await walk.look(raw.entries, key)
  if (row === undefined || entryOf(row)) return
  const content = trace.id && (await readContent(walk, trace.id))
  let isRestored = false
  const isWritten = await walk.mended(async () => {
    isRestored = content !== undefined && (await walk.backend.run(restore, trace, content))
    return isRestored || walk.backend.run(pointNowhere, key)
  })
  const isLost = isWritten && !isRestored
  const loss = isLost
    ? ' Its content could not be determined: it is lost unless it is put again.'
    : ''
  const message = `${rowName(raw.entries, key)} cannot be read.${loss}`
  walk.findings.add({ kind: 'row-unreadable', message, keys: [key], repaired: isRestored })
}

/** When the key was put is not to be found; everything else is. */
function* restore(
  scope: Scope,
  { key, expiresAt }: Trace,
  { id, digest }: Content,
): Transaction<boolean> {
  const [row] = yield* read(cell(raw.entries, key))
  if (row === undefined || entryOf(row)) return true
  const known = digest && knownOf((yield* read(cell(raw.digests, digest)))[0])
  if (!digest || !known || !equalBytes(known.id, id)) return false
  const outcome = equalBytes(known.firstKey, key) ? 'new' : 'duplicate'
  const { bytes, exact } = known
  const entry = { id, digest, putAt: scope.now(), bytes, expiresAt, outcome, exact } as const
  scope.write(cell(entries, key), Entry.of(entry))
  return true
}

function* pointNowhere(scope: Scope, key: Bytes): Transaction<boolean> {
  const [row] = yield* read(cell(raw.entries, key))
  if (row === undefined || entryOf(row)) return true
  scope.write(cell(entries, key), NOWHERE)
  scope.write(cell(refs, refKey(NOWHERE.id, key)), EMPTY)
  return true
}
