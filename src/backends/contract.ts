/**
 * The one contract between the modules and the engines that keep bytes.
 *
 * A backend keeps byte keys in named spaces and has five verbs: `read`, `scan`, `run`, `snapshot`, `close`. What must
 * be atomic is written as a generator (a body): it yields the cells it wants, receives their values,
 * records writes in its scope and returns a result. It never awaits, takes time and ids from its scope
 * alone, changes nothing it was given, and can therefore be run again from the start.
 *
 * What a backend owes:
 *  - `run` is serialisable: the result, or the error, that leaves it is one that a run alone, at one
 *    moment, would have given; all recorded writes are applied, or none.
 *  - `read` answers from one moment as well. A failed read is an error, never a miss.
 *  - A body reads its own writes.
 *  - Bytes handed out are the caller's own. Bytes handed in (arguments, keys, values) must not change until
 *    the verb has ended; afterwards the engine keeps no hold of them.
 *
 * Deliberately not its business: hashing, references, expiry. Modules own meaning, a backend owns bytes.
 */

import type { Bytes } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'

export interface Codec<V> {
  /** `key`: under which the row is kept, for codecs that tie a row to its key. Engines always give it. */
  encode(value: V, key?: Bytes): Bytes
  /** The bytes are fresh and may be kept. */
  decode(bytes: Bytes, key?: Bytes): V
}

/** A named partition of a backend, and the type of what it keeps. */
export interface Space<V> {
  readonly name: string
  readonly codec: Codec<V>
  /** `rows`: any value. `tallies`: whole numbers that are only added to, and that no transaction reads. */
  readonly kind: 'rows' | 'tallies'
  /** Keys can be scanned in byte order, and `first` and `rowsOf` may be asked. */
  readonly ordered: boolean
  /** A key is written at most once before it is removed for ever, so its value need not be validated. */
  readonly immutable: boolean
  /**
   * Ordered rows are mostly scanned by this many first bytes of their keys, all of which a scan then names. Engines
   * that spread a space keep what shares them together.
   */
  readonly gatherBytes?: number
}

/** The address of one value. */
export interface Cell<V> {
  readonly space: Space<V>
  readonly key: Bytes
}

export interface Row<V> {
  readonly key: Buffer
  readonly value: V
}

/** Half open, in byte order: from `start`, up to and without `end`. */
export interface Range {
  readonly start?: Bytes | undefined
  readonly end?: Bytes | undefined
  readonly limit?: number | undefined
}

/** "What is in these cells?", of a body that relies on the answer. */
export interface ReadAsk {
  readonly kind: 'read'
  readonly cells: readonly Cell<unknown>[]
}

/** "What is in these cells?", of a body that does not rely on the answer. */
export interface GlanceAsk {
  readonly kind: 'glance'
  readonly cells: readonly Cell<unknown>[]
}

/** "Which is the first key of this space with this prefix?" Answered with one key, or `undefined`. */
export interface FirstAsk {
  readonly kind: 'first'
  readonly space: Space<unknown>
  readonly prefix: Bytes
}

/** "Which rows of this space are in this range?" The range has a limit. */
export interface RowsAsk {
  readonly kind: 'rows'
  readonly space: Space<unknown>
  readonly range: Range & { readonly limit: number }
}

/** What a body yields. The answer is a list: a value for each cell, one key, or rows. */
export type Ask = ReadAsk | GlanceAsk | FirstAsk | RowsAsk
/** A body under way. */
export type Transaction<T> = Generator<Ask, T, readonly unknown[]>

/** What a body that only reads may use. */
export interface ReadScope {
  /** Milliseconds since 1970; the same for the whole transaction, and never before that of an earlier one here. */
  now(): number
  /**
   * What must be unchanged at the end is every cell `read` that is not immutable, and of those only glanced
   * at, the cells named here. It only ever adds: a body can call another without knowing what that relies on.
   */
  rely(...cells: readonly Cell<unknown>[]): void
}

export interface Scope extends ReadScope {
  /** This engine runs bodies one after another, so `first` and `rowsOf` may be asked. */
  readonly serial: boolean
  write<V>(cell: Cell<V>, value: V): void
  remove(cell: Cell<unknown>): void
  /** Adds to a tally. Additions commute: no transaction waits for another because of them. */
  add(cell: Cell<number>, delta: number): void
  /** Sixteen bytes, unique everywhere and ordered by time, so that inserts append. */
  id(): Buffer
}

export type Body<A extends readonly unknown[], T> = (scope: Scope, ...args: A) => Transaction<T>
export type ReadBody<A extends readonly unknown[], T> = (
  scope: ReadScope,
  ...args: A
) => Transaction<T>

export interface BackendLimits {
  readonly keyBytesMax: number
  /** One value. Modules split what is larger. */
  readonly valueBytesMax: number
  /** Cells relied on or written by one transaction. */
  readonly cellsMax: number
  /** Keys and values that one transaction writes, where there is such a limit. */
  readonly transactionBytesMax?: number
}

/** Single rows, for whoever need not wait for them. */
export interface RowReader {
  now(): number
  get<V>(space: Space<V>, key: Bytes): V | undefined
}

