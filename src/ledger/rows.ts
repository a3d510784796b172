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

const FORMAT = 0x10
const JOB_FORMAT = 0x20
const FORMAT_MASK = 0xf0
const LOW_MASK = 0x0f
export const KEY = 16

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

function unreadable(what: string): PrestigeError {
  return new PrestigeError('CONTENT_CORRUPT', `A row of the ledger (${what}) cannot be read.`)
}

/** Reads a row from its beginning to its end; what is cut short is corrupt. */
class RowReader {
  readonly #row: Buffer
  readonly #what: string
  #at = 1

  constructor(what: string, bytes: Bytes, format: number = FORMAT) {
    this.#row = asBuffer(bytes)
    this.#what = what
    if (((this.#row[0] ?? 0) & FORMAT_MASK) !== format) throw unreadable(what)
  }

  get low(): number {
    return this.#row.readUInt8(0) & LOW_MASK
  }

  number(bytes: 1 | 2 | 4 | 6): number {
    return this.bytes(bytes).readUIntBE(0, bytes)
  }

  bytes(count: number): Buffer {
    const from = this.#at
    this.#at += count
    if (this.#at > this.#row.byteLength) throw unreadable(this.#what)
    return this.#row.subarray(from, this.#at)
  }

  text(lengthBytes: 1 | 2): string {
    return this.bytes(this.number(lengthBytes)).toString()
  }

  rest(): Buffer {
    return this.#row.subarray(this.#at)
  }

  one<T>(values: readonly T[]): T {
    const value = values[this.low]
    if (value === undefined) throw unreadable(this.#what)
    return value
  }
}

/** Writes a row whose length is known. */
class RowWriter {
  readonly row: Buffer
  #at = 1

  constructor(low: number, bytes: number, format: number = FORMAT) {
    this.row = Buffer.allocUnsafe(1 + bytes)
    this.row[0] = format | low
  }

  number(value: number, bytes: 1 | 2 | 4 | 6): this {
    this.row.writeUIntBE(value, this.#at, bytes)
    this.#at += bytes
    return this
  }

  bytes(value: Bytes): this {
    this.row.set(value, this.#at)
    this.#at += value.byteLength
    return this
  }

  /** A text whose length in bytes was measured before. */
  text(value: string, length: number, lengthBytes: 0 | 1 | 2): this {
    if (lengthBytes > 0) this.number(length, lengthBytes as 1 | 2) // safe: it is not 0
    this.row.write(value, this.#at, length, 'utf8')
    this.#at += length
    return this
  }
}

/**
 * What is known of a document.
 *
 * `1s` flags (1) token (6) at (6) [lease until (6)] [run whose line it replaced (16)] id (2 + n) [source (1 + n)]
 * [run (1 + n)] [worker (1 + n)] [of (2 + n)] [detail (to the end)]; s is the status. Flags: 1 source, 2 run,
 * 4 worker, 8 lease, 16 of, 32 detail, 64 replaced another.
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
  /** The run whose line this one replaced, by its key. */
  readonly previous: Buffer | undefined
}

const bytesOf = (text: string | undefined) => (text === undefined ? 0 : Buffer.byteLength(text))

export const lineCodec: Codec<Line> = {
  encode(line) {
    const { leaseUntil, source, run, worker, of, detail, previous } = line
    const [idBytes, sourceBytes, runBytes] = [bytesOf(line.id), bytesOf(source), bytesOf(run)]
    const [workerBytes, ofBytes, detailBytes] = [bytesOf(worker), bytesOf(of), bytesOf(detail)]
    let flags = 0
    let bytes = 1 + 6 + 6 + 2 + idBytes
    const has = (value: unknown, flag: number, length: number) => {
      if (value === undefined) return
      flags |= flag
      bytes += length
    }
    has(source, 1, 1 + sourceBytes)
    has(run, 2, 1 + runBytes)
    has(worker, 4, 1 + workerBytes)
    has(leaseUntil, 8, 6)
    has(of, 16, 2 + ofBytes)
    has(detail, 32, detailBytes)
    has(previous, 64, KEY)
    const row = new RowWriter(STATUSES.indexOf(line.status), bytes)
    row.number(flags, 1).number(line.token, 6).number(line.at, 6)
    if (leaseUntil !== undefined) row.number(leaseUntil, 6)
    if (previous) row.bytes(previous)
    row.text(line.id, idBytes, 2)
    if (source !== undefined) row.text(source, sourceBytes, 1)
    if (run !== undefined) row.text(run, runBytes, 1)
    if (worker !== undefined) row.text(worker, workerBytes, 1)
    if (of !== undefined) row.text(of, ofBytes, 2)
    if (detail !== undefined) row.text(detail, detailBytes, 0)
    return row.row
  },
  decode(bytes) {
    const row = new RowReader('lines', bytes)
    const flags = row.number(1)
    const token = row.number(6)
    const at = row.number(6)
    const leaseUntil = flags & 8 ? row.number(6) : undefined
    const previous = flags & 64 ? row.bytes(KEY) : undefined
    const id = row.text(2)
    const source = flags & 1 ? row.text(1) : undefined
    const run = flags & 2 ? row.text(1) : undefined
    const worker = flags & 4 ? row.text(1) : undefined
    const of = flags & 16 ? row.text(2) : undefined
    const detail = flags & 32 ? row.rest().toString() : undefined
    const status = row.one(STATUSES)
    return { id, status, token, at, leaseUntil, source, run, worker, of, detail, previous }
  },
}

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
    const row = new RowReader('by run', bytes)
    return row.low & 1 ? { replaced: lineCodec.decode(row.rest()) } : IN_FORCE
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

const runCodec: Codec<RunRow> = {
  encode({ id, status, startedAt, endedAt, shards, configDigest, job }) {
    const [idBytes, digestBytes, jobBytes] = [bytesOf(id), bytesOf(configDigest), bytesOf(job)]
    const isJob = job !== undefined
    const bytes = 18 + digestBytes + idBytes + (isJob ? 1 + jobBytes : 0)
    const format = isJob ? JOB_FORMAT : FORMAT
    const row = new RowWriter(RUN_STATUSES.indexOf(status), bytes, format)
    row
      .number(startedAt, 6)
      .number(endedAt ?? 0, 6)
      .number(shards, 4)
    row.text(configDigest, digestBytes, 2).text(id, idBytes, isJob ? 1 : 0)
    return isJob ? row.text(job, jobBytes, 0).row : row.row
  },
  decode(bytes) {
    const isJob = ((bytes[0] ?? 0) & FORMAT_MASK) === JOB_FORMAT
    const row = new RowReader('runs', bytes, isJob ? JOB_FORMAT : FORMAT)
    const startedAt = row.number(6)
    const endedAt = row.number(6) || undefined
    const shards = row.number(4)
    const configDigest = row.text(2)
    const id = isJob ? row.text(1) : row.rest().toString()
    const run = { id, status: row.one(RUN_STATUSES), startedAt, endedAt, shards, configDigest }
    return isJob ? { ...run, job: row.rest().toString() } : run
  },
}

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

const shardCodec: Codec<ShardRow> = {
  encode({ state, token, leaseUntil, leaseMs, worker, value }) {
    const [workerBytes, valueBytes] = [bytesOf(worker), bytesOf(value)]
    const row = new RowWriter(SHARD_STATES.indexOf(state), 19 + workerBytes + valueBytes)
    row.number(token, 6).number(leaseUntil, 6).number(leaseMs, 6)
    return row.text(worker, workerBytes, 1).text(value, valueBytes, 0).row
  },
  decode(bytes) {
    const row = new RowReader('shards', bytes)
    const token = row.number(6)
    const leaseUntil = row.number(6)
    const leaseMs = row.number(6)
    const worker = row.text(1)
    const value = row.rest().toString()
    return { state: row.one(SHARD_STATES), token, leaseUntil, leaseMs, worker, value }
  },
}

/** `10`: the row's key says it all. */
const nothing: Codec<Bytes> = { encode: (bytes) => bytes, decode: (bytes) => bytes }
export const PRESENT: Bytes = Buffer.of(FORMAT)

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
