/**
 * What the ledger keeps, row by row. Its stored formats are in this file and, of documents of the corpus job, in
 * document-row.ts. Numbers are big endian; times are
 * milliseconds since 1970 in six bytes; texts are UTF-8. Every row starts with a byte whose high half is the row's
 * format (1).
 *
 * A document, a source and a run are known by sixteen bytes of the SHA-256 of their name (names.ts); the name itself
 * is kept in the row. One document is one line in force, one row under its source and one under its run. A line
 * that another run replaces moves into the row under its own run, and the new line points back at it: that is all
 * the history there is, and what undo goes by.
 */

import { asBuffer, type Bytes, concat, EMPTY } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import { type Codec, rows, type Space, tallies } from '../backends/index.ts'
import { documentCodec, type DocumentRow } from './document-row.ts'
import { FORMAT_MASK, KEY, RowReader, RowWriter } from './row-bytes.ts'

export { KEY } from './row-bytes.ts'

const FORMAT = 0x10
const JOB_FORMAT = 0x20
const LONGER_FORMAT = 0x20
const LOW_MASK = 0x0f

/** In the order of their numbers in a row. */
export const STATUSES = [
  'claimed',
  'accepted',
  'rejected',
  'duplicate',
  'superseded',
  'failed',
] as const
export type LineStatus = (typeof STATUSES)[number]
/** What a document can end as. */
export type FinalStatus = Exclude<LineStatus, 'claimed'>

export const RUN_STATUSES = ['running', 'finished', 'failed', 'undone'] as const
export type RunStatus = (typeof RUN_STATUSES)[number]

function unreadable(what: string, cause?: unknown): PrestigeError {
  const message = `A row of the ledger (${what}) cannot be read.`
  return new PrestigeError('CONTENT_CORRUPT', message, { cause })
}

/** `formats`: what the high half of the first byte may be. */
function codecOf<T>(
  what: string,
  encode: (value: T, to: RowWriter) => void,
  decode: (from: RowReader) => T,
  formats: readonly number[] = [FORMAT],
): Codec<T> {
  return {
    encode(value) {
      const to = new RowWriter()
      encode(value, to)
      return to.whole()
    },
    decode(bytes) {
      try {
        const from = new RowReader(asBuffer(bytes))
        if (formats.includes(from.first & FORMAT_MASK)) return decode(from)
      } catch (error) {
        throw unreadable(what, error)
      }
      throw unreadable(what)
    },
  }
}

/** What the low half of the first byte says. */
function valueIn<T>({ first }: RowReader, values: readonly T[]): T {
  const value = values[first & LOW_MASK]
  if (value === undefined) throw new TypeError('no such value')
  return value
}

/**
 * What is known of a document.
 *
 * `1s` flags (1) token (6) at (6) [lease until (6)] [run whose line it replaced (16)] id (2 + n) [source (1 + n)]
 * [run (1 + n)] [worker (1 + n)] [of (2 + n)] [detail (to the end)]; s is the status. Flags: 1 source, 2 run,
 * 4 worker, 8 lease, 16 of, 32 detail, 64 replaced another. Where there is a language or a version of fingerprints:
 * `2s`, and both (1 + n each, empty: none) before the detail.
 */
export interface Line {
  readonly id: string
  readonly status: LineStatus
  /** Grows with every claim. */
  readonly token: number
  /** Since when it has this status. */
  readonly at: number
  readonly leaseUntil: number | undefined
  readonly source: string | undefined
  readonly run: string | undefined
  readonly worker: string | undefined
  /** The document it is a duplicate of, or that took its place. */
  readonly of: string | undefined
  readonly detail: string | undefined
  readonly language?: string | undefined
  /** What the fingerprints of the document were made with. */
  readonly fingerprintVersion?: string | undefined
  /** The run whose line this one replaced, by its key. */
  readonly previous: Buffer | undefined
}

