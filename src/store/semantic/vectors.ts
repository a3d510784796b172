/**
 * The vectors of a text as rows: some windows a row, so that rows stay small on any engine and a long text takes
 * few of them. Under a content's id as long as the content is there; under the digest of a text that shares the bytes
 * of another as long as a key does.
 */

import { type Bytes, concat, latin1 } from '../../platform/bytes.ts'
import { cell, type Cell, glance, type Scope, type Transaction } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { documentOf, type DocumentVectors, scopeOf } from '../../semantic/index.ts'
import { semanticVectors, type VectorsRow } from './rows.ts'

const ROW_BYTES = 48 * 1024
/** Texts of more windows are not compared. */
export const WINDOWS_MAX = 2048

/** As many representatives as may come while a put is under way. */
const RECENT_MAX = 256

/**
 * Vectors of representatives this process has made, in memory. Only where bodies run once: one that is run again has to
 * decide by what it has read. If the transaction fails, its id is nobody's.
 */
export class RecentVectors {
  readonly #vectors = new Map<string, DocumentVectors>()

  get(id: Bytes): DocumentVectors | undefined {
    return this.#vectors.get(latin1(id))
  }

  add(id: Bytes, vectors: DocumentVectors): void {
    this.#vectors.set(latin1(id), vectors)
    const [oldest] = this.#vectors.keys()
    if (this.#vectors.size > RECENT_MAX && oldest !== undefined) this.#vectors.delete(oldest)
  }
}

export class VectorRows {
  readonly scope: Buffer
  readonly #dimensions: number
  readonly #windowsARow: number

  /** `rowBytesMax`: what the engine keeps in one value. */
  constructor(embedder: string, dimensions: number, rowBytesMax: number) {
    this.scope = scopeOf(embedder)
    this.#dimensions = dimensions
    this.#windowsARow = Math.max(
      1,
      Math.floor((Math.min(ROW_BYTES, rowBytesMax) - 3) / (dimensions * 4)),
    )
  }

  /** `of`: a content's id, or the digest of a text. Relies on nothing: vectors never change. */
  *read(of: Bytes): Transaction<DocumentVectors | undefined> {
    const [first] = yield* glance(this.#cell(of, 0))
    if (first === undefined) return undefined
    const count = Math.ceil(first.windows / this.#windowsARow)
    const more = Array.from({ length: count - 1 }, (_, at) => this.#cell(of, at + 1))
    const others: readonly (VectorsRow | undefined)[] = yield* glance(...more)
    const windows: Float32Array[] = []
    for (const row of [first, ...others]) {
      const numbers = row?.numbers ?? new Float32Array()
      for (let from = 0; from < numbers.length; from += this.#dimensions) {
        windows.push(numbers.slice(from, from + this.#dimensions))
      }
    }
    const isWhole = windows.every(({ length }) => length === this.#dimensions)
    if (isWhole && windows.length === first.windows) return documentOf(windows)
    throw new PrestigeError(
      'CONTENT_CORRUPT',
      'Vectors of a text are not whole. Run verify on this store.',
    )
  }

  write(scope: Scope, of: Bytes, { windows }: DocumentVectors): void {
    for (let from = 0, row = 0; from < windows.length; from += this.#windowsARow, row++) {
      const some = windows.slice(from, from + this.#windowsARow)
      const numbers = new Float32Array(some.length * this.#dimensions)
      some.forEach((window, at) => numbers.set(window, at * this.#dimensions))
      scope.write(this.#cell(of, row), { windows: windows.length, numbers })
    }
  }

  *remove(scope: Scope, of: Bytes): Transaction<void> {
    const [first] = yield* glance(this.#cell(of, 0))
    const count = Math.max(1, Math.ceil((first?.windows ?? 0) / this.#windowsARow))
    for (let row = 0; row < count; row++) scope.remove(this.#cell(of, row))
  }

  #cell(of: Bytes, row: number): Cell<VectorsRow> {
    const key = concat(this.scope, of)
    if (row === 0) return cell(semanticVectors, key)
    const number = Buffer.allocUnsafe(2)
    number.writeUInt16BE(row)
    return cell(semanticVectors, concat(key, number))
  }
}