/** The file of an engine that keeps everything in one. */
export interface EngineFile {
  /** What it takes on the disk. */
  bytes(): number
  /**
   * Writes it again without what is free in it, and gives that back to the file system. Writes wait meanwhile; reads go
   * on. CONTENDED where others have it open.
   */
  compact(): Promise<void>
  /** Somebody else has it open, or it cannot be determined whether that is so. */
  isShared(): Promise<boolean>
}

export interface Backend {
  readonly limits: BackendLimits
  /** `undefined`: this engine has no file of its own. */
  readonly file?: EngineFile | undefined
  /** Bodies run one after another here. Otherwise they are optimistic, and `first` and `rowsOf` are refused. */
  readonly serial: boolean
  /** `snapshot` holds one moment for as long as it is open. */
  readonly snapshots: boolean
  /** The clock that transactions see. */
  now(): number
  /** Runs a body that writes nothing, against one moment, and returns its result. */
  read<A extends readonly unknown[], T>(body: ReadBody<A, T>, ...args: A): Promise<T>
  /**
   * The same for a function that asks for one row after another, and ends before it returns: without a generator, and
   * without a promise unless it has to wait. `undefined`: rows of this engine are not in this process.
   */
  readonly peek?: (<T>(look: (rows: RowReader) => T) => T | Promise<T>) | undefined
  /**
   * Rows of one ordered space in byte order. Every page is strongly consistent; rows that come or go while
   * the scan runs may or may not be seen.
   *
   * Of a space without an order, and of tallies: all rows, in any order, some perhaps more than once. Only for work
   * that reads everything (archives, verification): an engine may have to read more than the space. A range is
   * refused there.
   */
  scan<V>(space: Space<V>, range?: Range): AsyncIterable<Row<V>>
  /** Runs the transaction serialisably to its end and returns its result. */
  run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T>
  /**
   * A view that only reads, to be closed before this backend is: `run` is READ_ONLY. Where `snapshots`, all of its reads
   * and scans, and its clock, are of the moment when it was made, whatever is written later; elsewhere each is as
   * it would be here.
   */
  snapshot(): Promise<Backend>
  /** Waits for everything accepted, snapshots included, then refuses every verb. May be called again. */
  close(): Promise<void>
}

/** What every backend can be opened with. */
export interface BackendOptions {
  readonly spaces: readonly Space<unknown>[]
  /** Backends of different namespaces in one location never see each other's cells. */
  readonly namespace?: string | undefined
  readonly clock?: (() => number) | undefined
  readonly random?: ((count: number) => Bytes) | undefined
}

type ValuesOf<C extends readonly Cell<unknown>[]> = {
  -readonly [I in keyof C]: C[I] extends Cell<infer V> ? V | undefined : never
}

/** Asks for cells: `const [entry, known] = yield* read(cell(entries, key), cell(digests, digest))`. */
export function* read<const C extends readonly Cell<unknown>[]>(
  ...cells: C
): Transaction<ValuesOf<C>> {
  return (yield { kind: 'read', cells }) as ValuesOf<C> // safe: drivers answer in the order and the types of the cells asked
}

/**
 * Asks for cells as `read` does, without relying on them: others may change them before this transaction ends.
 * Whoever decides by one of them after all names it to `scope.rely`.
 */
export function* glance<const C extends readonly Cell<unknown>[]>(
  ...cells: C
): Transaction<ValuesOf<C>> {
  return (yield { kind: 'glance', cells }) as ValuesOf<C> // safe: as in `read`
}

/** The first key with a prefix. Only where `scope.serial`. */
export function* first(space: Space<unknown>, prefix: Bytes): Transaction<Buffer | undefined> {
  const [key] = yield { kind: 'first', space, prefix }
  return key as Buffer | undefined // safe: drivers answer a FirstAsk with a key or nothing
}

/** The first rows of a range in byte order, own writes included. Only where bodies run one after another. */
export function* rowsOf<V>(
  space: Space<V>,
  range: Range & { readonly limit: number },
): Transaction<readonly Row<V>[]> {
  return (yield { kind: 'rows', space, range }) as readonly Row<V>[] // safe: drivers answer a RowsAsk with rows of its space
}

export function cell<V>(space: Space<V>, key: Bytes): Cell<V> {
  return { space, key }
}

export function rows<V>(
  name: string,
  codec: Codec<V>,
  traits: {
    readonly ordered?: boolean
    readonly immutable?: boolean
    readonly gatherBytes?: number
  } = {},
): Space<V> {
  const { ordered = false, immutable = false, ...rest } = traits
  return Object.freeze({ name, codec, kind: 'rows' as const, ordered, immutable, ...rest })
}

/** Counters as eight bytes; engines that count by themselves need no codec. */
const tallyCodec: Codec<number> = {
  encode(value) {
    const bytes = Buffer.allocUnsafe(8)
    bytes.writeDoubleLE(value)
    return bytes
  },
  decode(bytes) {
    if (bytes.byteLength !== 8) {
      const message = 'A tally cannot be read. Run prestige verify --repair on this store.'
      throw new PrestigeError('CONTENT_CORRUPT', message)
    }
    return new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0, true)
  },
}

export function tallies(name: string): Space<number> {
  return Object.freeze({
    name,
    codec: tallyCodec,
    kind: 'tallies' as const,
    ordered: false,
    immutable: false,
  })
}