export const lineCodec: Codec<Line> = codecOf(
  'lines',
  (line, to) => {
    const { leaseUntil, source, run, worker, of, detail, previous } = line
    const { language, fingerprintVersion: version } = line
    const isLonger = language !== undefined || version !== undefined
    const has = (value: unknown, flag: number) => (value === undefined ? 0 : flag)
    const names = has(source, 1) | has(run, 2) | has(worker, 4)
    const others = has(leaseUntil, 8) | has(of, 16) | has(detail, 32) | has(previous, 64)
    to.number((isLonger ? LONGER_FORMAT : FORMAT) | STATUSES.indexOf(line.status), 1)
    to.number(names | others, 1)
    to.number(line.token, 6)
    to.number(line.at, 6)
    if (leaseUntil !== undefined) to.number(leaseUntil, 6)
    if (previous) to.bytes(previous)
    to.text(line.id, 2)
    if (source !== undefined) to.text(source, 1)
    if (run !== undefined) to.text(run, 1)
    if (worker !== undefined) to.text(worker, 1)
    if (of !== undefined) to.text(of, 2)
    if (isLonger) {
      to.text(language ?? '', 1)
      to.text(version ?? '', 1)
    }
    if (detail !== undefined) to.lastText(detail)
  },
  (from) => {
    const flags = from.number(1)
    const token = from.number(6)
    const at = from.number(6)
    const leaseUntil = flags & 8 ? from.number(6) : undefined
    const previous = flags & 64 ? from.bytes(KEY) : undefined
    const id = from.text(2)
    const source = flags & 1 ? from.text(1) : undefined
    const run = flags & 2 ? from.text(1) : undefined
    const worker = flags & 4 ? from.text(1) : undefined
    const of = flags & 16 ? from.text(2) : undefined
    const isLonger = (from.first & FORMAT_MASK) === LONGER_FORMAT
    const language = (isLonger && from.text(1)) || undefined
    const fingerprintVersion = (isLonger && from.text(1)) || undefined
    const detail = flags & 32 ? from.rest().toString() : undefined
    const status = valueIn(from, STATUSES)
    const line = { id, status, token, at, leaseUntil, source, run, worker, of, detail, previous }
    return isLonger ? { ...line, language, fingerprintVersion } : line
  },
  [FORMAT, LONGER_FORMAT],
)

/**
 * A run's row of a document: `10` the run's line is the one in force; `11` and a line: what it was when another
 * run replaced it.
 */
export interface RunEntry {
  readonly replaced: Line | undefined
}

export const IN_FORCE: RunEntry = Object.freeze({ replaced: undefined })
const IN_FORCE_ROW = Buffer.of(FORMAT)
const REPLACED_ROW = Buffer.of(FORMAT | 1)

const runEntryCodec: Codec<RunEntry> = {
  encode: ({ replaced }) =>
    replaced ? concat(REPLACED_ROW, lineCodec.encode(replaced)) : IN_FORCE_ROW,
  decode(bytes) {
    const first = bytes[0] ?? 0
    if ((first & FORMAT_MASK) !== FORMAT) throw unreadable('by run')
    return first & 1 ? { replaced: lineCodec.decode(bytes.subarray(1)) } : IN_FORCE
  },
}

/**
 * A run: `1s` started at (6) ended at (6, 0: not yet) shards (4, 0: none) config digest (2 + n) id (to the end); s is
 * its status. Of the corpus job: `2s`, the same, but id (1 + n) job (to the end).
 */
export interface RunRow {
  readonly id: string
  readonly status: RunStatus
  readonly startedAt: number
  readonly endedAt: number | undefined
  readonly shards: number
  readonly configDigest: string
  /** Of a run of the corpus job: what the job keeps of it, as JSON. */
  readonly job?: string
}

const runCodec: Codec<RunRow> = codecOf(
  'runs',
  ({ id, status, startedAt, endedAt, shards, configDigest, job }, to) => {
    to.number((job === undefined ? FORMAT : JOB_FORMAT) | RUN_STATUSES.indexOf(status), 1)
    to.number(startedAt, 6)
    to.number(endedAt ?? 0, 6)
    to.number(shards, 4)
    to.text(configDigest, 2)
    if (job === undefined) return to.lastText(id)
    to.text(id, 1)
    to.lastText(job)
  },
  (from) => {
    const isJob = (from.first & FORMAT_MASK) === JOB_FORMAT
    const startedAt = from.number(6)
    const endedAt = from.number(6) || undefined
    const shards = from.number(4)
    const configDigest = from.text(2)
    const id = isJob ? from.text(1) : from.rest().toString()
    const status = valueIn(from, RUN_STATUSES)
    const run = { id, status, startedAt, endedAt, shards, configDigest }
    return isJob ? { ...run, job: from.rest().toString() } : run
  },
  [FORMAT, JOB_FORMAT],
)

