/**
 * Stores of fingerprints: have we seen this content before, and in which document? Any number of processes add to and
 * query the same store; none keeps a state of its own.
 *
 * A document is known by its id. Its text is not kept: similarities are those of its fingerprints.
 */

import {
  type Backend,
  cell,
  Gate,
  read,
  type ReadScope,
  type Transaction,
} from '../backends/index.ts'
import { fingerprintVersion } from '../match/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { measured } from '../platform/measured.ts'
import { ContainedMetrics } from '../platform/sinks.ts'
import type { MetricsSink } from '../platform/telemetry.ts'
import { type Added, addDocument, addList } from './add.ts'
import type { FingerprintsOptions } from './options.ts'
import {
  documentKey,
  type FingerprintInput,
  type FingerprintQuery,
  Preparer,
  type PreparedInput,
} from './prepare.ts'
import { clear, prune, type PrunedFingerprints, retireDocument } from './remove.ts'
import { DOCUMENTS, type FingerprintRow, fingerprintTallies, ids } from './rows.ts'
import {
  type FingerprintMatch,
  Indexes,
  liveRow,
  search,
  searchChunks,
  shownRow,
} from './search.ts'
import type { FingerprintsSettings, OpenedSettings } from './settings.ts'

/** How many chunks a document has, and how many of them others had before. */
export interface ChunkCounts {
  readonly total: number
  readonly known: number
}

export interface FingerprintAnswer {
  /** At most `limit` of each method: `canonical`, `simhash`, `minhash`, `chunks`; of each, the most similar first. */
  readonly matches: readonly FingerprintMatch[]
  readonly chunks: ChunkCounts
  /** Something similar may have been passed over, because too many documents are alike. */
  readonly possibleMiss: boolean
}

export interface AddedFingerprints {
  /** `known`: this id has these fingerprints already. */
  readonly status: 'added' | 'replaced' | 'known'
  readonly chunks: ChunkCounts
}

export interface FingerprintVerdict {
  /** It was added: nothing before it matched, and whoever comes next finds it. */
  readonly isNew: boolean
  /** `known`: this id has these fingerprints already, so it was added before. */
  readonly status: 'new' | 'known' | 'duplicate'
  /** What it is a duplicate of. */
  readonly match?: FingerprintMatch
  readonly chunks: ChunkCounts
  readonly possibleMiss: boolean
}

export interface FingerprintInfo {
  readonly id: string
  readonly source?: string
  readonly language?: string
  readonly at: number
  readonly chunks: number
}

const PREFIX = 'prestige.fingerprints'
const CANDIDATES_MAX = 100
const BUCKET_MAX = 1000
const BUCKET_MAX_SHARED = 200
const LIMIT = 10
const LIMIT_MAX = 100
/** Chunks in a list, where the engine takes so many. */
const LIST_MAX = 1000
/** Cells of a transaction that adds a document, besides those of bands and chunks. */
const OTHER_CELLS = 24
const HASH_BYTES = 16

export function indexLimits(
  serial: boolean,
  options: Pick<FingerprintsOptions, 'candidatesMax' | 'bucketMax'> = {},
): { serial: boolean; candidatesMax: number; bucketMax: number } {
  const { candidatesMax = CANDIDATES_MAX } = options
  const { bucketMax = serial ? BUCKET_MAX : BUCKET_MAX_SHARED } = options
  return { serial, candidatesMax, bucketMax }
}

export class Fingerprints {
  /** Names everything that these fingerprints depend on besides the texts. */
  readonly version: string
  readonly #backend: Backend
  readonly #gate = new Gate('store of fingerprints')
  readonly #settings: FingerprintsSettings
  readonly #preparer: Preparer
  readonly #indexes: Indexes
  readonly #retentionMs: number
  readonly #metrics: MetricsSink | undefined

  private constructor(backend: Backend, opened: OpenedSettings, options: FingerprintsOptions) {
    const { settings, canonical } = opened
    this.version = fingerprintVersion(canonical, settings.minhash)
    this.#backend = backend
    this.#settings = settings
    this.#preparer = new Preparer(opened)
    this.#retentionMs = options.retentionMs ?? Infinity
    this.#indexes = new Indexes(settings, indexLimits(backend.serial, options), this.#retentionMs)
    this.#metrics = options.metrics && new ContainedMetrics(options.metrics)
  }

