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
import {
  BitLayout,
  type Candidate,
  Matcher,
  type MatchIndex,
  partitionKey,
  type Probe,
  type SignatureScheme,
} from '../../match/index.ts'

import {
  decodeVector,
  documentOf,
  documentSimilarity,
  type DocumentVectors,
  type Embedder,
  embedDocuments,
  encodeVector,
  StoreEmbedder,
} from '../../semantic/index.ts'
import { readGuards, type Reading, readingOf, vetoesOf } from '../../compare/index.ts'
import type { DedupeConfig } from '../config/config.ts'
import { isOther, keyCodec, MEANING_BANDING, MEANING_BITS } from './engine.ts'
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

/** What two meanings are compared by. */
class Compared {
  readonly text: string
  readonly vectors: DocumentVectors
  #reading: Reading | undefined

  constructor({ text, vectors }: PreparedMeaning) {
    this.text = text
    this.vectors = vectors
  }

  /** What guards look at: made if the vectors are similar enough. */
  get reading(): Reading {
    return (this.#reading ??= readingOf(this.text))
  }

  get weight(): number {
    const bytes = this.vectors.windows.reduce((sum, { byteLength }) => sum + byteLength, 0)
    return this.text.length * 4 + bytes
  }
}

type MeaningProbe = Probe<Uint8Array, Compared>

class MeaningScheme extends BitLayout implements SignatureScheme<Uint8Array, Compared> {
  readonly #guards = readGuards()

  constructor() {
    super(MEANING_BITS, MEANING_BANDING)
  }

  /** 0 where a guard keeps them apart. */
  similarity(first: Compared, second: Compared, least: number): number {
    const similarity = documentSimilarity(first.vectors, second.vectors)
    if (similarity < least) return similarity
    return vetoesOf(first.reading, second.reading, this.#guards).length > 0 ? 0 : similarity
  }

  weight({ weight }: Compared): number {
    return weight
  }
}

const HAS_WORDS = /[\p{L}\p{N}]/u

export class Meanings {
  readonly identity: { readonly embedder: string; readonly similarityMin: number }
  readonly #matcher: Matcher<MeaningProbe, Buffer>
  /** Opened once for a state and all its jobs. */
  readonly embedder: Embedder
  readonly #opening: StoreEmbedder
  readonly #partition: Buffer
  readonly #planes: Hyperplanes
  readonly #dimensions: number
  readonly #rowBytesMax: number

  private constructor(
    index: MatchIndex<Uint8Array>,
    similarityMin: number,
    embedder: StoreEmbedder,
    opened: Embedder,
    rowBytesMax: number,
  ) {
    this.#rowBytesMax = rowBytesMax
    const readEvidence = ({ id }: Candidate<MeaningProbe, Buffer>) => this.#read(id)
    const policy = { similarityMin, readEvidence }
    this.#matcher = new Matcher(index, new MeaningScheme(), keyCodec, policy)
    this.embedder = opened
    this.#opening = embedder
    this.identity = { embedder: opened.id, similarityMin }
    this.#dimensions = opened.dimensions
    this.#planes = new Hyperplanes({ dimensions: opened.dimensions, bits: MEANING_BITS })
    this.#partition = partitionKey(
      'dedupe-semantic',
      opened.id,
      String(MEANING_BITS),
      hashVersion(),
    )
  }

  static async open(
    index: MatchIndex<Uint8Array>,
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
  async prepare(
    documents: readonly PreparedDocument[],
    signal?: AbortSignal,
  ): Promise<(PreparedMeaning | undefined)[]> {
    const texts = documents.map(({ text }) =>
      text !== undefined && HAS_WORDS.test(text) ? text : undefined,
    )
    const asked = texts.filter((text) => text !== undefined)
    const vectors = await this.#vectorsOf(asked, signal)
    let next = 0
    return texts.map((text) => {
      const found = text === undefined ? undefined : vectors[next++]
      if (text === undefined || !found) return undefined
      const bytes = 4 + Buffer.byteLength(text) + found.windows.length * this.#dimensions * 4
      // What an engine could not keep is not compared.
      return bytes <= this.#rowBytesMax ? { text, vectors: found } : undefined
    })
  }

  async #vectorsOf(
    texts: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<(DocumentVectors | undefined)[]> {
    try {
      return await embedDocuments(this.embedder, texts, { signal })
    } catch (error) {
      // One of them has more windows than the model takes; it alone is not compared.
      if (!(error instanceof PrestigeError) || error.code !== 'INVALID_VALUE') throw error
      if (texts.length <= 1) return [undefined]
      const each = texts.map((text) => this.#vectorsOf([text], signal))
      return (await Promise.all(each)).flat()
    }
  }

  /** The most similar centre that no guard keeps apart, but for `self`. */
  *find(
    prepared: PreparedMeaning,
    self: Buffer | undefined,
    scope: Scope | undefined,
  ): Transaction<{
    readonly like: LikeMeaning | undefined
    readonly relied: readonly Cell<unknown>[]
    readonly passedOver: number
  }> {
    const probes = [this.#probe(prepared)]
    const found = yield* this.#matcher.find(probes, scope, { counts: isOther(self) })
    const [hit] = found.hits
    if (!hit) return { like: undefined, relied: found.relied, passedOver: found.passedOver }
    const relied = [this.#matcher.representative(this.#partition, hit.id)]
    return { like: { centre: hit.payload, similarity: hit.similarity }, relied, passedOver: 0 }
  }

  #probe(prepared: PreparedMeaning): MeaningProbe {
    const signature = this.#planes.bitsOf(prepared.vectors.pooled)
    return { partition: this.#partition, signature, own: new Compared(prepared) }
  }

  *#read(id: Buffer): Transaction<Compared | undefined> {
    const [bytes] = yield* read(cell(evidences, concat(this.#partition, id)))
    return bytes && new Compared(this.#decode(bytes))
  }

  /** It stands for others from now on. */
  *keep(
    scope: Scope,
    prepared: PreparedMeaning,
    key: Buffer,
  ): Transaction<readonly [Buffer, Buffer]> {
    const row = scope.id()
    yield* this.#matcher.insert(scope, this.#partition, row, this.#probe(prepared), key)
    scope.write(cell(evidences, concat(this.#partition, row)), encode(prepared))
    return [this.#partition, row]
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

/** Length of the text (4), the text, the windows one after another. */
function encode({ text, vectors: { windows } }: PreparedMeaning): Buffer {
  const bytes = Buffer.from(text)
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(bytes.byteLength)
  return Buffer.concat([length, bytes, ...windows.map((window) => encodeVector(window))])
}
