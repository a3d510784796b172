/**
 * The means of a verification: scans that count, pause and can be called off; looks at many cells; and the
 * one way in which a problem is reported and, where asked for, mended.
 *
 * What a scan or a glance shows is only ever a suspicion, because others may write meanwhile. Nothing is
 * reported before a look at one moment has confirmed it, and what mends looks again before it writes.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'

import { type Bytes, endOfPrefix } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import {
  type Backend,
  cell,
  type Cell,
  glance,
  type Range,
  read,
  type ReadScope,
  type Row,
  type Scope,
  type Space,
  type Transaction,
} from '../../backends/index.ts'
import { hex } from '../receipt.ts'
import type { Counts } from '../tallies.ts'
import { raw } from './raw.ts'
import { Findings, type ProblemKind, type VerifyHow, type VerifyOptions } from './report.ts'

/** Rows looked at together. */
export const ROWS_AT_ONCE = 128
/** Keys a problem names. */
export const KEYS_NAMED_MAX = 20
const TURN_MS = 10
const PROGRESS_MS = 100

export type MutableCounts = { -readonly [C in keyof Counts]: number }

export function noCounts(): MutableCounts {
  return { keys: 0, keysWithExpiry: 0, valueBytes: 0, contents: 0, contentBytes: 0 }
}

export class Walk {
  readonly backend: Backend
  readonly how: VerifyHow
  readonly findings = new Findings()
  /** What the rows add up to. */
  counts: MutableCounts = noCounts()
  /** Something was written, so the rows may add up to something else by now. */
  hasRepaired = false
  readonly #options: VerifyOptions
  #rows = 0
  #bytes = 0
  #isHalted = false
  #turnedAt = performance.now()
  #reportedAt = performance.now()

  constructor(backend: Backend, how: VerifyHow, options: VerifyOptions) {
    this.backend = backend
    this.how = how
    this.#options = options
  }

  get repairs(): boolean {
    return this.#options.repair === true && !this.#isHalted
  }

  /** Rows that are there cannot all be seen, so from now on nothing is repaired by what seems to be missing. */
  halt(): void {
    this.#isHalted = true
  }

