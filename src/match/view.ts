/**
 * The tables in memory, made from the journal: a view, never a second truth.
 *
 * It is brought up to date inside the transaction that is about to decide by it, so all processes on one
 * directory decide as one. Invariant after `catchUp`: every representative there is, is in the tables. There
 * may be others, of transactions that were rolled back; whoever measures a candidate reads its row, and finds
 * none.
 *
 * Whoever loads it starts with a snapshot of the tables, where there is one (snapshot.ts).
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
import type { CandidateQuery, Candidates, GroupedTables, TableStats } from '../fingerprint/index.ts'
import type { SignatureLayout } from './scheme/scheme.ts'
import { type Head, type JournalRow, type NearSpaces, sequenceKey, sequenceOf } from './rows.ts'
import { loadSnapshot } from './snapshot.ts'

export const HEAD_KEY: Buffer = Buffer.from('journal')
const PAGE_ROWS = 1000
const NOTHING = { nonce: EMPTY }

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
  #tables: GroupedTables<Signature>
  /** The last journal row that was applied. */
  #sequence = 0
  #last: Pick<JournalRow, 'nonce'> = NOTHING
  #isInvalid = false
  #own: OwnInsert<Signature> | undefined
  /** The transaction that it was last caught up in; nobody else changes the journal while that goes on. */
  #scope: Scope | undefined

  constructor(spaces: NearSpaces, scheme: SignatureLayout<Signature>) {
    this.#spaces = spaces
    this.#scheme = scheme
    this.#tables = scheme.tables()
  }

  /** Reads the journal page by page, letting others have their turn. What comes later is caught up with. */
  async load(backend: Backend): Promise<void> {
    const snapshot = await loadSnapshot(backend, this.#spaces, this.#scheme)
    if (snapshot) {
      this.#tables = snapshot.tables
      this.#sequence = snapshot.sequence
      this.#last = { nonce: snapshot.nonce }
    }
    for (let isLast = false; !isLast;) {
      isLast = await backend.read(() => this.#applyPage())
      await nextTurn()
    }
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

  query(partition: Bytes, signature: Signature, query: CandidateQuery): Candidates {
    return this.#tables.query(latin1(partition), signature, query)
  }

  stats(partition: Bytes): TableStats | undefined {
    return this.#tables.stats(latin1(partition))
  }

  /** In one transaction, all but the first catching up needs no read of the journal. `scope` is its own. */
  *catchUpIn(scope: Scope): Transaction<void> {
    if (this.#scope === scope && this.#takeOwnIn()) return
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
    const [head] = yield* read(cell(this.#spaces.heads, HEAD_KEY))
    if (head && this.#takeOwn(head)) return
    if (this.#isInvalid || !(yield* this.#isUpTo(head, isReading))) this.#clear()
    else if (!head || equalBytes(head.nonce, this.#last.nonce) || head.sequence < this.#sequence)
      return
    for (let isLast = false; !isLast;) isLast = yield* this.#applyPage()
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
    const last = cell(this.#spaces.journal, sequenceKey(this.#sequence))
    const [row] = yield* read(last)
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
    this.#tables.insert(latin1(own.partition), own.id, own.signature)
    this.#sequence = own.sequence
    this.#last = { nonce: own.nonce }
    return true
  }

  #clear(): void {
    this.#tables = this.#scheme.tables()
    this.#sequence = 0
    this.#last = NOTHING
    this.#isInvalid = false
  }

  #apply({ key, value }: Row<JournalRow>): void {
    this.#sequence = sequenceOf(key)
    this.#last = value
    if (value.kind === 'gone') return
    const partition = latin1(value.partition)
    if (value.kind === 'remove') this.#tables.remove(partition, value.id)
    else this.#tables.insert(partition, value.id, this.#scheme.borrowed(value.signature))
  }
}
