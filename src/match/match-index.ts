/**
 * The near-duplicate index: finds the representatives a signature may be similar to.
 *
 * Where bodies run one after another, candidates come from tables in memory (view.ts), and no band is kept on
 * disk. Elsewhere they come from bucket cells (buckets.ts), which a transaction that finds nothing relies on: two
 * that both think a text is new have read the same buckets, so one commits and the other runs again and finds it.
 * A bucket that is full is not used any more, unless buckets have pages; pairs that share only full buckets can be
 * missed, and `find` says how many it passed over.
 *
 * Partitions never meet: a partition is sixteen bytes that its owner makes of everything that must be the same.
 */

import { type Bytes, concat, EMPTY, equalBytes } from '../platform/bytes.ts'
import {
  type Backend,
  cell,
  type Cell,
  read,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import type { Candidate, TableStats } from '../fingerprint/index.ts'
import { type BucketOptions, Buckets } from './buckets.ts'
import { HEAD_KEY, Journal, readChange, takeOut } from './journal.ts'
import type { SignatureLayout } from './scheme/scheme.ts'
import { withdrawSegments } from './segments/seal.ts'
import { type MemoryBound, Spill } from './segments/spill.ts'
import {
  type Bucket,
  type NearSpaces,
  type Representative,
  sequenceKey,
  sequenceOf,
} from './rows.ts'
import { keepSnapshot, snapshotSequence, withdrawSnapshot } from './snapshot.ts'
import { NearView } from './view.ts'

export interface IndexOptions extends BucketOptions {
  /** Bodies run one after another, so tables in memory decide. */
  readonly serial: boolean
  /**
   * What the tables in memory may take; the rest is searched on disk. Default: no bound. For schemes whose tables
   * always find by bands; only where bodies run one after another, because elsewhere there are no tables.
   */
  readonly memory?: MemoryBound | undefined
}

export interface Found {
  /** The highest estimate first; of equals, the oldest id. */
  readonly candidates: readonly Candidate[]
  /** Buckets that were full, and candidates there was no room for: what they hide was not found. */
  readonly passedOver: number
  /** What "nothing similar is there" relies on. */
  readonly relied: readonly Cell<unknown>[]
}

/** Views that are this many changes behind are rebuilt rather than catch up. */
const JOURNAL_KEPT = 10_000
const TRIM_PAGE = 500
/** Fewer are read from the journal in no time. */
const SNAPSHOT_CHANGES_MIN = 256
/** Of all changes: keeping a snapshot costs a few times what reading so many from the journal does. */
const SNAPSHOT_SHARE = 1 / 8

export class MatchIndex<Signature> {
  readonly scheme: SignatureLayout<Signature>
  readonly #spaces: NearSpaces
  readonly #options: IndexOptions
  readonly #view: NearView<Signature>
  readonly #journal: Journal
  readonly #buckets: Buckets<Signature>
  readonly #spill: Spill<Signature> | undefined

  constructor(spaces: NearSpaces, scheme: SignatureLayout<Signature>, options: IndexOptions) {
    this.#spaces = spaces
    this.scheme = scheme
    this.#options = options
    const { serial, memory } = options
    this.#journal = new Journal(spaces)
    this.#buckets = new Buckets(spaces, scheme, options)
    this.#view = new NearView(spaces, scheme, memory?.bytesMax)
    this.#spill = serial && memory ? new Spill(this.#view, spaces, scheme, memory) : undefined
  }

  /** Bodies run one after another. */
  get isSerial(): boolean {
    return this.#options.serial
  }

  /** To be called once, before the first search. */
  async load(backend: Backend): Promise<void> {
    if (this.#options.serial) await this.#view.load(backend, () => this.spill(backend))
  }

  /** Bytes of tables and filters in memory. */
  get bytes(): number {
    return this.#view.bytes
  }

  /** Keeps to the memory it may have. To be called between transactions that insert. */
  async spill(backend: Backend): Promise<void> {
    await this.#spill?.run(backend)
  }

  /**
   * Keeps the tables as they are, for whoever opens the index next, if enough has changed since they were kept
   * last. Whether it did.
   */
  async keepSnapshot(
    backend: Backend,
    changesMin: number = SNAPSHOT_CHANGES_MIN,
  ): Promise<boolean> {
    if (!this.#options.serial) return false
    const view = this.#view
    const spaces = this.#spaces
    const { shape } = this.scheme
    const kept = await backend.read(function* () {
      yield* view.catchUp(true)
      return yield* snapshotSequence(spaces, shape)
    })
    if (this.#isSealed) return this.sealRest(backend, changesMin)
    if (!this.#hasChanged(kept, changesMin)) return false
    try {
      return await keepSnapshot(backend, spaces, shape, view)
    } catch (error) {
      view.invalidate()
      throw error
    }
  }

  /**
   * Seals what is in the tables, if there are segments and enough has come since the last one was made, so that whoever
   * opens the index next need not. Whether it did.
   */
  async sealRest(backend: Backend, changesMin: number = SNAPSHOT_CHANGES_MIN): Promise<boolean> {
    const view = this.#view
    if (!this.#spill || !this.#isSealed) return false
    await backend.read(() => view.catchUp(true))
    if (!this.#hasChanged(view.sealed.segments.at(-1)?.to ?? 0, changesMin)) return false
    await this.#spill.seal(backend)
    return true
  }

  get #isSealed(): boolean {
    return this.#spill !== undefined && this.#view.sealed.segments.length > 0
  }

  #hasChanged(since: number, changesMin: number): boolean {
    const { sequence } = this.#view
    return sequence - since >= Math.max(changesMin, sequence * SNAPSHOT_SHARE)
  }

  /** To be called when a transaction that used the index was not committed. */
  invalidate(): void {
    this.#view.invalidate()
  }

  /** `scope` is given by those who may write. */
  *find(
    partition: Bytes,
    signature: Signature,
    estimateMin: number,
    scope: Scope | undefined,
  ): Transaction<Found> {
    if (!this.#options.serial) return yield* this.#buckets.find(partition, signature, estimateMin)
    if (scope) yield* this.#view.catchUpIn(scope, () => this.#journal.flush(scope))
    else yield* this.#view.catchUp(true)
    const { candidatesMax: limit, bucketMax } = this.#options
    const query = { estimateMin, limit, bucketMax }
    const { candidates, bucketsPassedOver } = yield* this.#view.query(partition, signature, query)
    return { candidates, passedOver: bucketsPassedOver, relied: [] }
  }

  representative(partition: Bytes, id: Bytes): Cell<Representative> {
    return cell(this.#spaces.representatives, concat(partition, id))
  }

  *insert(
    scope: Scope,
    partition: Buffer,
    id: Buffer,
    signature: Signature,
    payload: Buffer,
  ): Transaction<void> {
    const bytes = this.scheme.toBytes(signature)
    if (!this.#options.serial) {
      yield* this.#buckets.fill(scope, partition, id, signature)
      scope.write(this.representative(partition, id), { sequence: 0, signature: bytes, payload })
      return
    }
    const place = yield* this.#journal.insert(scope, { partition, id, signature: bytes })
    const { sequence } = place
    scope.write(this.representative(partition, id), { sequence, signature: EMPTY, payload })
    this.#view.expect({ scope, ...place, partition, id, signature })
  }

  /**
   * Inserts of this transaction are kept together: smaller, and for less. To be called before the first, and `flush`
   * after the last, or none of them is kept.
   */
  gather(scope: Scope): void {
    if (this.#options.serial) this.#journal.gather(scope)
  }

  flush(scope: Scope): void {
    this.#journal.flush(scope)
  }

  /** Keeps a representative that is like nothing but itself: no search finds it. */
  keep(scope: Scope, partition: Bytes, id: Bytes, payload: Buffer): void {
    scope.write(this.representative(partition, id), { sequence: 0, signature: EMPTY, payload })
  }

  /** No search finds it any more, but its row stays, with another payload. */
  *retire(scope: Scope, partition: Buffer, id: Buffer, payload: Buffer): Transaction<void> {
    yield* this.remove(scope, partition, id)
    this.keep(scope, partition, id, payload)
  }

  /** Gives a representative another payload. */
  update(scope: Scope, partition: Bytes, id: Bytes, old: Representative, payload: Buffer): void {
    scope.write(this.representative(partition, id), { ...old, payload })
  }

  /** Whether it was there. */
  *remove(scope: Scope, partition: Buffer, id: Buffer): Transaction<boolean> {
    const place = this.representative(partition, id)
    const [row] = yield* read(place)
    if (!row) return false
    scope.remove(place)
    if (row.sequence === 0 && row.signature.byteLength === 0) return true
    if (!this.#options.serial) {
      const signature = this.scheme.fromBytes(row.signature)
      yield* this.#buckets.leave(scope, partition, id, signature)
      return true
    }
    this.#view.changed()
    const { sequence, nonce } = yield* this.#journal.append(scope)
    const change = { kind: 'remove', nonce, partition, id } as const
    scope.write(cell(this.#spaces.journal, sequenceKey(sequence)), change)
    scope.write(cell(this.#spaces.dead, sequenceKey(sequence)), EMPTY)
    yield* takeOut(scope, this.#spaces, row.sequence, id)
    return true
  }

  /** The signature a representative was found by. */
  *signatureOf(partition: Bytes, id: Bytes): Transaction<Signature | undefined> {
    const [row] = yield* read(this.representative(partition, id))
    if (!row) return undefined
    if (row.sequence === 0) return this.scheme.fromBytes(row.signature)
    const insert = yield* readChange(this.#spaces, row.sequence)
    return insert?.kind === 'insert' ? this.scheme.fromBytes(insert.signature) : undefined
  }

  /** Whether every search that should find it can: its row, and the journal or the buckets, agree. */
  *isWhole(
    partition: Bytes,
    id: Bytes,
    signature: Signature,
    payload: Bytes,
  ): Transaction<boolean> {
    const [row] = yield* read(this.representative(partition, id))
    if (!row || !equalBytes(row.payload, payload)) return false
    const bytes = this.scheme.toBytes(signature)
    if (this.#options.serial) {
      const insert = yield* readChange(this.#spaces, row.sequence)
      if (insert?.kind !== 'insert' || !equalBytes(insert.signature, bytes)) return false
      return equalBytes(insert.partition, partition) && equalBytes(insert.id, id)
    }
    if (!equalBytes(row.signature, bytes)) return false
    return yield* this.#buckets.areNaming(partition, id, signature)
  }

  /** Of the tables in memory; `undefined` where there are none, or nothing of the partition is in them. */
  *stats(partition: Bytes): Transaction<TableStats | undefined> {
    if (!this.#options.serial) return undefined
    yield* this.#view.catchUp(true)
    return this.#view.stats(partition)
  }

  /** Takes journal rows of what has gone away, but for the last ones. */
  async trim(backend: Backend, kept: number = JOURNAL_KEPT): Promise<number> {
    if (!this.#options.serial) return 0
    const { heads, dead } = this.#spaces
    const head = await backend.read(function* () {
      return (yield* read(cell(heads, HEAD_KEY)))[0]
    })
    const end = sequenceKey(Math.max(0, (head?.sequence ?? 0) - kept))
    let trimmed = 0
    let page: number[] = []
    const take = async () => {
      await backend.run((scope, numbers: readonly number[]) => this.#bury(scope, numbers), page)
      trimmed += page.length
      page = []
    }
    for await (const { key } of backend.scan(dead, { end })) {
      page.push(sequenceOf(key))
      if (page.length === TRIM_PAGE) await take()
    }
    if (page.length > 0) await take()
    return trimmed
  }

  *#bury(scope: Scope, numbers: readonly number[]): Transaction<void> {
    yield* withdrawSnapshot(scope, this.#spaces, numbers)
    yield* withdrawSegments(scope, this.#spaces, this.scheme.shape, numbers)
    for (const number of numbers) {
      scope.remove(cell(this.#spaces.journal, sequenceKey(number)))
      scope.remove(cell(this.#spaces.dead, sequenceKey(number)))
    }
  }

  /** Where it is, or would be, found where there is no journal: the first page of each bucket. */
  bucketsOf(partition: Bytes, signature: Signature): Cell<Bucket>[] {
    return this.#buckets.cellsOf(partition, signature)
  }
}