  /** One step of a verification. Where rows cannot be read, the others go on, and nothing is repaired any more. */
  async step(space: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof PrestigeError) || error.code !== 'CONTENT_CORRUPT') throw error
      this.halt()
      const message = `The rows of ${space} cannot all be read. ${error.message}`
      this.findings.add({ kind: 'space-unreadable', message, keys: [], repaired: false })
    }
  }

  /** Rows of a space in byte order. The event loop turns now and then, also where an engine never waits. */
  async *scan(space: Space<Bytes>, range: Range = {}): AsyncGenerator<Row<Bytes>> {
    for await (const { key, value } of this.backend.scan(space, range)) {
      const row = { key, value: space.codec.decode(value, key) }
      this.#options.signal?.throwIfAborted()
      this.#rows++
      this.#bytes += row.key.byteLength + row.value.byteLength
      const now = performance.now()
      if (now - this.#turnedAt > TURN_MS) await this.#turn(now)
      yield row
    }
  }

  /** The same, many rows at a time. */
  chunks(space: Space<Bytes>): AsyncGenerator<Row<Bytes>[]> {
    return chunked(this.scan(space))
  }

  /** The first key with this prefix. */
  async firstKey(space: Space<Bytes>, prefix: Bytes): Promise<Buffer | undefined> {
    const range = { start: prefix, end: endOfPrefix(prefix), limit: 1 }
    for await (const { key } of this.backend.scan(space, range)) return key
    return undefined
  }

  /** The first keys, in byte order, that refer to a content. */
  async keysOf(id: Bytes): Promise<Buffer[]> {
    const keys: Buffer[] = []
    const range = { start: id, end: endOfPrefix(id), limit: KEYS_NAMED_MAX }
    for await (const { key } of this.scan(raw.refs, range)) keys.push(key.subarray(id.byteLength))
    return keys
  }

  /** Groups of cells, not from one moment, in one request as far as the engine can. */
  async glance(groups: readonly (readonly Cell<Bytes>[])[]): Promise<(Bytes | undefined)[][]> {
    const found = await this.backend.read(glanceAt, groups.flat())
    let from = 0
    return groups.map(({ length }) => found.slice(from, (from += length)))
  }

  /** One cell as it is now. */
  async look(space: Space<Bytes>, key: Bytes): Promise<Bytes | undefined> {
    const [value] = await this.backend.read(lookAt, [cell(space, key)])
    return value
  }

  /** Reports a problem, after an attempt to mend it if repairs were asked for. */
  async found(
    kind: ProblemKind,
    message: string,
    keys: readonly Buffer[] = [],
    mend?: () => Promise<boolean>,
  ): Promise<void> {
    const repaired = mend !== undefined && (await this.mended(mend))
    this.findings.add({ kind, message, keys, repaired })
  }

  /** A row that no code of ours can have written, or nothing needs. */
  async foundUnaccounted(space: Space<Bytes>, key: Buffer, why: string): Promise<void> {
    await this.found('row-unaccounted', `${rowName(space, key)} ${why}`, [], () =>
      this.backend.run(removeRow, space, key),
    )
  }

  /** Reports a row that is wrong at one moment. A repair looks again, and removes it unless `repair` is given. */
  async foundWrong(
    space: Space<Bytes>,
    key: Buffer,
    why: string,
    isWrong: (scope: ReadScope) => Transaction<boolean>,
    more: {
      readonly keys?: readonly Buffer[]
      readonly repair?: (scope: Scope) => Transaction<boolean>
    } = {},
  ): Promise<void> {
    if (!(await this.backend.read(isWrong))) return
    const { keys = [], repair = (scope: Scope) => removeRow(scope, space, key) } = more
    const body = function* (scope: Scope): Transaction<boolean> {
      return (yield* isWrong(scope)) ? yield* repair(scope) : true
    }
    const mend = () => this.backend.run(body)
    await this.found('row-unaccounted', `${rowName(space, key)} ${why}`, keys, mend)
  }

  /** Whether it was mended; always not, where repairs were not asked for. */
  async mended(mend: () => Promise<boolean>): Promise<boolean> {
    if (!this.repairs) return false
    this.#options.signal?.throwIfAborted()
    this.hasRepaired = true
    try {
      return await mend()
    } catch (error) {
      // Another row that is needed cannot be read either; it is a problem of its own.
      if (error instanceof PrestigeError && error.code === 'CONTENT_CORRUPT') return false
      throw error
    }
  }

  tellProgress(): void {
    this.#options.onProgress?.({ rows: this.#rows, bytes: this.#bytes })
  }

  async #turn(now: number): Promise<void> {
    if (now - this.#reportedAt > PROGRESS_MS) {
      this.tellProgress()
      this.#reportedAt = now
    }
    await nextTurn()
    this.#turnedAt = performance.now()
  }
}

export async function* chunked<T>(items: AsyncIterable<T>): AsyncGenerator<T[]> {
  let chunk: T[] = []
  for await (const item of items) {
    chunk.push(item)
    if (chunk.length < ROWS_AT_ONCE) continue
    yield chunk
    chunk = []
  }
  if (chunk.length > 0) yield chunk
}

/** Relies on nothing, so that an engine need not validate: what looks wrong is looked at again. */
function* glanceAt(
  _scope: ReadScope,
  cells: readonly Cell<Bytes>[],
): Transaction<(Bytes | undefined)[]> {
  return yield* glance(...cells)
}

function* lookAt(
  _scope: ReadScope,
  cells: readonly Cell<Bytes>[],
): Transaction<(Bytes | undefined)[]> {
  return yield* read(...cells)
}

export function* removeRow(scope: Scope, space: Space<Bytes>, key: Bytes): Transaction<boolean> {
  scope.remove(cell(space, key))
  return true
}

export function rowName(space: Space<unknown>, key: Bytes): string {
  return `Row ${space.name === 'entries' ? keyName(key) : hex(key)} of ${space.name}`
}

export function keyName(key: Bytes): string {
  return JSON.stringify(Buffer.from(key).toString('utf8'))
}
