/**
 * The step of the cascade that compares meanings. Loaded only for jobs that ask for it.
 *
 * The beginning of a document is embedded before its transaction, unless it is a duplicate already. The transaction asks
 * an index of bits of that vector which centres may mean the same, measures vectors exactly, and asks the guards. A model
 * takes a quarter of a millisecond for every token, so longer texts are embedded whole only where their beginnings are
 * similar and no guard keeps them apart; then every window must find its like. What means the same is linked, never
 * dropped, and stays a centre for copies of its own; only what means nothing that is known stands for others.
 *
 * States from before know documents by all their windows, and are compared so.
 */

import { asBuffer, type Bytes, concat, latin1 } from '../../platform/bytes.ts'
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
  vectorCosine,
} from '../../semantic/index.ts'
import { readGuards, type Reading, readingOf, vetoesOf } from '../../compare/index.ts'
import type { DedupeConfig } from '../config/config.ts'
import { isOther, keyCodec, MEANING_BANDING, MEANING_BITS } from './engine.ts'
import type { PreparedDocument } from './prepare.ts'
import { evidences } from '../rows.ts'
import { beginningOf, TextVectors } from './text-vectors.ts'

/** Of texts up to this length, all is embedded at once: some hundred tokens of English. */
const HEAD_BYTES = 512

/** A document's meaning, as the transaction needs it. */
export interface PreparedMeaning {
  readonly text: string
  /** Shared by its batch. */
  readonly vectors: TextVectors
}

export interface LikeMeaning {
  /** Key of the centre. */
  readonly centre: Buffer
  readonly similarity: number
}

/** What two meanings are compared by. */
class Compared {
  readonly text: string
  /** Of its beginning. */
  readonly head: Float32Array
  /** Its beginning is all of it. */
  readonly isShort: boolean
  /** Of all of it, where that was stored. */
  readonly whole: DocumentVectors | undefined
  /** Of the batch it belongs to; of what is stored there is none. */
  readonly batch: TextVectors | undefined
  #reading: Reading | undefined

  constructor(
    text: string,
    head: DocumentVectors,
    isShort: boolean,
    whole: DocumentVectors | undefined,
    batch?: TextVectors,
  ) {
    this.text = text
    this.head = head.pooled
    this.isShort = isShort
    this.whole = isShort ? head : whole
    this.batch = batch
  }

  /** What guards look at: made if the vectors are similar enough. */
  get reading(): Reading {
    return (this.#reading ??= readingOf(this.text))
  }

  get weight(): number {
    const windows = this.whole?.windows.length ?? 0
    return this.text.length * 4 + this.head.byteLength * (windows + 1)
  }
}

type MeaningProbe = Probe<Uint8Array, Compared>

class MeaningScheme extends BitLayout implements SignatureScheme<Uint8Array, Compared> {
  readonly #guards = readGuards()

  constructor() {
    super(MEANING_BITS, MEANING_BANDING)
  }

  /** 0 where a guard keeps them apart, and where vectors are missing, which are then noted in the batch. */
  similarity(first: Compared, second: Compared, least: number): number {
    const heads = first.isShort && second.isShort ? 1 : vectorCosine(first.head, second.head)
    if (heads < least) return heads
    const batch = first.batch ?? second.batch
    const one = first.whole ?? batch?.known(first.text)
    const other = second.whole ?? batch?.known(second.text)
    const similarity = one && other && Math.min(heads, documentSimilarity(one, other))
    if (similarity !== undefined && similarity < least) return similarity
    if (this.areKeptApart(first, second)) return 0
    if (!one) batch?.of(first.text)
    if (!other) batch?.of(second.text)
    return similarity ?? 0
  }

