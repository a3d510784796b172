/**
 * The step of the cascade that compares meanings. Loaded only for jobs that ask for it.
 *
 * A document is embedded before its transaction. The transaction asks an index of bits of its vector which centres may
 * mean the same, measures their vectors exactly, and asks the guards. What means the same is linked, never dropped, and
 * stays a centre for copies of its own; only what means nothing that is known stands for others.
 */

import { asBuffer, type Bytes, concat } from '../../platform/bytes.ts'
import { cell, type Cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { hashVersion, Hyperplanes } from '../../fingerprint/index.ts'
import { groupKey, type NearIndex, search } from '../../match/index.ts'
import {
  decodeVector,
  documentOf,
  documentSimilarity,
  type DocumentVectors,
  type Embedder,
  embedDocuments,
  encodeVector,
  readGuards,
  type Reading,
  readingOf,
  StoreEmbedder,
  vetoesOf,
} from '../../semantic/index.ts'
import type { DedupeConfig } from '../config/config.ts'
import { MEANING_BITS } from './engine.ts'
import type { PreparedDocument } from './prepare.ts'
import { evidences } from '../rows.ts'

/** A document's meaning, as the transaction needs it. */
export interface PreparedMeaning {
  readonly text: string
  readonly vectors: DocumentVectors
}

export interface LikeMeaning {
  /** Key of the centre. */
  readonly centre: Buffer
  readonly similarity: number
}

const HAS_WORDS = /[\p{L}\p{N}]/u

export class Meanings {
  readonly identity: { readonly embedder: string; readonly similarityMin: number }
  readonly #index: NearIndex<Uint8Array>
  /** Opened once for a state and all its jobs. */
  readonly embedder: Embedder
  readonly #opening: StoreEmbedder
  readonly #shelf: Buffer
  readonly #planes: Hyperplanes
  readonly #dimensions: number
  readonly #rowBytesMax: number
  readonly #guards = readGuards()

  private constructor(
    index: NearIndex<Uint8Array>,
    similarityMin: number,
    embedder: StoreEmbedder,
    opened: Embedder,
    rowBytesMax: number,
  ) {
    this.#rowBytesMax = rowBytesMax
    this.#index = index
    this.embedder = opened
    this.#opening = embedder
    this.identity = { embedder: opened.id, similarityMin }
    this.#dimensions = opened.dimensions
    this.#planes = new Hyperplanes({ dimensions: opened.dimensions, bits: MEANING_BITS })
    this.#shelf = groupKey('dedupe-semantic', opened.id, String(MEANING_BITS), hashVersion())
  }

  static async open(
    index: NearIndex<Uint8Array>,
    { model, threshold }: DedupeConfig['semantic'],
    given: Embedder | undefined,
    rowBytesMax: number,
  ): Promise<Meanings> {
    if (threshold === undefined) {
      throw new PrestigeError(
        'INVALID_OPTIONS',
        'semantic.threshold is missing, and no value fits all models and texts. Give it, or find yours with `prestige tune --semantic --pairs FILE`.',
      )
    }
    const embedder = new StoreEmbedder(given ?? model)
    return new Meanings(index, threshold, embedder, await embedder.get(), rowBytesMax)
  }

  /** In the order of the documents; `undefined` where there is nothing to compare. */
  async prepare(documents: readonly PreparedDocument[]): Promise<(PreparedMeaning | undefined)[]> {
    const texts = documents.map(({ text }) =>
      text !== undefined && HAS_WORDS.test(text) ? text : undefined,
    )
    const asked = texts.filter((text) => text !== undefined)
    const vectors = await this.#vectorsOf(asked)
    let next = 0
    return texts.map((text) => {
      const found = text === undefined ? undefined : vectors[next++]
      if (text === undefined || !found) return undefined
      const bytes = 4 + Buffer.byteLength(text) + found.windows.length * this.#dimensions * 4
      // What an engine could not keep is not compared.
      return bytes <= this.#rowBytesMax ? { text, vectors: found } : undefined
    })
  }

  async #vectorsOf(texts: readonly string[]): Promise<(DocumentVectors | undefined)[]> {
    try {
      return await embedDocuments(this.embedder, texts)
    } catch (error) {
      // One of them has more windows than the model takes; it alone is not compared.
      if (!(error instanceof PrestigeError) || error.code !== 'INVALID_VALUE') throw error
      if (texts.length <= 1) return [undefined]
      const each = texts.map((text) => this.#vectorsOf([text]))
      return (await Promise.all(each)).flat()
    }
  }

  /** The most similar centre that no guard keeps apart. */
  *find(
    { text, vectors }: PreparedMeaning,
    isSelf: (centre: Bytes) => boolean,
    scope: Scope | undefined,
  ): Transaction<{
    readonly like: LikeMeaning | undefined
    readonly relied: readonly Cell<unknown>[]
    readonly passedOver: number
  }> {
    const { similarityMin } = this.identity
    const own = readingOf(text)
    const looks = [{ group: this.#shelf, signature: this.#planes.bitsOf(vectors.pooled) }]
    const measured = yield* search(
      {
        index: this.#index,
        looks,
        similarityMin,
        measure: ({ id, row }) =>
          isSelf(row.payload) ? nothing() : this.#measure(id, own, vectors),
      },
      scope,
    )
    const [hit] = measured.hits
    if (!hit) return { like: undefined, relied: measured.relied, passedOver: measured.passedOver }
    const relied = [this.#index.representative(this.#shelf, hit.id)]
    return { like: { centre: hit.row.payload, similarity: hit.similarity }, relied, passedOver: 0 }
  }

  *#measure(id: Buffer, own: Reading, vectors: DocumentVectors): Transaction<number | undefined> {
    const [bytes] = yield* read(cell(evidences, concat(this.#shelf, id)))
    if (!bytes) return undefined
    const other = this.#decode(bytes)
    const similarity = documentSimilarity(vectors, other.vectors)
    if (similarity < this.identity.similarityMin) return undefined
    return vetoesOf(own, readingOf(other.text), this.#guards).length > 0 ? undefined : similarity
  }

  /** It stands for others from now on. */
  *keep(
    scope: Scope,
    { text, vectors }: PreparedMeaning,
    key: Buffer,
  ): Transaction<readonly [Buffer, Buffer]> {
    const row = scope.id()
    yield* this.#index.insert(scope, this.#shelf, row, this.#planes.bitsOf(vectors.pooled), key)
    scope.write(cell(evidences, concat(this.#shelf, row)), encode(text, vectors))
    return [this.#shelf, row]
  }

  #decode(bytes: Bytes): PreparedMeaning {
    const row = asBuffer(bytes)
    const textEnd = 4 + row.readUInt32BE(0)
    const numbers = decodeVector(row.subarray(textEnd))
    const windows: Float32Array[] = []
    for (let from = 0; from < numbers.length; from += this.#dimensions) {
      windows.push(numbers.slice(from, from + this.#dimensions))
    }
    return { text: row.toString('utf8', 4, textEnd), vectors: documentOf(windows) }
  }

  close(): Promise<void> {
    return this.#opening.close()
  }
}

// oxlint-disable-next-line require-yield -- a body that reads nothing is one too
function* nothing(): Transaction<undefined> {
  return undefined
}

/** Length of the text (4), the text, the windows one after another. */
function encode(text: string, { windows }: DocumentVectors): Buffer {
  const bytes = Buffer.from(text)
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(bytes.byteLength)
  return Buffer.concat([length, bytes, ...windows.map((window) => encodeVector(window))])
}