  /** @internal */
  static async open(
    backend: Backend,
    opened: OpenedSettings,
    options: FingerprintsOptions,
  ): Promise<Fingerprints> {
    const one = new Fingerprints(backend, opened, options)
    for (const index of one.#indexes.all) await index.load(backend)
    return one
  }

  /** What has the same or similar fingerprints. Writes nothing. */
  query(
    query: FingerprintQuery,
    options: { readonly limit?: number | undefined } = {},
  ): Promise<FingerprintAnswer> {
    return this.#measured('query', async () => {
      const limit = limitOf(options)
      const prepared = this.#preparer.query(query)
      const found = await this.#backend.read((scope: ReadScope) =>
        search(this.#indexes, prepared, { scope: undefined, now: scope.now(), limit }),
      )
      const { known, shared } = await this.#sharedChunks(prepared.chunks)
      const total = prepared.chunks.length
      const sharing = shared
        .toSorted((one, other) => other.count - one.count || one.row.at - other.row.at)
        .slice(0, limit)
        .map(({ row, count }) => byChunks(row, count, total))
      const matches = [...found.matches, ...sharing]
      this.#countMatches(matches)
      return { matches, chunks: { total, known }, possibleMiss: found.possibleMiss }
    })
  }

  /** Adds the fingerprints of a document, whatever they match; those that the id had before are replaced. */
  add(input: FingerprintInput): Promise<AddedFingerprints> {
    return this.#measured('add', async () => {
      const { added, chunks } = await this.#add(this.#preparer.input(input), false)
      const { status } = added
      if (status !== 'duplicate') return { status, chunks }
      throw new PrestigeError('BODY_MISUSE', 'An addition without a condition was refused.')
    })
  }

  /**
   * Adds the fingerprints of a document unless others match by canonical form, SimHash or MinHash. Decided in one
   * transaction: of any number of workers that have the same content, exactly one gets `new`. Chunks do not
   * decide; `chunks` says how many of them others had.
   */
  addIfNew(input: FingerprintInput): Promise<FingerprintVerdict> {
    return this.#measured('addIfNew', async () => {
      const { added, chunks } = await this.#add(this.#preparer.input(input), true)
      const { status, possibleMiss } = added
      const [match] = added.matches
      this.#countMatches(added.matches)
      if (status === 'duplicate' && match)
        return { isNew: false, status, match, chunks, possibleMiss }
      if (status === 'known') return { isNew: false, status, chunks, possibleMiss }
      return { isNew: true, status: 'new', chunks, possibleMiss }
    })
  }

  /** Whether it was there. */
  remove(id: string): Promise<boolean> {
    return this.#measured('remove', async () => {
      const row = await this.#backend.run(retireDocument, documentKey(id), Infinity)
      if (row) await clear(this.#backend, this.#indexes, row)
      return row !== undefined
    })
  }

  get(id: string): Promise<FingerprintInfo | undefined> {
    return this.#gate.pass(async () => {
      const row = await this.#backend.read(findRow, this.#indexes, documentKey(id))
      return row && { ...shownRow(row), chunks: row.chunks }
    })
  }

  /** Documents; those beyond `retentionMs` count until they are pruned. */
  count(): Promise<number> {
    return this.#gate.pass(() => this.#backend.read(countOf))
  }

  /**
   * Removes fingerprints added before a time (by default, beyond `retentionMs`). Adding a document again renews its
   * time. What a removal that was interrupted has left is removed as well.
   */
  prune(
    options: {
      readonly olderThan?: number | Date | undefined
      readonly dryRun?: boolean | undefined
    } = {},
  ): Promise<PrunedFingerprints> {
    return this.#measured('prune', async () => {
      refuseUnknown(options, ['olderThan', 'dryRun'])
      const before = Number(options.olderThan ?? this.#backend.now() - this.#retentionMs)
      if (!(before >= 0)) {
        throw new PrestigeError(
          'INVALID_OPTIONS',
          'Give olderThan, a time, or open with retentionMs.',
        )
      }
      return prune(this.#backend, this.#indexes, before, options.dryRun ?? false)
    })
  }

  close(): Promise<void> {
    return this.#gate.close(async () => {
      try {
        for (const index of this.#indexes.all) await index.keepSnapshot(this.#backend)
      } finally {
        await this.#backend.close()
      }
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #add(
    prepared: PreparedInput,
    onlyIfNew: boolean,
  ): Promise<{ readonly added: Added; readonly chunks: ChunkCounts }> {
    const lists = this.#lists(prepared.chunks)
    const isWhole = lists.length === 0 || (lists.length === 1 && this.#fitsBeside(prepared))
    const total = prepared.chunks.length
    const addition = { prepared, lists, isWhole, onlyIfNew }
    const added = await this.#run(() => this.#backend.run(addDocument, this.#indexes, addition))
    if (added.replaced) await clear(this.#backend, this.#indexes, added.replaced)
    if (added.status === 'duplicate' || (added.status === 'known' && added.isWhole)) {
      const { known } = await this.#sharedChunks(prepared.chunks)
      return { added, chunks: { total, known } }
    }
    if (added.isWhole || !added.row) return { added, chunks: { total, known: added.knownChunks } }
    let known = 0
    for (const [number, list] of lists.entries()) {
      const found = await this.#backend.run(addList, this.#indexes, added.row, number, list)
      if (found === undefined) break
      known += found
    }
    return { added, chunks: { total, known } }
  }

  /** What was applied to the tables may have been rolled back. */
  async #run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      this.#indexes.invalidate()
      throw error
    }
  }

  #lists(chunks: readonly Buffer[]): Buffer[][] {
    const { cellsMax, valueBytesMax } = this.#backend.limits
    const byCells = Math.max(1, cellsMax - OTHER_CELLS)
    const size = Math.min(LIST_MAX, byCells, Math.floor(valueBytesMax / HASH_BYTES))
    const lists: Buffer[][] = []
    for (let at = 0; at < chunks.length; at += size) lists.push(chunks.slice(at, at + size))
    return lists
  }

  /** Whether all chunks can be added in the transaction that adds the document. */
  #fitsBeside({ chunks, minhash, simhash }: PreparedInput): boolean {
    const bands = this.#settings.minhash.bands * minhash.length + 4 * simhash.length
    return chunks.length + bands + OTHER_CELLS <= this.#backend.limits.cellsMax
  }

  async #sharedChunks(chunks: readonly Buffer[]) {
    const shared = new Map<string, { row: FingerprintRow; count: number }>()
    let known = 0
    for (const list of this.#lists(chunks)) {
      const found = await this.#backend.read(searchChunks, this.#indexes, list)
      known += found.known
      for (const { row, count } of found.shared) {
        shared.set(row.id, { row, count: count + (shared.get(row.id)?.count ?? 0) })
      }
    }
    return { known, shared: [...shared.values()] }
  }

  #countMatches(matches: readonly FingerprintMatch[]): void {
    for (const { method } of matches) {
      this.#metrics?.counter(`${PREFIX}.matches`, 1, { method })
    }
  }

  /** Bad input rejects the promise; it is never thrown beside it. */
  #measured<T>(operation: string, work: () => Promise<T>): Promise<T> {
    return this.#gate.pass(() => measured(this.#metrics, PREFIX, operation, work))
  }
}

function byChunks(row: FingerprintRow, shared: number, total: number): FingerprintMatch {
  return { ...shownRow(row), method: 'chunks', similarity: shared / total, shared }
}

function* findRow(
  scope: ReadScope,
  indexes: Indexes,
  key: Buffer,
): Transaction<FingerprintRow | undefined> {
  const [row] = yield* read(cell(ids, key))
  return row && (yield* liveRow(indexes, row, { scope: undefined, now: scope.now() }))
}

function* countOf(_scope: ReadScope): Transaction<number> {
  const [count = 0] = yield* read(cell(fingerprintTallies, DOCUMENTS))
  return count
}

function limitOf(options: { readonly limit?: number | undefined }): number {
  refuseUnknown(options, ['limit'])
  const { limit = LIMIT } = options
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIMIT_MAX) return limit
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `limit is a whole number from 1 to ${LIMIT_MAX}, not ${String(limit)}.`,
  )
}

/** A misspelt option must not be one that was never given. */
function refuseUnknown(options: object, names: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (names.includes(name)) continue
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `${name} is not an option here. There is ${names.join(', ')}.`,
    )
  }
}
