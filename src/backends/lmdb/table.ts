/**
 * One table of an LMDB directory, with the writes of the group that is being committed in front of it.
 *
 * A group that must reach the disk is written by a thread of lmdb's own after all of its transactions have run. Until
 * then its writes are kept here, so that each transaction of the group sees those before it. A group that is left to
 * the operating system is written as it runs, and keeps nothing here.
 */

import type * as Lmdb from 'lmdb'

import { asBuffer, type Bytes, concat, copyOf, EMPTY, latin1 } from '../../platform/bytes.ts'
import type { RawRow } from '../kit/pages.ts'
import { headBytes, mayHaveRest } from './page-fit.ts'

type Get = (key: Bytes, moment?: Moment) => Buffer | undefined
/** Its types leave out what its documentation says: single rows are read of a transaction that is held, too. */
type Database = Lmdb.Database<Bytes, Bytes> & { getBinary: Get; getBinaryFast: Get }
type WriteKey = (key: Bytes, target: Buffer, start: number) => number
type ReadKey = (source: Buffer, start: number, end: number) => Buffer

/** `undefined`: the row is removed. */
interface Pending {
  readonly key: Buffer
  readonly bytes: Bytes | undefined
}

/** A range of whole keys, from `start`, up to and without `end`. */
export interface KeyRange {
  readonly start: Buffer
  readonly end: Buffer
  readonly limit: number
}

/** Puts a namespace's prefix in front of keys as lmdb takes them in, without a copy a key. */
export class PrefixedKeys {
  prefix: Buffer = EMPTY
  readonly encoder: { writeKey: WriteKey; readKey: ReadKey } = {
    writeKey: (key, target, start) => {
      const { prefix } = this
      if (prefix.byteLength === 1) target[start] = prefix[0] ?? 0
      else if (prefix.byteLength > 0) target.set(prefix, start)
      target.set(key, start + prefix.byteLength)
      return start + prefix.byteLength + key.byteLength
    },
    readKey: (source, start, end) => copyOf(source.subarray(start, end)),
  }

  /** Runs synchronous work whose keys carry their prefix already. */
  whole<T>(work: () => T): T {
    const { prefix } = this
    this.prefix = EMPTY
    try {
      return work()
    } finally {
      this.prefix = prefix
    }
  }
}

/** A read transaction that is held: reads with it see what was committed when it began. */
export interface Moment {
  readonly transaction: Lmdb.Transaction
}

/** Of a table whose values are never overwritten: where the ends of some of them are (page-fit.ts). */
export interface Rests {
  readonly database: Database
  readonly pageBytes: number
}

export class LmdbTable {
  readonly #database: Database
  readonly #keys: PrefixedKeys
  readonly #rests: Rests | undefined
  readonly #pending = new Map<string, Pending>()

  constructor(database: Database, keys: PrefixedKeys, rests: Rests | undefined) {
    this.#database = database
    this.#keys = keys
    this.#rests = rests
  }

  /** A copy of the value. */
  get(key: Bytes, moment?: Moment): Buffer | undefined {
    if (this.#pending.size > 0 && !moment) {
      const own = this.#pending.get(this.#name(key))
      if (own) return own.bytes && copyOf(own.bytes)
    }
    const shared = this.#database.getBinaryFast(key, moment)
    if (shared === undefined) return undefined
    // The buffer is lmdb's own, reused by the next get, and longer than its `length` says; `copy` goes by
    // the true length, `subarray` by the one that lmdb has set.
    return this.#whole(key, copyOf(shared.subarray(0, shared.length)), moment)
  }

