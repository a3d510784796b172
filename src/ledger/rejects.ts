/**
 * Pieces of input of the corpus job that were no documents, as lines. So many of a shard are recorded; others are only
 * counted, and a line says how many.
 */

import { endOfPrefix } from '../platform/bytes.ts'
import { type Backend, read, type Transaction } from '../backends/index.ts'
import type { LedgerLine } from './lines.ts'
import { rejects } from './rows.ts'
import { runCell } from './runs.ts'

/** What the job writes of one: see phases/rejects.ts there. */
interface RejectRow {
  readonly path?: string
  readonly line?: number
  readonly position?: number
  readonly reason?: string
  readonly message?: string
  /** How many of each reason are only counted. */
  readonly unrecorded?: Readonly<Record<string, number>>
}

const NUMBER_BYTES = 4
const SLASH = '/'

/** Of one run, or of all. They have the time at which their run began. */
export async function* rejectLines(
  backend: Backend,
  run: string | undefined,
): AsyncGenerator<LedgerLine> {
  const prefix = run === undefined ? undefined : Buffer.from(`${run}${SLASH}`)
  const range = prefix && { start: prefix, end: endOfPrefix(prefix) }
  let of = { name: '', startedAt: 0 }
  for await (const { key, value } of backend.scan(rejects, range)) {
    const end = key.byteLength - 2 * NUMBER_BYTES
    const name = key.toString('utf8', 0, end - SLASH.length)
    if (of.name !== name) of = { name, startedAt: await backend.read(startOf, name) }
    // safe: every field is optional, and only the job writes these rows
    yield lineOf(value as RejectRow, of, key.readUInt32BE(end))
  }
}

function lineOf(
  row: RejectRow,
  { name, startedAt }: { readonly name: string; readonly startedAt: number },
  shard: number,
): LedgerLine {
  const { path, line, position, reason, message, unrecorded } = row
  const file = path ?? `shard ${shard}`
  const id = line === undefined ? file : `${file}#${line}`
  const why = unrecorded ? { file, unrecorded } : { file, line, position, reason, message }
  const detail = JSON.stringify(why)
  return { id, status: 'rejected', at: startedAt, token: 0, run: name, detail }
}

function* startOf(_scope: unknown, run: string): Transaction<number> {
  const [row] = yield* read(runCell(run))
  return row?.startedAt ?? 0
}