  areKeptApart(first: Compared, second: Compared): boolean {
    return vetoesOf(first.reading, second.reading, this.#guards).length > 0
  }

  weight({ weight }: Compared): number {
    return weight
  }
}

const HAS_WORDS = /[\p{L}\p{N}]/u

export interface MeaningOptions {
  readonly embedder: Embedder | undefined
  /** The largest row that the engine keeps. */
  readonly rowBytesMax: number
  /** The state knows documents by all their windows. */
  readonly isOld: boolean
}

export class Meanings {
  readonly identity: {
    readonly embedder: string
    readonly similarityMin: number
    /** Absent in states that know documents by all their windows. */
    readonly headBytes?: number
  }
  readonly #matcher: Matcher<MeaningProbe, Buffer>
  readonly #scheme = new MeaningScheme()
  /** Opened once for a state and all its jobs. */
  readonly embedder: Embedder
  readonly #opening: StoreEmbedder
  readonly #partition: Buffer
  readonly #planes: Hyperplanes
  readonly #dimensions: number
  readonly #rowBytesMax: number
  readonly #headBytes: number

  private constructor(
    index: MatchIndex<Uint8Array>,
    similarityMin: number,
    embedder: StoreEmbedder,
    opened: Embedder,
    { rowBytesMax, isOld }: MeaningOptions,
  ) {
    this.#rowBytesMax = rowBytesMax
    this.#headBytes = isOld ? Infinity : HEAD_BYTES
    const readEvidence = ({ id }: Candidate<MeaningProbe, Buffer>) => this.#read(id)
    const policy = { similarityMin, readEvidence }
    this.#matcher = new Matcher(index, this.#scheme, keyCodec, policy)
    this.embedder = opened
    this.#opening = embedder
    const heads = isOld ? {} : { headBytes: HEAD_BYTES }
    this.identity = { embedder: opened.id, similarityMin, ...heads }
    this.#dimensions = opened.dimensions
    this.#planes = new Hyperplanes({ dimensions: opened.dimensions, bits: MEANING_BITS })
    this.#partition = partitionKey(
      'dedupe-semantic',
      opened.id,
      String(MEANING_BITS),
      hashVersion(),
      ...(isOld ? [] : [`head=${HEAD_BYTES}`]),
    )
  }

  static async open(
    index: MatchIndex<Uint8Array>,
    { model, threshold }: DedupeConfig['semantic'],
    options: MeaningOptions,
  ): Promise<Meanings> {
    if (threshold === undefined) {
      throw new PrestigeError(
        'INVALID_OPTIONS',
        'semantic.threshold is missing, and no value fits all models and texts. Give it, or find yours with `prestige tune --semantic --pairs FILE`.',
      )
    }
    const embedder = new StoreEmbedder(options.embedder ?? model)
    return new Meanings(index, threshold, embedder, await embedder.get(), options)
  }

