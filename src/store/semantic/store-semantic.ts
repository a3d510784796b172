/**
 * Texts of like meaning in the store: which content a text means the same as, and what becomes of those linked to a
 * content that goes away.
 *
 * Embedding, searching and asking guards, reranker and judge happen before the transaction, which then checks that what
 * was found still holds and that no similar representative has appeared since; otherwise all is done again. What
 * decides is the exact cosine of stored vectors.
 */

import { type Bytes, EMPTY, equalBytes } from '../../platform/bytes.ts'
import {
  type Backend,
  cell,
  glance,
  read,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { digestOf } from '../../fingerprint/index.ts'
import {
  documentSimilarity,
  type DocumentVectors,
  embedDocuments,
  type StoreEmbedder,
} from '../../semantic/index.ts'
import { type Guards } from '../../compare/index.ts'
import { decodeReference, semanticPending } from './rows.ts'
import type { Notes } from '../observe.ts'
import { Arbiter, type Asking } from './arbiter.ts'
import type { CheckedSemanticOptions } from './options.ts'
import { RecentVectors, VectorRows, WINDOWS_MAX } from './vectors.ts'
import {
  changesSince,
  noteChange,
  type Position,
  semanticGraph,
  SemanticView,
  START,
} from './view.ts'
import { originOf, type Refused } from '../receipt.ts'
import { Turns } from '../turns.ts'
import { digests, type Known } from '../rows.ts'
import type { Layout } from '../contents/layout.ts'
import { bytesOf } from '../contents/read-content.ts'
import type { SemanticSettings } from '../settings.ts'
import type { NotCompared } from '../near/store-near.ts'

/** A content that a text means the same as. */
export interface SemanticHit {
  readonly id: Buffer
  readonly digest: Buffer
  readonly similarity: number
  readonly isJudged: boolean
}

/** What was found out about a text before a transaction. */
export interface Meaning {
  /** Absent: nothing can be said of it. */
  readonly vectors: DocumentVectors | undefined
  /** SHA-256 of the text. */
  readonly text: Buffer
  readonly hit: SemanticHit | undefined
  readonly refused: Refused | undefined
  /** Up to where in the journal representatives have been looked at. */
  readonly seen: Position
}

/** A content to decide about. */
export interface SemanticContent {
  readonly id: Buffer
  readonly digest: Buffer
  readonly bytes: number
}

export interface SemanticMatch extends SemanticHit {
  readonly known: Known
}

export interface SemanticDeps {
  readonly backend: Backend
  readonly settings: SemanticSettings
  readonly embedder: StoreEmbedder
  readonly options: CheckedSemanticOptions
  readonly guards: Guards
  readonly layout: Layout
  /** Where the index is saved. */
  readonly path: string | undefined
}

/** Changes that a transaction looks at by itself; with more it is left to the index. */
const CHANGES_MAX = 64
/** The mean of many windows finds candidates, and may lie a little lower than the windows themselves. */
const POOLED_SLACK = 0.05
const HAS_WORDS = /[\p{L}\p{N}]/u

export class StoreSemantic {
  readonly settings: SemanticSettings
  readonly embedder: StoreEmbedder
  readonly vectors: VectorRows
  readonly view: SemanticView
  readonly arbiter: Arbiter
  readonly graph: typeof semanticGraph = semanticGraph
  readonly #backend: Backend
  readonly #options: CheckedSemanticOptions
  readonly #layout: Layout
  readonly #embedding = new Map<string, Promise<DocumentVectors | 'too-large'>>()
  readonly #recent = new RecentVectors()
  /** From the search to the commit. */
  readonly turns = new Turns()

  constructor({ backend, settings, embedder, options, guards, layout, path }: SemanticDeps) {
    this.settings = settings
    this.embedder = embedder
    this.#backend = backend
    this.#options = options
    this.#layout = layout
    const { embedder: id, dimensions } = settings
    const { index } = options
    this.vectors = new VectorRows(id, dimensions, backend.limits.valueBytesMax)
    this.view = new SemanticView(backend, this.vectors, { embedder: id, dimensions, index, path })
    this.arbiter = new Arbiter(settings.similarityMin, guards, options)
  }

  /** The text of a value, or why it is not compared. */
  textOf(value: Bytes): { readonly text: string } | NotCompared {
    if (value.byteLength > this.settings.textBytesMax) return 'too-large'
    try {
      return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value) }
    } catch {
      return 'not-text'
    }
  }

  /** Everything a transaction needs to know of a value's meaning, by its vectors. */
  async meaningOf(
    value: Bytes,
    known: Pick<Meaning, 'vectors' | 'text'>,
    notes?: Notes,
  ): Promise<Meaning | NotCompared> {
    const read = this.textOf(value)
    if (typeof read === 'string') return read
    const meaning = await this.look(read.text, known.text, known.vectors, undefined, notes)
    this.turns.note(!meaning.hit && meaning.refused !== undefined)
    return meaning
  }

  /** The most candidates that are looked at for one text. */
  get searchK(): number {
    return this.#options.searchK
  }

  /** Where somebody slow is asked, it is done before one's turn all the same: answers are remembered. */
  get looksInTurn(): boolean {
    const { judge, rerank } = this.#options
    return this.turns.isCrowded && !judge && !rerank
  }

  /** The vectors of a value, as the first part of `meaningOf`. */
  async vectorsOf(
    value: Bytes,
    notes?: Notes,
  ): Promise<Pick<Meaning, 'vectors' | 'text'> | NotCompared> {
    const read = this.textOf(value)
    if (typeof read === 'string') return read
    const text = digestOf(value)
    const vectors = await this.#vectorsOf(read.text, text, notes)
    return vectors === 'too-large' ? vectors : { vectors, text }
  }

  /** The vectors of a text: kept ones, those somebody is just computing, or new ones. */
  async #vectorsOf(
    text: string,
    digest: Buffer,
    notes: Notes | undefined,
  ): Promise<DocumentVectors | undefined | 'too-large'> {
    if (!HAS_WORDS.test(text)) return undefined
    const kept = await this.#backend.read(() => this.vectors.read(digest))
    if (kept) return kept
    const name = digest.toString('latin1')
    let task = this.#embedding.get(name)
    if (!task) {
      task = this.#embed(text, notes).finally(() => this.#embedding.delete(name))
      this.#embedding.set(name, task)
    }
    return task
  }

  async #embed(text: string, notes: Notes | undefined): Promise<DocumentVectors | 'too-large'> {
    const started = performance.now()
    try {
      const embedder = await this.embedder.get()
      const [vectors] = await embedDocuments(embedder, [text])
      notes?.measure('embed_us', (performance.now() - started) * 1000)
      return vectors && vectors.windows.length <= WINDOWS_MAX ? vectors : 'too-large'
    } catch (error) {
      // A model that reads only so many windows says so by this code.
      if (error instanceof PrestigeError && error.code === 'INVALID_VALUE') return 'too-large'
      notes?.count('embed_error_total')
      throw error
    }
  }

  /** Vectors of a text, for a question: nothing is kept. `undefined`: nothing can be said of it. */
  vectorsFor(text: string): Promise<DocumentVectors | undefined | 'too-large'> {
    return this.#vectorsOf(text, digestOf(Buffer.from(text)), undefined)
  }

  /** Finds what a text means the same as, but for itself. */
  async look(
    text: string,
    digest: Buffer,
    vectors: DocumentVectors | undefined,
    self?: Bytes,
    notes?: Notes,
  ): Promise<Meaning> {
    if (!vectors) return { text: digest, vectors, hit: undefined, refused: undefined, seen: START }
    const started = performance.now()
    const { seen, matches } = await this.candidates(vectors, self)
    notes?.measure('prestige.semantic.lookup_us', (performance.now() - started) * 1000)
    notes?.measure('prestige.semantic.candidates_checked', matches.length)
    const own = this.arbiter.asking(text, digest)
    const { hit, refused } = await this.#choose(own, matches, notes)
    notes?.count(hit ? 'prestige.semantic.hit_total' : 'prestige.semantic.miss_total')
    return { text: digest, vectors, hit, refused, seen }
  }

  /** The most similar that nothing speaks against; of equals, the oldest. */
  async #choose(
    own: Asking,
    matches: readonly SemanticMatch[],
    notes: Notes | undefined,
  ): Promise<Pick<Meaning, 'hit' | 'refused'>> {
    let refused: Refused | undefined
    for (const { id, digest, similarity, known } of matches) {
      const text = await this.textIn({ id, digest, bytes: known.bytes })
      // Swept meanwhile, or damaged, which is for verify to say.
      if (text === undefined) continue
      const vetoes = await this.arbiter.vetoes(own, { id, text, similarity }, notes)
      const isJudged = similarity < this.settings.similarityMin
      if (vetoes.length === 0) return { hit: { id, digest, similarity, isJudged }, refused }
      refused ??= { of: originOf(known), similarity, vetoes }
    }
    return { hit: undefined, refused }
  }

  /** Representatives whose vectors are near enough to be asked about, measured exactly, the most similar first. */
  async candidates(
    vectors: DocumentVectors,
    self?: Bytes,
    wanted: { readonly least?: number; readonly limit?: number } = {},
  ): Promise<{ readonly matches: readonly SemanticMatch[]; readonly seen: Position }> {
    const { least = this.arbiter.least, limit = this.#options.searchK } = wanted
    const floor = Math.max(-1, vectors.windows.length > 1 ? least - POOLED_SLACK : least)
    const { matches, seen } = await this.view.search(vectors.pooled, limit + 1, floor)
    const found: SemanticMatch[] = []
    for (const { id } of matches) {
      if (self && equalBytes(id, self)) continue
      const match = await this.#backend.read(() => this.#measure(id, vectors))
      if (match && match.similarity >= least) found.push(match)
    }
    found.sort((one, other) => other.similarity - one.similarity || one.id.compare(other.id))
    return { matches: found.slice(0, limit), seen }
  }

  /** The nearest that something speaks against, of a content that is a representative. */
  async refusedBy({ id, bytes }: Pick<Known, 'id' | 'bytes'>): Promise<Refused | undefined> {
    const text = await this.textIn({ id, digest: EMPTY, bytes })
    const vectors =
      text === undefined ? undefined : await this.#backend.read(() => this.vectors.read(id))
    if (text === undefined || !vectors) return undefined
    const { matches } = await this.candidates(vectors, id)
    const own = this.arbiter.asking(text, digestOf(Buffer.from(text)))
    for (const match of matches) {
      const other = await this.textIn({ ...match, bytes: match.known.bytes })
      const vetoes = other === undefined ? [] : this.arbiter.guardsOf(own, other)
      const { similarity } = match
      if (vetoes.length > 0) return { of: originOf(match.known), similarity, vetoes }
    }
    return undefined
  }

  *#measure(id: Buffer, vectors: DocumentVectors): Transaction<SemanticMatch | undefined> {
    const [row] = yield* glance(this.graph.row(id))
    if (row?.role !== 'representative') return undefined
    const other = yield* this.vectors.read(id)
    const [known] = yield* glance(cell(digests, row.digest))
    if (!other || !known || !equalBytes(known.id, id)) return undefined
    const similarity = documentSimilarity(vectors, other)
    return { id, digest: Buffer.from(row.digest), similarity, isJudged: false, known }
  }

  /** The text of a content, from its parts. */
  async textIn(content: SemanticContent): Promise<string | undefined> {
    const value = await this.#backend.read(() => bytesOf(content, this.#layout))
    const found = value && this.textOf(value)
    return typeof found === 'object' ? found.text : undefined
  }

  /**
   * In the transaction: whether what was found out still stands. `again`: it does not, or a representative has come
   * that could be like the text.
   */
  *settle(meaning: Meaning, self?: Bytes): Transaction<Known | undefined | 'again'> {
    const { hit, vectors } = meaning
    if (hit) {
      const [row, known] = yield* read(this.graph.row(hit.id), cell(digests, hit.digest))
      const isThere = row?.role === 'representative' && known && equalBytes(known.id, hit.id)
      return isThere ? known : 'again'
    }
    if (!vectors) return undefined
    const changes = yield* changesSince(meaning.seen, CHANGES_MAX)
    if (!changes) return 'again'
    for (const id of changes) {
      if (self && equalBytes(id, self)) continue
      const recent = this.#recent.get(id)
      if (recent && documentSimilarity(vectors, recent) < this.arbiter.least) continue
      const match = yield* this.#measure(id, vectors)
      if (match && match.similarity >= this.arbiter.least) return 'again'
    }
    return undefined
  }

  /** Makes a content a representative; or, without vectors, one that is compared with nothing. */
  *begin(scope: Scope, { id, digest, bytes }: SemanticContent, meaning: Meaning | NotCompared) {
    const vectors = typeof meaning === 'string' ? undefined : meaning.vectors
    const role = vectors ? 'representative' : 'alone'
    this.graph.add(scope, { id, digest }, { digest, bytes, role, to: undefined })
    if (!vectors) return
    this.vectors.write(scope, id, vectors)
    if (scope.serial) this.#recent.add(id, vectors)
    yield* noteChange(scope, id)
  }

  /** The content keeps its bytes, and is linked to what it means. */
  link(
    scope: Scope,
    { id, digest, bytes }: SemanticContent,
    { vectors }: Meaning,
    hit: SemanticHit,
    { storedAt, firstKey }: Known,
  ): void {
    const { similarity, isJudged } = hit
    const to = { id: hit.id, digest: hit.digest, similarity, isJudged, storedAt, firstKey }
    this.graph.add(scope, { id, digest }, { digest, bytes, role: 'linked', to })
    if (vectors) this.vectors.write(scope, id, vectors)
  }

  /** The content is being swept. */
  *leave(scope: Scope, id: Buffer): Transaction<void> {
    const link = yield* this.graph.leave(scope, id)
    const [pending] = yield* read(cell(semanticPending, id))
    if (pending) scope.remove(cell(semanticPending, id))
    if (link || pending) yield* this.vectors.remove(scope, id)
  }

  /** A key's reference goes, and with it the vectors of a text whose bytes are not kept; but for those of `text`. */
  *forget(scope: Scope, reference: Bytes | undefined, text?: Bytes): Transaction<void> {
    const old = decodeReference(reference)
    if (!old || (text && equalBytes(old.text, text))) return
    yield* this.vectors.remove(scope, old.text)
  }
}