/**
 * A shard of a run that was leased at least once: `1s` token (6) lease until (6) lease (6) worker (1 + n) value (JSON,
 * to the end); s is 0 free, 1 leased, 2 done. A shard without a row is free.
 */
export interface ShardRow {
  readonly state: ShardState
  readonly token: number
  readonly leaseUntil: number
  readonly leaseMs: number
  readonly worker: string
  /** The progress so far, or, when done, the result, as JSON; empty: none. */
  readonly value: string
}

export const SHARD_STATES = ['free', 'leased', 'done'] as const
export type ShardState = (typeof SHARD_STATES)[number]

const shardCodec: Codec<ShardRow> = codecOf(
  'shards',
  ({ state, token, leaseUntil, leaseMs, worker, value }, to) => {
    to.number(FORMAT | SHARD_STATES.indexOf(state), 1)
    to.number(token, 6)
    to.number(leaseUntil, 6)
    to.number(leaseMs, 6)
    to.text(worker, 1)
    to.lastText(value)
  },
  (from) => {
    const token = from.number(6)
    const leaseUntil = from.number(6)
    const leaseMs = from.number(6)
    const worker = from.text(1)
    const value = from.rest().toString()
    return { state: valueIn(from, SHARD_STATES), token, leaseUntil, leaseMs, worker, value }
  },
)

/** `10`: the row's key says it all. */
const nothing: Codec<Bytes> = { encode: (bytes) => bytes, decode: (bytes) => bytes }
export const PRESENT: Bytes = Buffer.of(FORMAT)

/** Rows of the corpus job that are JSON behind their format. */
export function jsonCodec<T>(what: string): Codec<T> {
  return {
    encode: (value) => concat(Buffer.of(FORMAT), Buffer.from(JSON.stringify(value))),
    decode(bytes) {
      try {
        if (bytes[0] !== FORMAT) throw new TypeError('another format')
        return JSON.parse(asBuffer(bytes).toString('utf8', 1)) as T // safe: format 1 is written by us alone
      } catch (error) {
        const message = `A row of the corpus job (${what}) cannot be read.`
        throw new PrestigeError('CONTENT_CORRUPT', message, { cause: error })
      }
    },
  }
}

const textCodec: Codec<string> = {
  encode: (text) => Buffer.from(text),
  decode: (bytes) => asBuffer(bytes).toString(),
}

/** Document → Line: the one in force. */
export const lines: Space<Line> = rows('ledger.lines', lineCodec, { ordered: true })
/** Source and document → nothing. */
export const bySource: Space<Bytes> = rows('ledger.bySource', nothing, { ordered: true })
/** Run and document → RunEntry. Under sixteen zeros: lines of no run that a run replaced. */
export const byRun: Space<RunEntry> = rows('ledger.byRun', runEntryCodec, { ordered: true })
/** Document key (see documents.ts) → DocumentRow: lines that the corpus job owns. */
export const documents: Space<DocumentRow> = rows('dedupe.documents', documentCodec, {
  ordered: true,
})
/** Run, `/`, shard (4) and position (4) → what was no document, as JSON: of the corpus job. */
export const rejects: Space<unknown> = rows('dedupe.rejects', jsonCodec<unknown>('rejects'), {
  ordered: true,
})
/** Run → RunRow. */
export const runs: Space<RunRow> = rows('ledger.runs', runCodec, { ordered: true })
/** Run and number (4) → ShardRow. */
export const shards: Space<ShardRow> = rows('ledger.shards', shardCodec, {
  ordered: true,
  gatherBytes: KEY,
})
/** `ledger` → what the ledger was written with, as JSON. */
export const settings: Space<string> = rows('ledger.settings', textCodec)
/** `a`, `s` and a source, or `r` and a run; then a status (1). */
export const ledgerTallies: Space<number> = tallies('ledger.tallies')

export const ledgerSpaces: readonly Space<unknown>[] = [
  lines,
  bySource,
  byRun,
  documents,
  rejects,
  runs,
  shards,
  settings,
  ledgerTallies,
]

export function tallyKey(kind: 'a' | 's' | 'r', key: Bytes = EMPTY, status: number): Buffer {
  return Buffer.concat([Buffer.from(kind), key, Buffer.of(status)])
}

export function shardKey(run: Bytes, shard: number): Buffer {
  const number = Buffer.allocUnsafe(4)
  number.writeUInt32BE(shard)
  return concat(run, number)
}