  /**
   * The documents with what they are compared by. Those that `isDuplicate` says are not embedded; should that have
   * changed when they are decided about, their vectors are missing.
   */
  async prepare(
    documents: readonly PreparedDocument[],
    isDuplicate: (document: PreparedDocument) => boolean,
    signal?: AbortSignal,
  ): Promise<PreparedDocument[]> {
    const vectors = new TextVectors()
    const prepared = documents.map((document) => {
      const { text } = document
      if (text === undefined || !HAS_WORDS.test(text) || !this.#fits(text, 1)) return document
      if (!isDuplicate(document)) vectors.of(this.#headOf(text))
      return { ...document, meaning: { text, vectors } }
    })
    await this.supply(vectors, signal)
    this.#compareWithin(prepared)
    await this.supply(vectors, signal)
    return prepared
  }

  /** Asks for the whole of those that are similar to others of their batch, which no search finds yet. */
  #compareWithin(prepared: readonly PreparedDocument[]): void {
    const least = this.identity.similarityMin
    const compared = prepared.flatMap(({ form, meaning }) => {
      const own = meaning && this.#compared(meaning, false)
      return own && !own.isShort ? [{ form: latin1(form), own }] : []
    })
    for (const [at, first] of compared.entries()) {
      for (const second of compared.slice(at + 1)) {
        if (first.form !== second.form) this.#scheme.similarity(first.own, second.own, least)
      }
    }
  }

  /** Embeds what is missing. What has more windows than the model takes, or an engine keeps, is not compared. */
  async supply(vectors: TextVectors, signal?: AbortSignal): Promise<void> {
    const texts = vectors.missing
    const found = await this.#vectorsOf(texts, signal)
    for (const [at, text] of texts.entries()) {
      const windows = found[at]?.windows.length ?? 0
      vectors.add(text, this.#fits(text, windows + 1) ? found[at] : undefined)
    }
  }

  #fits(text: string, vectors: number): boolean {
    return 4 + Buffer.byteLength(text) + vectors * this.#dimensions * 4 <= this.#rowBytesMax
  }

  async #vectorsOf(
    texts: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<(DocumentVectors | undefined)[]> {
    try {
      return await embedDocuments(this.embedder, texts, { signal })
    } catch (error) {
      if (!(error instanceof PrestigeError) || error.code !== 'INVALID_VALUE') throw error
      if (texts.length <= 1) return [undefined]
      const each = texts.map((text) => this.#vectorsOf([text], signal))
      return (await Promise.all(each)).flat()
    }
  }

  #headOf(text: string): string {
    return beginningOf(text, this.#headBytes)
  }

  /** `undefined`: it is not compared, or its vector is missing, which is noted where it `isWanted`. */
  #compared({ text, vectors }: PreparedMeaning, isWanted: boolean): Compared | undefined {
    const beginning = this.#headOf(text)
    const head = isWanted ? vectors.of(beginning) : vectors.known(beginning)
    return head && new Compared(text, head, beginning === text, undefined, vectors)
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
    const own = this.#compared(prepared, true)
    const probes = own ? [this.#probe(own)] : []
    const found = yield* this.#matcher.find(probes, scope, { counts: isOther(self) })
    const [hit] = found.hits
    if (!hit) return { like: undefined, relied: found.relied, passedOver: found.passedOver }
    const relied = [this.#matcher.representative(this.#partition, hit.id)]
    return { like: { centre: hit.payload, similarity: hit.similarity }, relied, passedOver: 0 }
  }

  #probe(own: Compared): MeaningProbe {
    return { partition: this.#partition, signature: this.#planes.bitsOf(own.head), own }
  }

  *#read(id: Buffer): Transaction<Compared | undefined> {
    const [bytes] = yield* read(cell(evidences, concat(this.#partition, id)))
    return bytes && this.#decode(bytes)
  }

  /** It stands for others from now on. */
  *keep(
    scope: Scope,
    prepared: PreparedMeaning,
    key: Buffer,
  ): Transaction<readonly [Buffer, Buffer] | undefined> {
    const own = this.#compared(prepared, true)
    if (!own) return undefined
    const row = scope.id()
    yield* this.#matcher.insert(scope, this.#partition, row, this.#probe(own), key)
    scope.write(cell(evidences, concat(this.#partition, row)), encode(own))
    return [this.#partition, row]
  }

  #decode(bytes: Bytes): Compared {
    const row = asBuffer(bytes)
    const textEnd = 4 + row.readUInt32BE(0)
    const text = row.toString('utf8', 4, textEnd)
    const numbers = decodeVector(row.subarray(textEnd))
    const vectors: Float32Array[] = []
    for (let from = 0; from < numbers.length; from += this.#dimensions) {
      vectors.push(numbers.slice(from, from + this.#dimensions))
    }
    if (this.#headOf(text) === text) return new Compared(text, documentOf(vectors), true, undefined)
    const [head, ...windows] = vectors
    const whole = windows.length > 0 ? documentOf(windows) : undefined
    return new Compared(text, documentOf(head ? [head] : []), false, whole)
  }

  close(): Promise<void> {
    return this.#opening.close()
  }
}

/**
 * Length of the text (4), the text; of a short one its windows, of others the vector of the beginning and, where they
 * were needed, the windows. One after another.
 */
function encode({ text, head, whole, isShort, batch }: Compared): Buffer {
  const bytes = Buffer.from(text)
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(bytes.byteLength)
  const windows = (whole ?? batch?.known(text))?.windows ?? []
  const vectors = isShort ? windows : [head, ...windows]
  return Buffer.concat([length, bytes, ...vectors.map((vector) => encodeVector(vector))])
}