  /** Whole keys in byte order; fewer than the limit only at the end of the range. */
  keys(range: KeyRange, moment?: Moment): Buffer[] {
    const list = (asked: KeyRange) =>
      this.#keys.whole(() => [...this.#database.getKeys({ ...asked, ...moment })])
    if (this.#pending.size === 0 || moment) return list(range).map((key) => asBuffer(key))
    const found = list(this.#withPending(range)).map((key) => ({
      key: asBuffer(key),
      bytes: EMPTY,
    }))
    return this.#merged(found, range).map(({ key }) => key)
  }

  /** Rows with whole keys; fewer than the limit only at the end of the range. */
  rows(range: KeyRange, moment?: Moment): RawRow[] {
    if (this.#pending.size === 0 || moment) return this.page(range, Infinity, moment).rows
    return this.#merged(this.page(this.#withPending(range), Infinity).rows, range)
  }

  /** Rows of what has been committed, of about so many bytes. */
  page(range: KeyRange, bytesMax: number, moment?: Moment): { rows: RawRow[]; isLast: boolean } {
    const rows: RawRow[] = []
    let bytes = 0
    const isCut = this.#keys.whole(() => {
      for (const { key, value } of this.#database.getRange({ ...range, ...moment })) {
        const whole = this.#whole(key, asBuffer(value), moment)
        rows.push({ key: asBuffer(key), bytes: whole })
        bytes += whole.byteLength
        if (bytes >= bytesMax) return true
      }
      return false
    })
    return { rows, isLast: !isCut && rows.length < range.limit }
  }

  /** Writes into the open write transaction. */
  write(key: Bytes, bytes: Bytes | undefined): void {
    if (bytes === undefined) {
      this.#database.removeSync(key)
      this.#rests?.database.removeSync(key)
      return
    }
    const { head, rest } = this.#laid(bytes)
    this.#database.putSync(key, head)
    if (rest) this.#rests?.database.putSync(key, rest)
  }

  /** Keeps a write until `flush`. */
  keep(key: Bytes, bytes: Bytes | undefined): void {
    this.#pending.set(this.#name(key), { key: concat(this.#keys.prefix, key), bytes })
  }

  /** Hands the writes that were kept to the batch that is open. */
  flush(): void {
    this.#keys.whole(() => {
      for (const { key, bytes } of this.#pending.values()) this.#hand(key, bytes)
    })
    this.forget()
  }

  /** The promise of the whole batch is the one that counts, not those of its writes. */
  #hand(key: Buffer, bytes: Bytes | undefined): void {
    if (bytes === undefined) {
      void this.#database.remove(key)
      void this.#rests?.database.remove(key)
      return
    }
    const { head, rest } = this.#laid(bytes)
    void this.#database.put(key, head)
    if (rest) void this.#rests?.database.put(key, rest)
  }

  #laid(bytes: Bytes): { readonly head: Bytes; readonly rest: Bytes | undefined } {
    const { length } = bytes
    const head = this.#rests ? headBytes(length, this.#rests.pageBytes) : length
    if (head === length) return { head: bytes, rest: undefined }
    return { head: bytes.subarray(0, head), rest: bytes.subarray(head) }
  }

  #whole(key: Bytes, head: Buffer, moment: Moment | undefined): Buffer {
    if (!this.#rests || !mayHaveRest(head.length, this.#rests.pageBytes)) return head
    const rest = this.#rests.database.getBinary(key, moment)
    return rest ? concat(head, rest) : head
  }

  forget(): void {
    if (this.#pending.size > 0) this.#pending.clear()
  }

  #name(key: Bytes): string {
    return latin1(this.#keys.prefix) + latin1(key)
  }

  /** As many more as may turn out to be removed. */
  #withPending(range: KeyRange): KeyRange {
    return { ...range, limit: range.limit + this.#pending.size }
  }

  #merged(found: readonly RawRow[], { start, end, limit }: KeyRange): RawRow[] {
    const merged = found.filter(({ key }) => !this.#pending.has(latin1(key)))
    for (const { key, bytes } of this.#pending.values()) {
      if (bytes && key.compare(start) >= 0 && key.compare(end) < 0) {
        merged.push({ key, bytes: copyOf(bytes) })
      }
    }
    return merged.toSorted((one, other) => one.key.compare(other.key)).slice(0, limit)
  }
}
