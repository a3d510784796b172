/**
 * The tables in memory, made from the journal: a view, never a second truth.
 *
 * It is brought up to date inside the transaction that is about to decide by it, so all processes on one
 * directory decide as one. Invariant after `catchUp`: every representative there is, is in the tables. There
 * may be others, of transactions that were rolled back; whoever measures a candidate reads its row, and finds
 * none.
 *
 * Whoever loads it starts with a snapshot of the tables, where there is one (snapshot.ts).
 *
 * Where memory is bounded, the tables have only what came last: what came before is in segments (segments/), of which
 * memory has the filters, and a search asks both. Segments are sealed between transactions; the list of them is read
 * in each.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'

import { type Bytes, EMPTY, equalBytes, latin1 } from '../platform/bytes.ts'
import {
  type Backend,
  cell,
  read,
  type Row,
  rowsOf,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import type { Candidates, GroupedTables, TableStats } from '../fingerprint/index.ts'
import type { SignatureLayout } from './scheme/scheme.ts'
import { HEAD_KEY, readChange } from './journal.ts'
import { type Head, type JournalRow, type NearSpaces, sequenceKey, sequenceOf } from './rows.ts'
import { sealingBytes } from './segments/from-journal.ts'
import { loadSegments, NO_SEGMENTS, readList, type Segment } from './segments/rows.ts'
import type { ListedSegments } from './segments/seal.ts'
import { searchSealed, type ViewQuery } from './segments/search.ts'
import { loadSnapshot } from './snapshot.ts'

const PAGE_ROWS = 250
const NOTHING = { nonce: EMPTY }
/** Of the memory there may be: tables have at least so much, with what it takes to seal them. */
const TABLES_SHARE = 1 / 4

/** A row this process has put into the journal, in which transaction, and the nonce of the one before it. */
export interface OwnInsert<Signature> {
  readonly scope: Scope
  readonly sequence: number
  readonly nonce: Buffer
  readonly before: Bytes
  readonly partition: Bytes
  readonly id: Bytes
  readonly signature: Signature
}

/** A state of a view. */
export interface Mark {
  readonly tables: unknown
  readonly sequence: number
  readonly nonce: Buffer
}

export class NearView<Signature> {
  readonly #spaces: NearSpaces
  readonly #scheme: SignatureLayout<Signature>
  readonly #bytesMax: number
  #tables: GroupedTables<Signature>
  /** What is not in the tables, because it came before. */
  #segments: readonly Segment[] = []
  #list: Buffer = NO_SEGMENTS.id
  /** A list with a segment that cannot be read. */
  #unusable: Buffer | undefined
  /** Journal rows of removals that were applied to the tables. */
  #removals = 0
  /** The last journal row that was applied. */
  #sequence = 0
  #last: Pick<JournalRow, 'nonce'> = NOTHING
  #isInvalid = false
  #own: OwnInsert<Signature> | undefined
  /** The transaction that it was last caught up in; nobody else changes the journal while that goes on. */
  #scope: Scope | undefined

  /** `bytesMax`: of tables and filters. */
  constructor(spaces: NearSpaces, scheme: SignatureLayout<Signature>, bytesMax = Infinity) {
    this.#spaces = spaces
    this.#scheme = scheme
    this.#bytesMax = bytesMax
    this.#tables = scheme.tables()
  }

  /**
   * Reads the journal page by page, letting others have their turn. What comes later is caught up with. `onPage` is
   * called after each of them.
   */
  async load(backend: Backend, onPage?: () => Promise<unknown>): Promise<void> {
    if (this.#isBounded) await backend.read(() => this.adopt())
    const bytesMax = this.#bytesMax * TABLES_SHARE
    const snapshot =
      this.#segments.length === 0 &&
      (await loadSnapshot(backend, this.#spaces, this.#scheme, bytesMax))
    if (snapshot) {
      this.#tables = snapshot.tables
      this.#sequence = snapshot.sequence
      this.#last = { nonce: snapshot.nonce }
    }
    for (let isLast = false; !isLast;) {
      isLast = await backend.read(() => this.#applyPage())
      await onPage?.()
      await nextTurn()
    }
  }

  get #isBounded(): boolean {
    return this.#bytesMax !== Infinity
  }

  /** Bytes of tables and of filters. */
  get bytes(): number {
    return this.#segments.reduce((sum, { entries }) => sum + entries.bytes, this.#tables.bytes)
  }

  /** The tables are to be sealed. */
  get isFull(): boolean {
    if (!this.#isBounded) return false
    const { size, bytes } = this.#tables
    const sealing = size * sealingBytes(this.#scheme.banding.bands)
    // Filters are there twice while segments are merged.
    const left = this.#bytesMax - 2 * (this.bytes - bytes)
    return size > 0 && bytes + sealing > Math.max(left, this.#bytesMax * TABLES_SHARE)
  }

  /** What new segments are added to. */
  get sealed(): ListedSegments {
    return { list: this.#list, segments: this.#segments }
  }

  /** The last journal row that was applied. */
  get sequence(): number {
    return this.#sequence
  }

  mark(): Mark {
    return { tables: this.#tables, sequence: this.#sequence, nonce: this.#last.nonce }
  }

  /** Nothing has changed since. */
  isAt({ tables, sequence, nonce }: Mark): boolean {
    if (this.#isInvalid || this.#tables !== tables) return false
    return this.#sequence === sequence && equalBytes(this.#last.nonce, nonce)
  }

  /** All that the tables hold. */
  memory(): Iterable<Uint8Array> {
    return this.#tables.memory()
  }

  /** Something that was applied may have been rolled back: the tables are rebuilt before their next use. */
  invalidate(): void {
    this.#isInvalid = true
    this.#scope = undefined
  }

  /** Will be found at the head of the journal, unless it is rolled back or another comes first. */
  expect(own: OwnInsert<Signature>): void {
    this.#own = own
  }

  *query(partition: Bytes, signature: Signature, query: ViewQuery): Transaction<Candidates> {
    if (this.#segments.length > 0) {
      const found = yield* this.#searchSealed(partition, signature, query)
      if (found) return found
      // From here on they are as if there were none: everything is in the tables again.
      this.#unusable = this.#list
      this.invalidate()
      yield* this.catchUp(true)
    }
    return this.#tables.query(latin1(partition), signature, query)
  }

  #searchSealed(
    partition: Bytes,
    signature: Signature,
    query: ViewQuery,
  ): Transaction<Candidates | undefined> {
    const removals = this.#segments.reduce((sum, one) => sum + one.removals, this.#removals)
    return searchSealed(
      {
        spaces: this.#spaces,
        scheme: this.#scheme,
        segments: this.#segments,
        tables: this.#tables,
        removals,
      },
      { partition, signature, query },
    )
  }

  stats(partition: Bytes): TableStats | undefined {
    return this.#tables.stats(latin1(partition))
  }

  /**
   * In one transaction, all but the first catching up needs no read of the journal. `scope` is its own; `flush` writes
   * what it has gathered for the journal.
   */
  *catchUpIn(scope: Scope, flush: () => void): Transaction<void> {
    if (this.#scope === scope && this.#takeOwnIn()) return
    flush()
    yield* this.catchUp(false)
    this.#scope = scope
  }

  /** To be called when a transaction has changed the journal otherwise than announced by `expect`. */
  changed(): void {
    this.#scope = undefined
  }

  /** `isReading`: the moment that is read may be older than what the tables know already. */
  *catchUp(isReading: boolean): Transaction<void> {
    this.#scope = undefined
    if (this.#isBounded) yield* this.adopt()
    const [head] = yield* read(cell(this.#spaces.heads, HEAD_KEY))
    if (head && this.#takeOwn(head)) return
    if (this.#isInvalid || !(yield* this.#isUpTo(head, isReading))) this.#clear()
    else if (!head || head.sequence < this.#sequence || this.#isAtHead(head)) return
    for (let isLast = false; !isLast;) isLast = yield* this.#applyPage()
  }

  /** All of a block have one nonce, and it may have been applied in part. */
  #isAtHead({ sequence, nonce }: Head): boolean {
    return sequence === this.#sequence && equalBytes(nonce, this.#last.nonce)
  }

  /** Takes the segments that are listed now. If they are others, tables begin after them. */
  *adopt(): Transaction<void> {
    const list = yield* readList(this.#spaces, this.#scheme.shape)
    if (equalBytes(list.id, this.#list) && !this.#isInvalid) return
    const isUnusable = this.#unusable !== undefined && equalBytes(list.id, this.#unusable)
    const usable = isUnusable ? NO_SEGMENTS : list
    const segments = yield* loadSegments(this.#spaces, usable, this.#segments)
    this.#list = list.id
    const before = this.#segments.at(-1)?.to ?? 0
    this.#segments = segments
    if ((segments.at(-1)?.to ?? 0) !== before) this.#clear()
  }

  /** Whether it was the last one. */
  *#applyPage(): Transaction<boolean> {
    const start = sequenceKey(this.#sequence + 1)
    const page = yield* rowsOf(this.#spaces.journal, { start, limit: PAGE_ROWS })
    for (const row of page) this.#apply(row)
    return page.length < PAGE_ROWS
  }

  /** Whether all that was applied is in the journal. */
  *#isUpTo(head: Head | undefined, isReading: boolean): Transaction<boolean> {
    if (this.#sequence === 0) return true
    if (head && equalBytes(head.nonce, this.#last.nonce)) return true
    // Those who write are driven one after another, and see what was driven before them; a reader does not.
    if ((head?.sequence ?? 0) < this.#sequence) return isReading
    const row = yield* readChange(this.#spaces, this.#sequence)
    return row !== undefined && equalBytes(row.nonce, this.#last.nonce)
  }

  /**
   * The next row of the journal, if it is one's own, need not be read. A nonce is of one commit: if the head has
   * it, that row is there, and the one before it is the last that was applied.
   */
  #takeOwn(head: Head): boolean {
    const own = this.#own
    if (!own || this.#isInvalid || !equalBytes(head.nonce, own.nonce)) return false
    this.#own = undefined
    return this.#takeNext(own)
  }

  /** Whether nothing has happened since, in the same transaction, but one insert of its own at most. */
  #takeOwnIn(): boolean {
    const own = this.#own
    if (own?.scope !== this.#scope) return true
    this.#own = undefined
    return own === undefined || this.#takeNext(own)
  }

  #takeNext(own: OwnInsert<Signature>): boolean {
    if (!equalBytes(own.before, this.#last.nonce)) return false
    // All of a block have one nonce: of the one before it, more may be in the journal than was applied.
    if (own.sequence !== this.#sequence + 1) return false
    this.#tables.insert(latin1(own.partition), own.id, own.signature)
    this.#sequence = own.sequence
    this.#last = { nonce: own.nonce }
    return true
  }

  #clear(): void {
    const last = this.#segments.at(-1)
    this.#tables = this.#scheme.tables()
    this.#removals = 0
    this.#sequence = last?.to ?? 0
    this.#last = last ?? NOTHING
    this.#isInvalid = false
  }

  #apply({ key, value }: Row<JournalRow>): void {
    const before = this.#sequence
    this.#sequence = sequenceOf(key)
    this.#last = value
    if (value.kind === 'gone') return
    if (value.kind === 'block') {
      for (const { partition, id, signature } of value.insertsAfter(before, this.#sequence))
        this.#tables.insert(latin1(partition), id, this.#scheme.borrowed(signature))
      return
    }
    const partition = latin1(value.partition)
    if (value.kind === 'remove') {
      this.#removals++
      this.#tables.remove(partition, value.id)
    } else this.#tables.insert(partition, value.id, this.#scheme.borrowed(value.signature))
  }
}
